//! `/v1/public/prefabs`: lists, details, versions, and who sees what.

use std::path::Path;

use toolwright_catalog::{Catalog, Package, PublishOptions};
use toolwright_core::Json;

use super::{client, detail, manifest, publish, token};
use crate::gateway::{Answer, Gateway, fixture, until};

/// A gateway whose catalog has the prefab of the fixtures.
fn with_fixture(config: &str) -> Gateway {
    let gateway = Gateway::start(config);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/catalog");
    let package = Package::read(&folder.join("file-processing-prefab")).unwrap();
    let catalog = Catalog::open(&gateway.data()).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
    gateway
}

fn get(gateway: &Gateway, path: &str) -> Answer {
    gateway.get(&format!("/v1/public/prefabs/{path}"), &[])
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// The names in a list.
fn names(answer: Answer) -> Vec<String> {
    let document = answer.ok().json();
    let names = document.as_array().unwrap().iter();
    names.map(|own| own.get("name").and_then(Json::as_str).unwrap().to_owned()).collect()
}

#[test]
fn the_fixture_is_served_to_the_letter() {
    let gateway = with_fixture("");
    let list = json(
        r#"[{"name": "parse_file",
             "description": "解析文件为 Markdown 格式的纯文本，支持 PDF、图片、文档等多种格式"}]"#,
    );
    for query in ["", "?version=0.1.5", "?version="] {
        let answer = get(&gateway, &format!("file-processing-prefab/functions{query}")).ok();
        assert_eq!(answer.json(), list, "{query}");
    }
    let details = Json::parse_bytes(&fixture("catalog/served/parse_file.json")).unwrap();
    let answer = get(&gateway, "file-processing-prefab/functions/parse_file?version=0.1.5");
    assert_eq!(answer.ok().json(), details);
    for (path, expected) in [
        ("non-existent-prefab/functions", "Prefab 'non-existent-prefab' not found"),
        (
            "file-processing-prefab/functions/non_existent_function",
            "Function 'non_existent_function' not found in prefab file-processing-prefab@0.1.5",
        ),
        (
            "file-processing-prefab/functions?version=9.9.9",
            "Prefab 'file-processing-prefab@9.9.9' not found",
        ),
        ("%E6%96%87%20%22x/functions", "Prefab '文 \"x' not found"),
    ] {
        let answer = get(&gateway, path);
        assert_eq!((answer.status, detail(&answer).as_str()), (404, expected), "{path}");
    }
    let answer = get(&gateway, "file-procesing-prefab/functions");
    let document = json(
        r#"{"detail": "Prefab 'file-procesing-prefab' not found",
            "suggestions": ["file-processing-prefab"]}"#,
    );
    assert_eq!((answer.status, answer.json()), (404, document));
    let answer = get(&gateway, "file-processing-prefab/functions/parse_fil");
    assert_eq!(answer.json().get("suggestions"), Some(&json(r#"["parse_file"]"#)));
}

#[test]
fn a_version_that_is_published_beside_the_gateway_is_found_at_once() {
    let gateway = Gateway::start("");
    assert_eq!(get(&gateway, "new-prefab/functions").status, 404);
    publish(&gateway, &manifest("new-prefab", "1.0.0", &["one"]));
    assert_eq!(names(get(&gateway, "new-prefab/functions")), ["one"]);
    publish(&gateway, &manifest("new-prefab", "1.1.0", &["one", "two"]));
    assert_eq!(names(get(&gateway, "new-prefab/functions")), ["one", "two"]);
    assert_eq!(names(get(&gateway, "new-prefab/functions?version=1.0.0")), ["one"]);
    let answer = get(&gateway, "new-prefab/functions/two?version=1.0.0");
    assert_eq!(detail(&answer), "Function 'two' not found in prefab new-prefab@1.0.0");
}

#[test]
fn without_a_key_only_public_prefabs_exist_once_there_are_keys() {
    let settings = "[prefabs.shown-prefab]\nvisibility = \"public\"\n\
                    [prefabs.withdrawn-prefab]\nvisibility = \"private\"\n";
    let keys = client("alice", "");
    let gateway = Gateway::start(&format!("{keys}{settings}"));
    for (id, visibility) in [
        ("unstated-prefab", None),
        ("shown-prefab", Some("private")),
        ("withdrawn-prefab", Some("public")),
        ("public-prefab", Some("public")),
    ] {
        let mut document = manifest(id, "1.0.0", &["one"]);
        if let (Json::Object(document), Some(visibility)) = (&mut document, visibility) {
            document.push("visibility", visibility);
        }
        publish(&gateway, &document);
    }
    let seen = |gateway: &Gateway, headers: &[(&str, &str)]| {
        let ids = ["unstated-prefab", "shown-prefab", "withdrawn-prefab", "public-prefab"];
        ids.map(|id| {
            let list = format!("/v1/public/prefabs/{id}/functions");
            let details = format!("{list}/one");
            let statuses = [list, details].map(|path| gateway.get(&path, headers).status);
            assert_eq!(statuses[0], statuses[1], "{id}");
            statuses[0] == 200
        })
    };
    assert_eq!(seen(&gateway, &[]), [false, true, false, true]);
    assert_eq!(seen(&gateway, &[("authorization", "Bearer wrong")]), [false, true, false, true]);
    assert_eq!(seen(&gateway, &[("authorization", "Bearer key-alice")]), [true; 4]);
    let token = token(&gateway, "alice");
    assert_eq!(seen(&gateway, &[("x-internal-token", &token)]), [true; 4]);
    // A private prefab is not suggested either.
    let answer = get(&gateway, "unstated-prefb/functions");
    assert!(answer.json().get("suggestions").is_none(), "{}", answer.text());
    let gateway = gateway.restart(&format!("{keys}[catalog]\nvisibility = \"public\"\n{settings}"));
    assert_eq!(seen(&gateway, &[]), [true, true, false, true]);
    let gateway = gateway.restart(settings);
    assert_eq!(
        seen(&gateway, &[]),
        [true, true, false, true],
        "public is the default without keys"
    );
}

#[test]
fn a_forbidden_function_is_neither_listed_nor_described_nor_suggested() {
    let gateway = Gateway::start(&client("alice", "tools = [\"some-prefab/one*\"]"));
    publish(&gateway, &manifest("some-prefab", "1.0.0", &["one_word", "two_words"]));
    publish(&gateway, &manifest("other-prefab", "1.0.0", &["one_word"]));
    let get = |path: &str| {
        let path = format!("/v1/public/prefabs/{path}");
        gateway.get(&path, &[("authorization", "Bearer key-alice")])
    };
    assert_eq!(names(get("some-prefab/functions")), ["one_word"]);
    get("some-prefab/functions/one_word").ok();
    for name in ["two_words", "two_word", "%74wo_words"] {
        let answer = get(&format!("some-prefab/functions/{name}"));
        assert_eq!(answer.status, 404, "{name}");
        let suggested = answer.json().get("suggestions").cloned();
        assert!(!suggested.is_some_and(|own| own.compact().contains("two")), "{}", answer.text());
    }
    let answer = get("other-prefab/functions");
    assert_eq!(
        (answer.status, detail(&answer)),
        (404, "Prefab 'other-prefab' not found".to_owned())
    );
}

#[test]
fn hidden_parameters_are_not_described() {
    let config = "[prefabs.some-prefab.hide.one]\nowner = { caller = \"tenant\" }\n";
    let gateway = Gateway::start(config);
    publish(&gateway, &manifest("some-prefab", "1.0.0", &["one", "two"]));
    let parameters = |name: &str| {
        let answer = get(&gateway, &format!("some-prefab/functions/{name}")).ok().json();
        names_of(answer.get("parameters").unwrap())
    };
    assert_eq!(parameters("one"), ["text"]);
    assert_eq!(parameters("two"), ["text", "owner"]);
}

fn names_of(parameters: &Json) -> Vec<String> {
    let names = parameters.as_array().unwrap().iter();
    names.map(|own| own.get("name").and_then(Json::as_str).unwrap().to_owned()).collect()
}

#[test]
fn a_damaged_catalog_is_an_error_without_paths() {
    let gateway = Gateway::start("");
    // The catalog is opened by the first request that needs it.
    std::fs::write(gateway.data().join("catalog.sqlite"), "no database at all").unwrap();
    let answer = get(&gateway, "some-prefab/functions");
    assert_eq!(answer.status, 503);
    assert!(!answer.text().contains("catalog.sqlite"), "{}", answer.text());
    until("the reason in the log", || gateway.log().contains("catalog.sqlite").then_some(()));
}
