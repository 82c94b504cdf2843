//! Versions: immutable, with a pointer to the latest one, shared by processes.

use toolwright_catalog::{
    Access, Catalog, LookupError, Manifest, Package, PublishError, PublishOptions, Visibility,
};
use toolwright_testing::process::{self, Player};

use super::{document, latest, package, publish};

#[test]
fn a_new_catalog_has_the_builtin_functions() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let prefabs = catalog.prefabs(&Access::everything()).unwrap();
    let ids: Vec<&str> = prefabs.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(ids, ["builtin-files", "builtin-git", "builtin-tables"]);
    assert!(prefabs.iter().all(|own| own.version == env!("CARGO_PKG_VERSION")));
    let functions: usize = prefabs.iter().map(|own| own.functions.len()).sum();
    assert_eq!(functions, 11);
    let revision = catalog.revision().unwrap();
    let again = Catalog::open(data.path()).unwrap();
    assert_eq!(again.revision().unwrap(), revision, "nothing is published twice");
}

#[test]
fn a_removed_builtin_stays_removed() {
    let data = tempfile::tempdir().unwrap();
    let ids = |catalog: &Catalog| {
        let prefabs = catalog.prefabs(&Access::everything()).unwrap();
        prefabs.into_iter().map(|own| own.id).collect::<Vec<_>>()
    };
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.remove("builtin-git", None).unwrap();
    catalog.remove("builtin-tables", Some(env!("CARGO_PKG_VERSION"))).unwrap();
    assert_eq!(ids(&Catalog::open(data.path()).unwrap()), ["builtin-files"]);
    let gone = catalog.set_visibility("builtin-git", Some(Visibility::Public));
    assert!(matches!(gone, Err(LookupError::Prefab { .. })), "{gone:?}");
}

#[test]
fn prefabs_that_are_not_deployed_are_listed_apart() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    for (id, version) in
        [("b-prefab", "1.0.0-rc.2"), ("b-prefab", "1.0.0-rc.10"), ("a-prefab", "1.0.0")]
    {
        publish(&catalog, id, version).unwrap();
    }
    catalog.yank("a-prefab", "1.0.0", Some("broken")).unwrap();
    publish(&catalog, "a-prefab", "0.9.0-beta").unwrap();
    let listed = catalog.undeployed(&Access::everything()).unwrap();
    let listed: Vec<_> = listed.iter().map(|own| (own.id.as_str(), own.version.as_str())).collect();
    assert_eq!(listed, [("a-prefab", "0.9.0-beta"), ("b-prefab", "1.0.0-rc.10")]);
    assert_eq!(catalog.prefabs(&Access::everything()).unwrap().len(), 3, "the built-in ones");
}

#[test]
fn a_version_never_changes() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let first = publish(&catalog, "test-prefab", "1.0.0").unwrap();
    assert!(first.is_new);
    let again = publish(&catalog, "test-prefab", "1.0.0").unwrap();
    assert!(!again.is_new);
    assert_eq!(again.digest, first.digest);
    let other = document("test-prefab", "1.0.0", r#"{"name":"x","type":"string"}"#);
    let other = Package::new(Manifest::parse(&other).unwrap());
    let refused = catalog.publish(other, PublishOptions::default());
    assert!(matches!(refused, Err(PublishError::Exists { .. })), "{refused:?}");
    let found = catalog.version(&Access::everything(), "test-prefab", Some("1.0.0")).unwrap();
    assert_eq!(found.digest, first.digest);
}

#[test]
fn the_latest_version_is_no_prerelease_and_never_moves_back() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    publish(&catalog, "test-prefab", "1.0.0-rc.1").unwrap();
    assert_eq!(latest(&catalog, "test-prefab"), None);
    for (version, expected) in
        [("1.1.0", "1.1.0"), ("1.0.0", "1.1.0"), ("2.0.0-beta", "1.1.0"), ("1.10.0", "1.10.0")]
    {
        let published = publish(&catalog, "test-prefab", version).unwrap();
        assert_eq!(published.latest.as_deref(), Some(expected), "{version}");
        assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some(expected), "{version}");
    }
    let told = PublishOptions::default().with_latest(true);
    catalog.publish(package("test-prefab", "2.0.0-rc.1"), told).unwrap();
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("2.0.0-rc.1"));
    catalog.publish(package("test-prefab", "1.0.0"), told).unwrap();
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("1.0.0"));
}

#[test]
fn a_yanked_version_is_found_by_its_exact_version_only() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let all = Access::everything();
    for version in ["1.0.0", "1.1.0"] {
        publish(&catalog, "test-prefab", version).unwrap();
    }
    catalog.yank("test-prefab", "1.1.0", Some("wrong results")).unwrap();
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("1.0.0"));
    let yanked = catalog.version(&all, "test-prefab", Some("1.1.0")).unwrap();
    assert_eq!(yanked.yanked.as_deref(), Some("wrong results"));
    catalog.yank("test-prefab", "1.0.0", Some("too")).unwrap();
    let error = catalog.version(&all, "test-prefab", None).unwrap_err();
    assert_eq!(error.to_string(), "Prefab 'test-prefab' not found");
    catalog.yank("test-prefab", "1.1.0", None).unwrap();
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("1.1.0"));
    catalog.deprecate("test-prefab", "1.1.0", Some("use other-prefab")).unwrap();
    let found = catalog.version(&all, "test-prefab", None).unwrap();
    assert_eq!(found.deprecated.as_deref(), Some("use other-prefab"));
}

