//! Large bodies at the endpoints that call tools, many at once: what they need is within the memory of the gateway, or
//! they are refused.

use toolwright_core::{Json, object};

use super::assert_well;
use crate::gateway::upstream::{Reply, Upstream};
use crate::gateway::{Gateway, text_at};
use crate::plans::nested::publish;

/// The memory of the gateway, and the limit for the rest of its process.
const MEMORY: usize = 128 << 20;
const BESIDE: usize = 128 << 20;

/// Requests at the same time.
const REQUESTS: usize = 50;

fn gateway() -> Gateway {
    let limits = format!("[limits]\nmemory = {MEMORY}\nbody = \"30MB\"\n");
    Gateway::start(&(limits + "[catalog]\nallow_addresses = [\"127.0.0.1\"]\n"))
}

/// Publishes a function that takes anything.
fn publish_take(gateway: &Gateway) -> Upstream {
    let upstream = Upstream::start((0..2000).map(|_| Reply::json(200, "{}")));
    let schema = Json::parse(r#"{"type":"object","additionalProperties":true}"#).unwrap();
    let function = object! {
        "name": "take", "description": "Takes anything.", "effect": "read-only", "input_schema": schema
    };
    let manifest = object! {
        "id": "echo-prefab", "version": "1.0.0", "name": "Echo", "description": "Takes anything.",
        "runtime": object! {"http": object! {"base_url": upstream.url()}},
        "functions": vec![function]
    };
    publish(gateway, &manifest.into());
    upstream
}

/// Sends a request many times at once, and checks the memory.
fn flood(gateway: &Gateway, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
    std::thread::scope(|scope| {
        for _ in 0..REQUESTS {
            scope.spawn(|| {
                let status = gateway.ask(method, path, headers, body.as_bytes()).answer().status;
                let expected = [200, 204, 400, 404, 413, 422, 429, 503, 507];
                assert!(expected.contains(&status), "{method} {path}: {status}");
            });
        }
    });
    let peak = gateway.peak_memory();
    assert!(peak < MEMORY + BESIDE, "{method} {path}: {} MB", peak >> 20);
    assert_well(gateway);
}

/// A long text, and lists of small values, whose trees take twenty times their text and more.
fn large_values(items: usize) -> [String; 3] {
    let list = |item: &str| format!("[{}]", vec![item; items].join(","));
    [format!("\"{}\"", "x".repeat(1 << 20)), list(r#"{"a":0}"#), list("[]")]
}

#[test]
fn fifty_large_bodies_at_each_endpoint_that_calls_tools_stay_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_take(&gateway);
    let mcp = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "call_prefab_function"),
    ];
    for large in large_values(10_000) {
        let arguments = format!(r#"{{"x":{large}}}"#);
        let execute = format!(r#"{{"function":"take","parameters":{arguments}}}"#);
        flood(&gateway, "POST", "/v1/prefabs/echo-prefab/execute", &[], &execute);
        let call = format!(
            r#"{{"prefab_id":"echo-prefab","function_name":"take","inputs":{{"parameters":{arguments}}}}}"#
        );
        flood(
            &gateway,
            "POST",
            "/v1/internal/run",
            &[],
            &format!(r#"{{"calls":[{call},{call}]}}"#),
        );
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"call_prefab_function",
            "arguments":{{"prefab_id":"echo-prefab","version":"1.0.0","function_name":"take","parameters":{arguments}}},
            "_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        flood(&gateway, "POST", "/mcp", &mcp, &call);
        let answer = format!(r#"{{"action":"accept","content":{arguments}}}"#);
        flood(&gateway, "POST", "/v1/inputs/inp_unknown", &[], &answer);
    }
}

#[test]
fn fifty_readers_of_a_large_value_behind_a_handle_stay_within_the_memory() {
    let gateway = gateway();
    for (at, large) in large_values(40_000).iter().enumerate() {
        let path = format!("/v1/handles/tw:0123456789abcdef0123456789abcde{at}?conversation=c");
        let stored = gateway.ask("PUT", &path, &[], large.as_bytes()).answer();
        assert_eq!(stored.status, 204, "{}", stored.text());
        flood(&gateway, "GET", &path, &[], "");
        flood(&gateway, "PUT", &path, &[], large);
        assert_eq!(gateway.get(&path, &[]).ok().text(), *large);
    }
    // One that takes more memory than the gateway has is refused before it is read.
    let path = "/v1/handles/tw:0123456789abcdef0123456789abcdef?conversation=c";
    let items = vec![r#"{"a":0}"#; 400_000].join(",");
    let refused = gateway.ask("PUT", path, &[], format!("[{items}]").as_bytes()).answer();
    assert!(refused.status >= 400, "{}", refused.status);
    assert!(!text_at(&refused.json(), "/error/message").is_empty());
    assert_well(&gateway);
}
