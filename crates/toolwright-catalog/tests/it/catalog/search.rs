//! Search in a catalog, as callers see it, across processes and restarts.

use std::fs;

use rusqlite::Connection;
use toolwright_catalog::openapi::{ImportOptions, import};
use toolwright_catalog::{
    Access, Catalog, Dictionary, Manifest, Package, PrefabHit, PublishOptions, SearchOptions,
    Visibility,
};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use toolwright_testing::process::{self, Player};

const FILE_PROCESSING: &str =
    include_str!("../../../../../fixtures/catalog/file-processing-prefab/prefab.json");

/// The operations of GitHub's OpenAPI document: id and summary.
const GITHUB: &str = include_str!("../../../../../fixtures/catalog/github/operations.tsv");

/// Prefabs of one function each.
fn packages(count: usize) -> Vec<Package> {
    let package = |index| {
        let text = format!(
            r#"{{"id":"prefab-{index}","version":"1.0.0","name":"Prefab {index}",
                "description":"Converts format {index} to text.","author":"Li Wei","tags":["t{}"],
                "functions":[{{"name":"convert_{index}","description":"Converts a file of format {index}."}}],
                "runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#,
            index % 3
        );
        Package::new(Manifest::parse(&Json::parse(&text).unwrap()).unwrap())
    };
    (0..count).map(package).collect()
}

fn file_processing() -> Package {
    Package::new(Manifest::parse(&Json::parse(FILE_PROCESSING).unwrap()).unwrap())
}

/// A prefab of all functions of GitHub's OpenAPI document.
fn github() -> Package {
    let mut paths = Object::new();
    for line in GITHUB.lines() {
        let (id, summary) = line.split_once('\t').unwrap();
        let operation = object! {"operationId": id, "summary": summary, "responses": Object::new()};
        paths.insert(format!("/{id}"), object! {"get": operation});
    }
    let document = object! {
        "openapi": "3.1.0", "info": object! {"title": "GitHub", "version": "1.0.0"},
        "servers": vec![object! {"url": "https://api.github.com"}], "paths": paths
    };
    let imported = import(&document.into(), &ImportOptions::new()).unwrap();
    Package::new(Manifest::parse(&imported.manifest).unwrap())
}

fn ids(catalog: &Catalog, access: &Access, query: &str, options: &SearchOptions) -> Vec<String> {
    let hits = catalog.search(access, query, options).unwrap();
    hits.iter().map(|hit| hit.prefab.manifest.id.to_string()).collect()
}

#[test]
fn a_need_in_chinese_finds_its_function() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish(file_processing(), PublishOptions::default()).unwrap();
    let all = Access::everything();
    let need = "我需要处理 PDF 文件，提取文本内容";
    let hits = catalog.recommend(&all, need, &SearchOptions::default()).unwrap();
    let best = &hits[0];
    assert_eq!(best.prefab.manifest.id.as_str(), "file-processing-prefab");
    assert_eq!(best.prefab.manifest.version.to_string(), "0.1.5");
    assert_eq!(best.functions[0].name, "parse_file");
    assert!(best.functions[0].score > 0.0 && best.functions[0].matches.is_empty());
    let explained = SearchOptions::default().with_explanation(true);
    let hits = catalog.recommend(&all, need, &explained).unwrap();
    assert!(!hits[0].functions[0].matches.is_empty());
}

#[test]
fn a_dictionary_translates_queries() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish(packages(1).remove(0), PublishOptions::default()).unwrap();
    let (all, options) = (Access::everything(), SearchOptions::default());
    let need = "變換格式";
    let hits = catalog.recommend(&all, need, &options).unwrap();
    assert!(hits.iter().all(PrefabHit::is_weak), "{hits:?}");
    assert!(catalog.hint(&all, &options).unwrap().contains("other or fewer words"));
    let entries = "變換 变换 [bian4 huan4] /to convert/\n格式 格式 [ge2 shi4] /format/\n";
    catalog.set_dictionary(Dictionary::parse(entries).unwrap());
    let hits = catalog.recommend(&all, need, &options).unwrap();
    assert_eq!(hits[0].prefab.manifest.id.as_str(), "prefab-0");
}

#[test]
fn a_summary_finds_its_function_among_all_of_github() {
    let package = github();
    assert_eq!(package.manifest().functions.len(), 1_223);
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
    let (all, options) = (Access::everything(), SearchOptions::default());
    let query = "list pull requests";
    for hits in [catalog.search(&all, query, &options), catalog.recommend(&all, query, &options)] {
        assert_eq!(hits.unwrap()[0].functions[0].name, "pulls_list");
    }
}

#[test]
fn builtin_functions_are_found_in_a_new_catalog() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let (all, options) = (Access::everything(), SearchOptions::default());
    assert_eq!(ids(&catalog, &all, "read csv", &options)[0], "builtin-tables");
    assert_eq!(ids(&catalog, &all, "git_commit", &options)[0], "builtin-git");
    assert_eq!(ids(&catalog, &all, "", &options).len(), 3, "without a query, all");
    assert!(ids(&catalog, &all, "book a flight to Mars", &options).is_empty());
}