#[test]
fn a_removed_version_is_gone() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        publish(&catalog, "test-prefab", version).unwrap();
    }
    catalog.remove("test-prefab", Some("1.2.0")).unwrap();
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("1.1.0"));
    catalog.remove("test-prefab", None).unwrap();
    assert_eq!(latest(&catalog, "test-prefab"), None);
    assert!(catalog.versions(&Access::everything(), "test-prefab").unwrap().is_empty());
    assert!(matches!(catalog.remove("test-prefab", None), Err(LookupError::Prefab { .. })));
    publish(&catalog, "test-prefab", "1.0.0").unwrap();
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("1.0.0"));
}

#[test]
fn what_is_not_found_is_said_with_similar_names() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let all = Access::everything();
    publish(&catalog, "test-prefab", "0.1.5").unwrap();
    for (id, version, message, suggestion) in [
        ("tset-prefab", None, "Prefab 'tset-prefab' not found", "test-prefab"),
        ("tset-prefab", Some("0.1.5"), "Prefab 'tset-prefab' not found", "test-prefab"),
        ("test-prefab", Some("0.1.6"), "Prefab 'test-prefab@0.1.6' not found", "0.1.5"),
    ] {
        let error = catalog.version(&all, id, version).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.suggestions()),
            (message, &[suggestion.to_owned()][..])
        );
    }
    let found = catalog.version(&all, "test-prefab", None).unwrap();
    let error = found.function(&all, "runs").unwrap_err();
    assert_eq!(error.to_string(), "Function 'runs' not found in prefab test-prefab@0.1.5");
    assert_eq!(error.suggestions(), ["run"]);
}

#[test]
fn an_unknown_id_is_compared_with_the_ids_around_it() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let ids = (0..600).map(|number| format!("test-prefab-{number:03}"));
    let packages = ids.map(|id| package(&id, "1.0.0")).collect();
    catalog.publish_all(packages, PublishOptions::default(), |_| ()).unwrap();
    let some = Access::everything().with_filter(|name| !name.starts_with("test-prefab-309/"));
    let error = catalog.version(&some, "test-prefab-30x", None).unwrap_err();
    let suggested = ["test-prefab-308", "test-prefab-307", "test-prefab-306"];
    assert_eq!(error.suggestions(), suggested, "those that the caller may see");
}

#[test]
fn several_versions_are_published_all_or_none() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    publish(&catalog, "prefab-b", "1.0.0").unwrap();
    let other = document("prefab-b", "1.0.0", r#"{"name":"x","type":"string"}"#);
    let other = Package::new(Manifest::parse(&other).unwrap());
    let packages = vec![package("prefab-a", "1.0.0"), other];
    let refused = catalog.publish_all(packages, PublishOptions::default(), |_| ());
    assert!(matches!(refused, Err(PublishError::Exists { .. })), "{refused:?}");
    assert_eq!(latest(&catalog, "prefab-a"), None);
    let mut seen = Vec::new();
    let packages = vec![package("prefab-a", "1.0.0"), package("prefab-b", "1.0.0")];
    catalog.publish_all(packages, PublishOptions::default(), |done| seen.push(done)).unwrap();
    assert_eq!(seen, [1, 2]);
}

#[test]
fn a_credential_is_refused_with_its_place() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let key = format!("sk-{}", "a1B2".repeat(8));
    for (parameters, pointer) in [
        (
            format!(r#"{{"name":"q","description":"Use {key}"}}"#),
            "/functions/0/parameters/0/description",
        ),
        (
            r#"{"name":"api_key","default":"hunter2-hunter2"}"#.to_owned(),
            "/functions/0/parameters/0/default",
        ),
    ] {
        let document = document("test-prefab", "1.0.0", &parameters);
        let package = Package::new(Manifest::parse(&document).unwrap());
        let Err(PublishError::Refused { faults, .. }) =
            catalog.publish(package, PublishOptions::default())
        else {
            panic!("{parameters} was published")
        };
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, [pointer]);
        assert!(!faults[0].problem.contains("hunter2") && !faults[0].problem.contains(&key));
    }
    assert_eq!(latest(&catalog, "test-prefab"), None);
}

#[test]
fn another_process_is_noticed_at_once() {
    const TEST: &str = "catalog::store::another_process_is_noticed_at_once";
    if let Some(role) = process::role() {
        let catalog = Catalog::open(role[0].as_ref()).unwrap();
        while let version = process::hear()
            && version != "end"
        {
            publish(&catalog, "test-prefab", &version).unwrap();
            process::say("published");
        }
        process::leave();
    }
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let mut other = Player::start(TEST, &[data.path().to_str().unwrap()]);
    let mut revision = catalog.revision().unwrap();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        other.tell(version);
        assert_eq!(other.next().as_deref(), Some("published"));
        assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some(version));
        let now = catalog.revision().unwrap();
        assert!(now > revision);
        revision = now;
    }
    other.tell("end");
    other.end();
}

#[test]
fn a_withdrawn_version_stays_withdrawn_and_a_removed_prefab_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(folder.path()).unwrap();
    publish(&catalog, "a-prefab", "1.0.0").unwrap();
    publish(&catalog, "a-prefab", "1.1.0").unwrap();
    catalog.yank("a-prefab", "1.1.0", Some("broken")).unwrap();
    publish(&catalog, "a-prefab", "1.1.0").unwrap();
    assert_eq!(latest(&catalog, "a-prefab").as_deref(), Some("1.0.0"));

    catalog.set_visibility("a-prefab", Some(Visibility::Public)).unwrap();
    catalog.remove("a-prefab", None).unwrap();
    publish(&catalog, "a-prefab", "2.0.0").unwrap();
    let found = catalog.version(&Access::everything(), "a-prefab", None).unwrap();
    assert_eq!(found.visibility, None);
}
