//! Arguments of functions over HTTP: defaults, and values that would change the path of the request.

use toolwright_core::{Json, object};

use super::publish;
use crate::gateway::{Answer, Gateway, Reply, Upstream, text_at};

/// A gateway whose catalog has a prefab with functions of a server.
fn start(upstream: &Upstream, functions: &str) -> Gateway {
    let gateway = Gateway::start("[catalog]\nallow_addresses = [\"127.0.0.1\"]\n");
    let document = object! {
        "id": "web-prefab", "version": "1.0.0", "name": "Web", "description": "Functions of a server.",
        "functions": Json::parse(functions).unwrap(),
        "runtime": object! {"http": object! {"base_url": upstream.url()}},
    };
    publish(&gateway, &document.into());
    gateway
}

fn execute(gateway: &Gateway, parameters: &str) -> Answer {
    let body = format!(r#"{{"function": "get", "parameters": {parameters}}}"#);
    gateway.post("/v1/prefabs/web-prefab/execute", &[], body.as_bytes())
}

const WITH_DEFAULT: &str = r#"[{"name": "get", "description": "Gets something", "parameters": [
    {"name": "word", "type": "string", "required": true},
    {"name": "top", "type": "integer", "default": 3}]}]"#;

#[test]
fn defaults_are_filled_in_and_given_values_stay_exact() {
    let upstream = Upstream::start((0..3).map(|_| Reply::json(200, "{}")));
    let gateway = start(&upstream, WITH_DEFAULT);
    execute(&gateway, r#"{"word": "a"}"#).ok();
    assert_eq!(upstream.last().json().compact(), r#"{"word":"a","top":3}"#);
    execute(&gateway, r#"{"word": "a", "top": 12345678901234567890}"#).ok();
    assert_eq!(upstream.last().json().compact(), r#"{"word":"a","top":12345678901234567890}"#);
    let run = r#"{"calls": [{"prefab_id": "web-prefab", "function_name": "get",
        "inputs": {"parameters": {"word": "b"}}}]}"#;
    let answer = gateway.post("/v1/internal/run", &[], run.as_bytes()).ok().json();
    assert_eq!(text_at(&answer, "/status"), "SUCCESS");
    assert_eq!(upstream.last().json().compact(), r#"{"word":"b","top":3}"#);
    // A text is no number here.
    let answer = execute(&gateway, r#"{"word": "a", "top": "3"}"#);
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert_eq!(upstream.received().len(), 3);
}

const WITH_PATH: &str = r#"[{"name": "get", "description": "Gets something",
    "parameters": [{"name": "id", "type": "string", "required": true}],
    "http": {"method": "GET", "path": "/items/{id}", "parameters": [{"name": "id", "in": "path"}]}}]"#;

#[test]
fn an_argument_cannot_lead_out_of_its_segment_of_the_path() {
    let upstream = Upstream::start((0..4).map(|_| Reply::json(200, "{}")));
    let gateway = start(&upstream, WITH_PATH);
    for id in [
        "..",
        ".",
        "../admin",
        "..%2Fadmin",
        "..%2fadmin",
        "%2e%2e",
        "%2E%2E/admin",
        "a/../../b",
        "a%2Fb",
        "%252e%252e",
        r"..\\admin",
        r"a\\b",
        "%5Cadmin",
        "a%255cb",
        "..;/admin",
    ] {
        let answer = execute(&gateway, &format!(r#"{{"id": "{id}"}}"#)).ok().json();
        assert_eq!(text_at(&answer, "/status"), "FAILED", "{id}");
        let message = text_at(&answer, "/error/message");
        assert!(message.contains("`id`") && message.contains("path"), "{id}: {message}");
    }
    assert_eq!(upstream.received().len(), 0, "nothing was sent");
    // A slash is one character of the value, as some servers want it; so are dots in a name, and a percent sign.
    for (id, path) in [
        ("group/project", "/items/group%2Fproject"),
        ("v1..v2", "/items/v1..v2"),
        ("100%", "/items/100%25"),
        ("...", "/items/..."),
    ] {
        execute(&gateway, &format!(r#"{{"id": "{id}"}}"#)).ok();
        assert_eq!(upstream.last().path, path);
    }
}
