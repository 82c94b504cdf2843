//! A line in the log for every request, also for those that are not exchanges, however they end.

use std::io::Write;
use std::net::TcpStream;

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use crate::gateway::{Gateway, until};

/// Requests at each sort of endpoint: method, path, status.
const REQUESTS: [(&str, &str, u16); 14] = [
    ("GET", "/v1/models", 200),
    ("GET", "/v1/plans", 200),
    ("GET", "/v1/plans/plan_none", 404),
    ("POST", "/v1/plans/check", 400),
    ("GET", "/v1/approvals", 200),
    ("GET", "/v1/inputs", 200),
    ("GET", "/v1/handles/tw:0123456789abcdef0123456789abcdef", 400),
    ("GET", "/v1/losses/none", 404),
    ("GET", "/v1/public/prefabs/builtin-files/functions", 200),
    ("POST", "/v1/prefabs/builtin-files/execute", 422),
    ("GET", "/internal/files/list", 200),
    ("POST", "/mcp", 400),
    ("PUT", "/v1/models", 405),
    ("GET", "/nowhere", 404),
];

fn client() -> String {
    format!("[keys.alice]\nhash = \"{}\"\n", KeyHash::of("key-alice"))
}

/// The lines of the log about a path.
fn lines(gateway: &Gateway, path: &str) -> Vec<String> {
    let is_there = |line: &&str| line.split([' ', '"']).any(|word| word == path);
    gateway.log().lines().filter(is_there).map(str::to_owned).collect()
}

#[test]
fn every_request_has_one_line() {
    let gateway = Gateway::start(&client());
    let key = [("authorization", "Bearer key-alice")];
    for (method, path, status) in REQUESTS {
        let headers = if path.starts_with("/mcp") { &key[..] } else { &key };
        let answer = gateway.ask(method, path, headers, b"{").answer();
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
    }
    for (method, path, status) in REQUESTS {
        let logged = until(path, || {
            let found = lines(&gateway, path);
            let of_method = |line: &String| line.contains(&format!("{method:<16} → "));
            let found: Vec<String> = found.into_iter().filter(of_method).collect();
            (!found.is_empty()).then_some(found)
        });
        assert_eq!(logged.len(), 1, "{logged:?}");
        assert!(logged[0].contains(&format!(" {status} ")), "{logged:?}");
        let is_known = !matches!(status, 404 | 405) || path.starts_with("/v1");
        assert_eq!(logged[0].ends_with("  alice"), is_known && status != 405, "{logged:?}");
    }
    // An exchange has the line of its recorder, and monitoring has none.
    let body = r#"{"model":"offline/rules","messages":[{"role":"user","content":"hi"}]}"#;
    gateway.post("/v1/chat/completions", &key, body.as_bytes()).ok();
    for path in ["/healthz", "/readyz", "/metrics"] {
        gateway.get(path, &key).ok();
    }
    until("the exchange", || gateway.log().contains("offline/rules").then_some(()));
    for path in ["/v1/chat/completions", "/healthz", "/readyz", "/metrics"] {
        assert_eq!(lines(&gateway, path), Vec::<String>::new());
    }
}

#[test]
fn strangers_and_clients_that_leave_have_a_line() {
    let gateway = Gateway::start(&client());
    assert_eq!(gateway.get("/v1/plans?key=wrong", &[]).status, 401);
    let line = until("the refusal", || lines(&gateway, "/v1/plans").pop());
    assert!(line.contains(" 401 ") && line.ends_with("  -"), "{line}");
    assert!(!line.contains("wrong"), "{line}");

    let mut socket = TcpStream::connect(gateway.address).unwrap();
    let head = "POST /v1/plans/check HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer key-alice\r\n\
                content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    socket.write_all(head.as_bytes()).unwrap();
    drop(socket);
    let line = until("the disconnect", || lines(&gateway, "/v1/plans/check").pop());
    assert!(line.ends_with("  alice, client_left") || line.contains(" 400 "), "{line}");
}

#[test]
fn a_line_has_its_fields_in_json() {
    let config = format!("[log]\nformat = \"json\"\n{}", client());
    let gateway = Gateway::start(&config);
    gateway.get("/v1/approvals?limit=3", &[("authorization", "Bearer key-alice")]).ok();
    let line = until("the line", || {
        let log = gateway.log();
        log.lines().find(|line| line.contains("/v1/approvals")).map(str::to_owned)
    });
    let line = Json::parse(&line).unwrap();
    let text = |key: &str| line.get(key).and_then(Json::as_str).map(str::to_owned);
    assert_eq!(text("http.request.method").as_deref(), Some("GET"));
    assert_eq!(text("url.path").as_deref(), Some("/v1/approvals"));
    assert_eq!(text("toolwright.client").as_deref(), Some("alice"));
    assert_eq!(line.get("http.response.status_code").and_then(Json::as_u64), Some(200));
}
