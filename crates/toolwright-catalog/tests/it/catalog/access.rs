//! What a caller may not call does not exist for it.

use toolwright_catalog::{Access, Catalog, PublishOptions, Visibility};

use super::{package, publish};

#[test]
fn a_forbidden_function_does_not_exist() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    publish(&catalog, "test-prefab", "1.0.0").unwrap();
    let access = Access::everything().with_filter(|name| name == "test-prefab/run");
    let found = catalog.version(&access, "test-prefab", None).unwrap();
    let names: Vec<&str> = found.functions(&access).map(|own| own.name.as_str()).collect();
    assert_eq!(names, ["run"]);
    let error = found.function(&access, "stop").unwrap_err();
    assert_eq!(error.to_string(), "Function 'stop' not found in prefab test-prefab@1.0.0");
    assert!(found.function(&access, "stopp").unwrap_err().suggestions().is_empty());
    assert!(found.function(&access, "run").is_ok());

    let summaries = catalog.prefabs(&access).unwrap();
    assert_eq!(summaries.len(), 1);
    assert_eq!(summaries[0].functions, ["run"]);
    publish(&catalog, "test-prefab", "1.1.0").unwrap();
    let report = catalog.compare(&access, "test-prefab", "1.0.0", None).unwrap();
    assert_eq!(report.functions.iter().map(|own| &*own.name).collect::<Vec<_>>(), ["run"]);

    let nothing = Access::everything().with_filter(|_| false);
    assert!(catalog.prefabs(&nothing).unwrap().is_empty());
    assert!(catalog.versions(&nothing, "test-prefab").unwrap().is_empty());
    for version in [None, Some("1.0.0")] {
        let error = catalog.version(&nothing, "test-prefab", version).unwrap_err();
        assert_eq!(error.to_string(), "Prefab 'test-prefab' not found");
        let error = catalog.version(&nothing, "tset-prefab", version).unwrap_err();
        assert!(error.suggestions().is_empty());
    }
}

#[test]
fn a_private_prefab_does_not_exist_in_public() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let private = PublishOptions::default().with_visibility(Some(Visibility::Private));
    catalog.publish(package("prefab-a", "1.0.0"), private).unwrap();
    publish(&catalog, "prefab-b", "1.0.0").unwrap();
    let sees = |access: &Access, id| catalog.version(access, id, None).is_ok();
    let open = Access::public(Visibility::Public);
    let closed = Access::public(Visibility::Private);
    assert!(!sees(&open, "prefab-a") && sees(&open, "prefab-b"));
    assert!(!sees(&closed, "prefab-a") && !sees(&closed, "prefab-b"));
    assert!(sees(&Access::everything(), "prefab-a"));
    let swapped = Access::public(Visibility::Private).with_visibility(|id| {
        Some(if id == "prefab-a" { Visibility::Public } else { Visibility::Private })
    });
    assert!(sees(&swapped, "prefab-a") && !sees(&swapped, "prefab-b"));
    catalog.set_visibility("prefab-a", Some(Visibility::Public)).unwrap();
    assert!(sees(&closed, "prefab-a"));
    // A later version without a visibility keeps that of the prefab.
    publish(&catalog, "prefab-a", "1.1.0").unwrap();
    assert!(sees(&closed, "prefab-a"));
    assert_eq!(catalog.prefabs(&closed).unwrap().len(), 1);
}
