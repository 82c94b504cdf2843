//! The prefab interface, over real sockets.

mod arguments;
mod files;
mod functions;
mod isolation;
mod removed_key;
mod run;

use std::net::{IpAddr, SocketAddr, UdpSocket};

use toolwright_catalog::{Catalog, Manifest, Package, PublishOptions};
use toolwright_core::message::Message;
use toolwright_core::{Json, Request, object};
use toolwright_gateway::key::KeyHash;
use toolwright_gateway::proxy::tokens;

use crate::exchange::tools::{CHAT, call, question, whole};
use crate::gateway::{Answer, Asking, Gateway, Upstream, items_at, table, text_at, until};

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

/// The address of this machine in a network, if it has one. Nothing is sent.
fn network_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|own| own.ip()).filter(|own| !own.is_loopback())
}

#[test]
fn without_keys_a_client_on_another_machine_needs_a_token_of_this_one() {
    let Some(address) = network_address() else { return };
    let gateway = Gateway::start_as_configured("listen = \"0.0.0.0:0\"\nopen = true\n");
    let far = SocketAddr::new(address, gateway.address.port());
    let ask = |method: &str, path: &str, headers: &[(&str, &str)]| {
        Asking::send(far, method, path, headers, b"").answer()
    };
    let (list, convert) = ("/internal/files/list", "/v1/auth/convert_to_internal_token");
    let bearer = [("authorization", "Bearer sk-any")];
    for answer in [
        ask("GET", list, &[]),
        ask("GET", list, &[("x-internal-token", "any")]),
        ask("GET", list, &bearer),
        ask("POST", convert, &bearer),
        ask("POST", "/v1/prefabs/builtin-files/execute", &bearer),
    ] {
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert!(detail(&answer).contains("token"), "{}", answer.text());
    }
    let token = text_at(&gateway.post(convert, &bearer, b"").ok().json(), "/internal_token");
    ask("GET", list, &[("x-internal-token", &token)]).ok();
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

/// Tokens of a document.
fn tokens(document: &Json) -> usize {
    tokens::estimate(&Request::new([Message::user(document.compact())]))
}

#[test]
fn a_catalog_of_any_size_costs_a_model_a_few_hundred_tokens() {
    let calls = [
        call(0, "call_a", "prefab_recommend", r#"{"query":"function number 512"}"#),
        call(1, "call_b", "list_prefab_functions", r#"{"prefab_id":"large-prefab"}"#),
    ];
    let upstream = Upstream::start([whole("", &calls), whole("Done.", &[])]);
    let gateway = Gateway::start(&table("up", "openai-chat", &upstream));
    let long = "It takes a description that is as long as those of real functions are. ".repeat(20);
    let functions = (0..741).map(|number| {
        let description = format!("Runs function number {number}. {long}");
        object! {"name": format!("function_{number}"), "description": description}
    });
    let document = object! {
        "id": "large-prefab", "version": "1.0.0", "name": "Large",
        "description": "A prefab with many functions.",
        "functions": functions.collect::<Vec<_>>(),
        "runtime": object! {"http": object! {"base_url": "https://example.com"}},
    };
    let document = Json::Object(document);
    assert!(tokens(&document) > 200_000);
    publish(&gateway, &document);
    let headers = [("toolwright-tools", "catalog")];
    gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    let request = upstream.last().json();
    let tools = items_at(&request, "/tools");
    assert_eq!(tools.len(), 6);
    assert!(tokens(&Json::Array(tools)) <= 900, "shorten descriptions");
    let total = tokens(&request);
    assert!(total <= 8_000, "{total} tokens with results");
}
