//! The prefab interface, over real sockets.

mod files;
mod functions;
mod run;

use toolwright::catalog::{Catalog, Manifest, Package, PublishOptions};
use toolwright_core::{Json, object};
use toolwright_gateway::key::KeyHash;

use crate::gateway::{Answer, Gateway, text_at, until};

/// A client's table for the configuration, whose key is `key-{name}`.
fn client(name: &str, more: &str) -> String {
    format!("[keys.{name}]\nhash = \"{}\"\n{more}\n", KeyHash::of(&format!("key-{name}")))
}

/// The internal token of a client.
fn token(gateway: &Gateway, name: &str) -> String {
    let bearer = format!("Bearer key-{name}");
    let path = "/v1/auth/convert_to_internal_token";
    let answer = gateway.post(path, &[("authorization", &bearer)], b"").ok();
    text_at(&answer.json(), "/internal_token")
}

/// The text of an error.
fn detail(answer: &Answer) -> String {
    text_at(&answer.json(), "/detail")
}

#[test]
fn a_key_becomes_a_token_that_ends_with_the_key() {
    let both = client("alice", "") + &client("bob", "");
    let gateway = Gateway::start(&both);
    let convert =
        |headers: &[(&str, &str)]| gateway.post("/v1/auth/convert_to_internal_token", headers, b"");
    for headers in [&[][..], &[("authorization", "Bearer wrong")], &[("authorization", "Basic x")]]
    {
        let answer = convert(headers);
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert!(!detail(&answer).is_empty());
    }
    let token = token(&gateway, "alice");
    let list = |gateway: &Gateway, token: &str| {
        gateway.get("/internal/files/list", &[("x-internal-token", token)])
    };
    assert_eq!(list(&gateway, &token).ok().json(), Json::parse(r#"{"files":[]}"#).unwrap());
    for other in ["", "wrong", &token[..token.len() - 1]] {
        assert_eq!(list(&gateway, other).status, 401, "{other}");
    }
    assert_eq!(gateway.get("/internal/files/list", &[]).status, 401);
    gateway.get("/internal/files/list", &[("authorization", "Bearer key-bob")]).ok();
    // It survives a restart, and ends with the key.
    let gateway = gateway.restart(&both);
    list(&gateway, &token).ok();
    gateway.reload(&client("bob", ""));
    until("the end of the token", || (list(&gateway, &token).status == 401).then_some(()));
    assert!(!gateway.log().contains(&token));
}

#[test]
fn without_keys_a_client_on_this_machine_needs_no_token() {
    let gateway = Gateway::start("");
    gateway.get("/internal/files/list", &[]).ok();
    let answer = gateway.post(
        "/v1/auth/convert_to_internal_token",
        &[("authorization", "Bearer sk-any")],
        b"",
    );
    let token = text_at(&answer.ok().json(), "/internal_token");
    gateway.get("/internal/files/list", &[("x-internal-token", &token)]).ok();
    // A page in a browser has no business here.
    let answer = gateway.get("/internal/files/list", &[("origin", "https://evil.example")]);
    assert_eq!(answer.status, 403);
    assert!(detail(&answer).contains("another site"));
}

#[test]
fn errors_of_paths_and_methods_have_a_detail() {
    let gateway = Gateway::start("");
    let answer = gateway.get("/internal/files/nothing", &[]);
    assert_eq!(answer.status, 404);
    assert!(detail(&answer).contains("no endpoint"), "{}", answer.text());
    let answer = gateway.post("/internal/files/list", &[], b"");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")));
    assert!(detail(&answer).contains("GET"), "{}", answer.text());
}

#[test]
fn a_gateway_whose_catalog_is_unused_has_nothing_of_it() {
    let gateway = Gateway::start("");
    gateway.get("/healthz", &[]).ok();
    let names: Vec<_> =
        std::fs::read_dir(gateway.data()).unwrap().map(|own| own.unwrap()).collect();
    let names: Vec<String> =
        names.iter().map(|own| own.file_name().to_string_lossy().into_owned()).collect();
    for name in ["files", "files.sqlite", "signing.key", "catalog", "catalog.sqlite"] {
        assert!(!names.iter().any(|own| own == name), "{names:?}");
    }
}

/// Publishes a manifest to the catalog of a gateway, beside it.
fn publish(gateway: &Gateway, document: &Json) {
    let catalog = Catalog::open(&gateway.data()).unwrap();
    let package = Package::new(Manifest::parse(document).unwrap());
    catalog.publish(package, PublishOptions::default()).unwrap();
}

/// The manifest of a prefab with functions that echo, as HTTP functions of a server.
fn manifest(id: &str, version: &str, functions: &[&str]) -> Json {
    let functions = functions.iter().map(|name| {
        Json::Object(object! {
            "name": *name,
            "description": format!("Does {name} with a text."),
            "parameters": Json::parse(
                r#"[{"name": "text", "type": "string", "description": "A text", "required": true},
                    {"name": "owner", "type": "string", "description": "Who owns it"}]"#
            ).unwrap(),
        })
    });
    Json::Object(object! {
        "id": id,
        "version": version,
        "name": id,
        "description": format!("Functions of {id} for the tests."),
        "functions": functions.collect::<Vec<Json>>(),
        "runtime": Json::parse(r#"{"http": {"base_url": "http://127.0.0.1:9"}}"#).unwrap(),
    })
}
