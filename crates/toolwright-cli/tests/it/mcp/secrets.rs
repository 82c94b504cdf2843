//! Secrets that servers receive and repeat.

use toolwright_core::json::Object;
use toolwright_core::object;

use super::{ask, kind, server};
use crate::gateway::Gateway;

const KEY: &str = "key-of-the-environment";
const FILLED: &str = "key-of-a-parameter";

/// A server that repeats a secret of its environment and one that fills a parameter.
fn start(variable: &str, filled: &str) -> Gateway {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), KEY).unwrap();
    std::fs::write(folder.path().join("filled"), filled).unwrap();
    let more = format!(
        "env = {{ KEY = \"{variable}\" }}\n\
         [mcp.s.hide.repeat]\nkey = {{ secret = \"file:filled\" }}"
    );
    Gateway::start_with(folder, &server("s", &kind("repeat"), &more))
}

/// Calls the tool and returns its progress and result.
fn call_with_progress(gateway: &Gateway) -> String {
    let own = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": Object::new(),
        "progressToken": "p",
    };
    let params = object! {"name": "s_repeat", "arguments": Object::new(), "_meta": own};
    let body = object! {"jsonrpc": "2.0", "id": 1_u64, "method": "tools/call", "params": params};
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "s_repeat"),
    ];
    gateway.post("/mcp", &headers, body.compact().as_bytes()).ok().text()
}

#[test]
fn a_short_secret_does_not_damage_numbers() {
    let answer = call_with_progress(&start("production", "1"));
    assert!(answer.contains(r#""progress":1,"message":"production and [redacted]""#), "{answer}");
}

#[test]
fn results_and_progress_do_not_repeat_secrets() {
    let gateway = start("file:key", FILLED);
    let answer = call_with_progress(&gateway);
    for wanted in [
        r#""message":"[redacted] and [redacted]""#,
        r#""text":"repeated [redacted] and [redacted]""#,
        r#""structuredContent":{"said":["[redacted] and [redacted]"]}"#,
    ] {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
    assert!(!answer.contains(KEY) && !answer.contains(FILLED), "{answer}");
    super::pins::run(&gateway, &["catalog", "add", "mcp:s"]);
    let body = br#"{"function": "repeat", "parameters": {}}"#;
    let answer = gateway.post("/v1/prefabs/mcp-s/execute", &[], body).ok().text();
    assert!(answer.contains("[redacted] and [redacted]"), "{answer}");
    assert!(!answer.contains(KEY) && !answer.contains(FILLED), "{answer}");
}

#[test]
fn prompts_and_resources_do_not_repeat_secrets() {
    let gateway = start("file:key", FILLED);
    for (method, params) in [
        ("prompts/get", object! {"name": "s_greet"}),
        ("resources/read", object! {"uri": "mcp:s/note://shared"}),
        (
            "completion/complete",
            object! {
                "ref": object! {"type": "ref/prompt", "name": "s_greet"},
                "argument": object! {"name": "city", "value": "L"},
            },
        ),
    ] {
        let answer = ask(&gateway, method, params).compact();
        assert!(answer.contains("[redacted]"), "{method}: {answer}");
        assert!(!answer.contains(KEY), "{method}: {answer}");
    }
    // A resource is read by its URI.
    let listed = ask(&gateway, "resources/list", Object::new()).compact();
    let wanted = format!(r#"{{"uri":"mcp:s/note://only-{KEY}","name":"only-[redacted]"}}"#);
    assert!(listed.contains(&wanted), "{listed}");
}

#[test]
fn a_text_of_the_configuration_that_is_no_secret_is_not_redacted() {
    let gateway = start("production", FILLED);
    let answer = ask(&gateway, "resources/read", object! {"uri": "mcp:s/note://shared"}).compact();
    assert!(!answer.contains("[redacted]"), "{answer}");
    assert!(answer.contains("of production"), "{answer}");
}
