//! The OpenAPI document of the gateway's endpoints: it is valid, and the replies match it.

use http::{HeaderMap, Method};
use toolwright_core::schema::Check;
use toolwright_core::{Dialect, Json, object};
use toolwright_gateway::gateway::openapi;
use toolwright_gateway::gateway::routes::{self as table, HttpRoute, Target};
use toolwright_gateway::telemetry::RequestId;
use toolwright_gateway::telemetry::config::{LossSettings, TelemetrySettings};
use toolwright_runtime::Caller;

use super::{begin, report};

fn document() -> Json {
    Json::parse(openapi::document()).unwrap()
}

/// A schema of the document, with the schemas that it refers to.
pub fn schema(name: &str) -> Check {
    let mut schema = object! {"$ref": format!("#/components/schemas/{name}")};
    schema.push("components", document().get("components").unwrap().clone());
    Check::compile(&Json::Object(schema)).unwrap()
}

/// A value of the document, or what it refers to.
fn resolved<'d>(document: &'d Json, value: &'d Json) -> &'d Json {
    let target = value.get("$ref").and_then(Json::as_str);
    target.map_or(value, |target| document.pointer(target.strip_prefix('#').unwrap()).unwrap())
}

/// Every reference below a value.
fn references(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| references(item, found)),
        Json::Object(object) => {
            for (key, value) in object.iter() {
                match value.as_str() {
                    Some(text) if key == "$ref" => found.push(text.to_owned()),
                    _ => references(value, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let (document, mut found) = (document(), Vec::new());
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let components = document.get("components").and_then(Json::as_object).unwrap();
    for (kind, members) in components.iter().filter(|(kind, _)| *kind != "securitySchemes") {
        for (name, _) in members.as_object().unwrap().iter() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(found.contains(&reference), "nothing refers to {reference}");
        }
    }
}

#[test]
fn every_schema_is_valid() {
    let document = document();
    for (name, _) in document.pointer("/components/schemas").unwrap().as_object().unwrap().iter() {
        schema(name);
    }
}

#[test]
fn the_document_has_this_version_and_operation_ids() {
    let document = document();
    assert_eq!(document.get("openapi").and_then(Json::as_str), Some("3.1.0"));
    let version = document.pointer("/info/version").and_then(Json::as_str);
    assert_eq!(version, Some(env!("CARGO_PKG_VERSION")));
    let mut names = Vec::new();
    for (path, methods) in document.get("paths").and_then(Json::as_object).unwrap().iter() {
        for (_, operation) in methods.as_object().unwrap().iter() {
            let name = operation.get("operationId").and_then(Json::as_str).unwrap().to_owned();
            assert!(!names.contains(&name), "{name}");
            names.push(name);
            let parameters = operation.get("parameters").and_then(Json::as_array);
            let mut parameters = parameters.into_iter().flatten();
            let in_path = parameters.any(|parameter| {
                resolved(&document, parameter).get("in").and_then(Json::as_str) == Some("path")
            });
            assert_eq!(in_path, path.contains('{'), "{path}");
        }
    }
}

#[test]
fn each_part_is_a_document_and_none_repeats_another() {
    let mut seen = Vec::new();
    for part in openapi::PARTS {
        let part = Json::parse(part).unwrap();
        for (section, members) in part.as_object().unwrap().iter() {
            let sections = match section {
                "paths" => vec![(section, members)],
                "components" => members.as_object().unwrap().iter().collect(),
                _ => continue,
            };
            for (section, members) in sections {
                for name in members.as_object().unwrap().keys() {
                    let name = format!("{section} {name}");
                    assert!(!seen.contains(&name), "{name}");
                    seen.push(name);
                }
            }
        }
    }
}

#[test]
fn every_route_is_described_and_every_description_is_of_a_route() {
    let document = document();
    let mut described: Vec<&HttpRoute> = Vec::new();
    for (path, methods) in document.get("paths").and_then(Json::as_object).unwrap().iter() {
        for method in methods.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let found = table::find(&method, path, &HeaderMap::new());
            let found = found.map_err(|_| format!("{method} {path}")).unwrap();
            described.push(found.route);
        }
    }
    for route in table::ROUTES {
        let is_described = described.iter().any(|known| std::ptr::eq(*known, route));
        assert!(is_described, "{} {}", route.verb.name(), route.pattern);
    }
}

#[tokio::test]
async fn losses_match_the_document_from_memory_and_from_the_ledger() {
    let check = schema("Losses");
    let folder = tempfile::tempdir().unwrap();
    for max_entries in [0, 10] {
        let losses = LossSettings { max_entries };
        let settings = TelemetrySettings { losses, ..TelemetrySettings::default() };
        let telemetry = super::open(folder.path(), &settings);
        let mut one = begin(&telemetry);
        one.set_upstream("google", Some(Dialect::Gemini));
        one.record.request_report = report();
        let (id, alice) = (one.id(), Caller::new("alice").with_tenant("acme"));
        one.finish();
        let found = telemetry.losses(id, &alice).await.unwrap().unwrap();
        assert_eq!(check.violations(&found), []);
        let none = begin(&telemetry);
        let id = none.id();
        none.finish();
        let found = telemetry.losses(id, &alice).await.unwrap().unwrap();
        assert_eq!(check.violations(&found), []);
    }
    assert!(!check.accepts(&Json::Object(object! {"request_id": "req_1"})));
}

#[test]
fn every_gateway_header_is_described() {
    let document = document();
    let of = |value| resolved(&document, value);
    let paths = document.get("paths").and_then(Json::as_object).unwrap();
    let is_exchange = |path: &str| {
        let found = table::find(&Method::POST, path, &HeaderMap::new());
        found.is_ok_and(|found| matches!(found.route.target, Target::Exchange(..)))
    };
    let exchanges = paths.iter().filter(|(path, _)| is_exchange(path));
    let posts: Vec<&Json> = exchanges.filter_map(|(_, methods)| methods.get("post")).collect();
    assert!(posts.len() >= 9);
    for post in posts {
        let operation = post.get("operationId").and_then(Json::as_str).unwrap();
        let counts_tokens = operation.ends_with("CountTokens");
        let parameters = post.get("parameters").and_then(Json::as_array).unwrap().iter().map(of);
        let names: Vec<Json> = parameters.filter_map(|own| own.get("name").cloned()).collect();
        for name in ["toolwright-strict", "toolwright-tools"] {
            assert!(names.contains(&name.into()), "{name} of {}", post.compact());
        }
        for status in ["200", "4XX", "5XX"] {
            let reply = of(post.pointer(&format!("/responses/{status}")).unwrap());
            let headers = reply.get("headers").and_then(Json::as_object).unwrap();
            let names: Vec<&str> = headers.keys().collect();
            let mut expected =
                vec!["toolwright-request-id", "toolwright-losses", "toolwright-upstream"];
            if counts_tokens && status == "200" {
                expected.push("toolwright-estimated");
            }
            assert_eq!(names, expected);
        }
    }
    let schemes = document.pointer("/components/securitySchemes").and_then(Json::as_object);
    let own = |scheme: &Json| scheme.get("name").and_then(Json::as_str) == Some("toolwright-key");
    assert!(schemes.unwrap().iter().any(|(_, scheme)| own(scheme)));
}

#[test]
fn ids_match_the_document() {
    let check = schema("RequestId");
    for _ in 0..100 {
        assert!(check.accepts(&Json::from(RequestId::random().to_string())));
    }
    assert!(!check.accepts(&Json::from("req_1")));
}

#[test]
fn dialects_match_the_document() {
    let check = schema("Dialect");
    assert!(Dialect::ALL.iter().all(|dialect| check.accepts(&Json::from(dialect.id()))));
}