#[test]
fn a_forbidden_function_is_not_found() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let private = PublishOptions::default().with_visibility(Some(Visibility::Private));
    catalog.publish(file_processing(), private).unwrap();
    let options = SearchOptions::default();
    for query in ["parse_file", "file-processing-prefab", "文件处理预制件", ""] {
        let found = |access| {
            ids(&catalog, &access, query, &options).contains(&"file-processing-prefab".to_owned())
        };
        assert!(found(Access::everything()), "{query}");
        assert!(!found(Access::public(Visibility::Public)), "{query}");
        let denied = |name: &str| name != "file-processing-prefab/parse_file";
        assert!(!found(Access::everything().with_filter(denied)), "{query}");
    }
}

#[test]
fn filters_by_tag_and_author() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish_all(packages(9), PublishOptions::default(), |_| ()).unwrap();
    let all = Access::everything();
    let options = SearchOptions::default().with_tags(["T1".to_owned(), "t2".to_owned()]);
    assert_eq!(ids(&catalog, &all, "converts a file", &options).len(), 6, "any of the tags");
    let options = SearchOptions::default().with_author(Some("li wei".to_owned())).with_limit(2);
    assert_eq!(ids(&catalog, &all, "", &options), ["prefab-0", "prefab-1"]);
    let options = SearchOptions::default().with_author(Some("nobody".to_owned()));
    assert!(ids(&catalog, &all, "", &options).is_empty());
}

#[test]
fn a_prefab_that_is_only_listed_is_found() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let entry = Json::parse(
        r#"[{"id":"pdf-tools","version":"0.3.0","name":"PDF 工具","description":"合并、拆分和旋转 PDF 文件。"}]"#,
    );
    let listed = Package::read_index_with_progress(&entry.unwrap(), |_| ()).unwrap();
    catalog.publish_all(listed, PublishOptions::default(), |_| ()).unwrap();
    let hits =
        catalog.search(&Access::everything(), "旋转 PDF", &SearchOptions::default()).unwrap();
    assert_eq!(hits[0].prefab.manifest.id.as_str(), "pdf-tools");
    assert!(hits[0].functions.is_empty());
}

#[test]
fn a_prefab_whose_manifest_cannot_be_read_is_left_out_with_a_warning() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    catalog.publish_all(packages(3), PublishOptions::default(), |_| ()).unwrap();
    let file = Connection::open(data.path().join("catalog.sqlite")).unwrap();
    let damage = r#"UPDATE version SET document = '{"id":1}' WHERE prefab = 'prefab-1'"#;
    assert_eq!(file.execute(damage, []).unwrap(), 1);
    let found = || ids(&catalog, &Access::everything(), "format", &SearchOptions::default());
    assert_eq!(found(), ["prefab-0", "prefab-2"]);
    let warnings = catalog.take_search_warnings();
    assert!(warnings[0].contains("prefab-1@1.0.0"), "{warnings:?}");
    assert_eq!((warnings.len(), found().len()), (1, 2));
    assert!(catalog.take_search_warnings().is_empty(), "it is said once");
}

#[test]
fn the_index_follows_changes_of_other_processes() {
    const TEST: &str = "catalog::search::the_index_follows_changes_of_other_processes";
    if let Some(role) = process::role() {
        let catalog = Catalog::open(role[0].as_ref()).unwrap();
        match role[1].as_str() {
            "add" => drop(catalog.publish(file_processing(), PublishOptions::default()).unwrap()),
            "yank" => catalog.yank("file-processing-prefab", "0.1.5", Some("wrong")).unwrap(),
            "hide" => {
                catalog.yank("file-processing-prefab", "0.1.5", None).unwrap();
                let private = Some(Visibility::Private);
                catalog.set_visibility("file-processing-prefab", private).unwrap();
            }
            _ => catalog.remove("file-processing-prefab", None).unwrap(),
        }
        process::leave();
    }
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let public = Access::public(Visibility::Public);
    let is_found = |access: &Access| {
        let found = ids(&catalog, access, "parse_file", &SearchOptions::default());
        found.first().is_some_and(|id| id == "file-processing-prefab")
    };
    assert!(!is_found(&public));
    for (action, in_public, at_all) in [
        ("add", true, true),
        ("yank", false, false),
        ("hide", false, true),
        ("remove", false, false),
    ] {
        Player::start(TEST, &[data.path().to_str().unwrap(), action]).end();
        assert_eq!(is_found(&public), in_public, "{action}");
        assert_eq!(is_found(&Access::everything()), at_all, "{action}");
    }
}

#[test]
fn a_snapshot_is_brought_up_to_date() {
    let data = tempfile::tempdir().unwrap();
    let (all, options) = (Access::everything(), SearchOptions::default());
    let open = || Catalog::open(data.path()).unwrap();
    let catalog = open();
    catalog.publish_all(packages(1_100), PublishOptions::default(), |_| ()).unwrap();
    assert_eq!(ids(&catalog, &all, "convert_1007", &options)[0], "prefab-1007");
    let snapshot = data.path().join("catalog-search.bin");
    assert!(snapshot.exists());
    catalog.publish(file_processing(), PublishOptions::default()).unwrap();
    catalog.remove("prefab-1007", None).unwrap();
    for _ in 0..2 {
        let catalog = open();
        assert_eq!(ids(&catalog, &all, "parse_file", &options)[0], "file-processing-prefab");
        assert_eq!(ids(&catalog, &all, "convert_1006", &options)[0], "prefab-1006");
        assert!(!ids(&catalog, &all, "convert_1007", &options).contains(&"prefab-1007".to_owned()));
        // A damaged snapshot is built again.
        fs::write(&snapshot, b"TWSEARCH nonsense").unwrap();
    }
}
