//! `toolwright catalog`: from a folder to a found function, with tables, JSON and exit codes.

use std::fs;
use std::path::Path;

use toolwright_core::Json;

use crate::run::{Ran, fixture, toolwright};

fn catalog(data: &Path, arguments: &[&str]) -> Ran {
    let data = data.to_str().unwrap();
    toolwright(&[&["catalog"], arguments, &["--data", data]].concat(), b"")
}

fn ok(data: &Path, arguments: &[&str]) -> String {
    let ran = catalog(data, arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    ran.text()
}

fn json(data: &Path, arguments: &[&str]) -> Json {
    Json::parse(&ok(data, &[arguments, &["--json"]].concat())).unwrap()
}

/// Writes a manifest with one function over HTTP.
fn manifest(at: &Path, version: &str, parameters: &str) -> String {
    let text = format!(
        r#"{{"id":"weather-prefab","version":"{version}","name":"天气","description":"查询城市的天气预报。",
            "tags":["weather"],"author":"Li Wei",
            "functions":[{{"name":"forecast","description":"天气预报：返回一个城市的天气","parameters":[{parameters}]}}],
            "runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#
    );
    let path = at.join(format!("weather-{version}.json"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_published_function_is_found_listed_and_described() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let added = ok(data, &["add", &fixture("catalog/file-processing-prefab")]);
    assert_eq!(added, "published file-processing-prefab@0.1.5 (1 function, latest)\n");
    let added = ok(data, &["add", &fixture("catalog/file-processing-prefab/prefab.json")]);
    assert!(added.starts_with("already there: file-processing-prefab@0.1.5"), "{added}");

    let hits = json(data, &["recommend", "我需要处理 PDF 文件，提取文本内容"]);
    assert_eq!(hits.pointer("/0/id").and_then(Json::as_str), Some("file-processing-prefab"));
    assert_eq!(hits.pointer("/0/version").and_then(Json::as_str), Some("0.1.5"));
    let best = hits.pointer("/0/functions/0/name").and_then(Json::as_str);
    assert_eq!(best, Some("parse_file"));
    let explained = ok(data, &["search", "parse_file", "--explain"]);
    assert!(explained.contains("name 'pars"), "{explained}");

    let functions = json(data, &["functions", "file-processing-prefab"]);
    let description = "解析文件为 Markdown 格式的纯文本，支持 PDF、图片、文档等多种格式";
    assert_eq!(
        functions.compact(),
        format!(r#"[{{"name":"parse_file","description":"{description}"}}]"#)
    );
    let details = ok(data, &["details", "file-processing-prefab@0.1.5", "parse_file"]);
    assert_eq!(details, fs::read_to_string(fixture("catalog/served/parse_file.json")).unwrap());
    let found = ok(data, &["search", "weather of Mars colonies"]);
    assert!(found.starts_with("nothing found"), "{found}");
}

#[test]
fn tables_align_wide_characters() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0", "")]);
    let table = ok(data, &["search", "天气预报"]);
    let lines: Vec<&str> = table.lines().collect();
    let column = lines[0].find("WHAT IT DOES").unwrap();
    assert_eq!(&lines[1][column..], "天气预报：返回一个城市的天气", "{table}");
    let list = ok(data, &["list"]);
    assert!(
        list.contains("weather-prefab  1.0.0    1          default     查询城市的天气预报。"),
        "{list}"
    );
    assert!(list.contains("builtin-files"), "{list}");
}

#[test]
fn every_fault_is_listed_and_nothing_is_published() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let path = manifest(data, "1.0", r#"{"name":"q","typ":"string"}"#);
    let ran = catalog(data, &["add", &path]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("2 faults; nothing is published\n  /version: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("  /functions/0/parameters/0/typ: "), "{}", ran.stderr);
    let ran = catalog(data, &["add", &path, "--json"]);
    assert_eq!(ran.code, 1);
    let faults = Json::parse(&ran.text()).unwrap();
    let pointer = faults.pointer("/faults/1/pointer").and_then(Json::as_str);
    assert_eq!(pointer, Some("/functions/0/parameters/0/typ"));
    let ran = catalog(data, &["versions", "weather-prefab"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("Prefab 'weather-prefab' not found"), "{}", ran.stderr);
}

#[test]
fn versions_are_compared_deprecated_yanked_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0", "")]);
    let breaking = r#"{"name":"city","type":"string","required":true}"#;
    let ran = catalog(data, &["add", &manifest(data, "1.0.1", breaking)]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("is a patch release and breaks callers of 1.0.0"),
        "{}",
        ran.stderr
    );
    let added = ok(data, &["add", &manifest(data, "1.1.0", breaking)]);
    assert!(
        added.contains("  breaks callers of 1.0.0\n  forecast: arguments breaking ("),
        "{added}"
    );
    let diff = json(data, &["diff", "weather-prefab", "1.0.0"]);
    assert_eq!(diff.pointer("/breaking"), Some(&Json::Bool(true)));
    assert!(diff.pointer("/functions/0/input/example").is_some());

    ok(data, &["yank", "weather-prefab", "1.1.0", "--reason", "wrong units"]);
    ok(data, &["deprecate", "weather-prefab", "1.0.0", "--message", "use climate-prefab"]);
    let versions = ok(data, &["versions", "weather-prefab"]);
    assert!(versions.contains("yanked: wrong units"), "{versions}");
    assert!(versions.contains("latest, deprecated: use climate-prefab"), "{versions}");
    ok(data, &["yank", "weather-prefab", "1.1.0", "--undo"]);
    assert_eq!(catalog(data, &["remove", "weather-prefab"]).code, 2, "a version, or --all");
    ok(data, &["remove", "weather-prefab", "--all"]);
    let ran = catalog(data, &["functions", "builtin-file"]);
    assert!(ran.stderr.contains("hint: did you mean builtin-files"), "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

#[test]
fn an_index_and_an_openapi_document_are_imported() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let entries: Vec<String> = (0..120)
        .map(|index| {
            format!(
                r#"{{"id":"listed-{index}","version":"0.1.0","author":"A","repo_url":"https://example.com/{index}",
                    "name":"Listed {index}","description":"Prefab number {index} of an index.","tags":["社区"]}}"#
            )
        })
        .collect();
    let index = data.join("index.json");
    fs::write(&index, format!("[{}]", entries.join(","))).unwrap();
    let added = ok(data, &["add", index.to_str().unwrap()]);
    assert_eq!(added.lines().count(), 120);
    let hits = json(data, &["search", "--tag", "社区", "--limit", "50"]);
    assert_eq!(hits.as_array().unwrap().len(), 50);

    let document = data.join("openapi.json");
    let text = r#"{"openapi":"3.1.0","info":{"title":"Pet store","version":"1.2"},
        "servers":[{"url":"https://pets.example"}],"paths":{"/pets":{"get":{"operationId":"listPets",
        "summary":"Lists pets","responses":{"200":{"description":"Pets"}}}}}}"#;
    fs::write(&document, text).unwrap();
    let added = ok(data, &["add", document.to_str().unwrap(), "--id", "pet-shop"]);
    assert!(added.starts_with("OpenAPI 3.1.0: 1 of 1 operations are functions\n"), "{added}");
    assert_eq!(json(data, &["functions", "pet-shop"]).as_array().unwrap().len(), 1);
    let ran = catalog(data, &["add", index.to_str().unwrap(), "--id", "x"]);
    assert_eq!(ran.code, 2, "only OpenAPI has this option: {}", ran.stderr);
}
