//! Questions of servers to users.

use std::time::{Duration, Instant};

use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::{call_tool, kind, server, text_of};
use crate::exchange::tools::{CHAT, call, question, whole};
use crate::gateway::{Gateway, Upstream, items_at, table, text_at, until};

/// Calls a tool as a client with a capability, with or without answers to its questions.
fn call_with(gateway: &Gateway, name: &str, capability: Object, more: Object) -> Json {
    let own = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": object! {"elicitation": capability},
    };
    let mut params = object! {"name": name, "arguments": Object::new(), "_meta": own};
    params.merge(&more);
    let body = object! {"jsonrpc": "2.0", "id": 1_u64, "method": "tools/call", "params": params};
    let headers = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", name),
    ];
    gateway.post("/mcp", &headers, body.compact().as_bytes()).ok().json()
}

#[test]
fn users_are_asked_only_in_the_modes_of_their_client() {
    // A question in a session of a server is that of a call only if there is no other one.
    let servers = ["a", "b", "c"].map(|name| server(name, &kind("ask"), ""));
    let gateway = Gateway::start(&servers.concat());
    let asked = call_with(&gateway, "a_form", Object::new(), Object::new());
    assert_eq!(text_at(&asked, "/result/resultType"), "input_required", "{asked:?}");
    let refused = call_with(&gateway, "b_page", Object::new(), Object::new());
    assert!(text_of(&refused).contains("cancel"), "{refused:?}");
    let pages = object! {"url": Object::new()};
    let asked = call_with(&gateway, "c_page", pages, Object::new());
    assert_eq!(text_at(&asked, "/result/resultType"), "input_required", "{asked:?}");
}

#[test]
fn the_deadline_of_a_tool_does_not_run_while_its_user_thinks() {
    let gateway = Gateway::start(&server("s", &kind("ask"), "deadline = \"300ms\""));
    let asked = call_with(&gateway, "s_form", Object::new(), Object::new());
    let start = Instant::now();
    // Twice the deadline.
    until("the time", || (start.elapsed() > Duration::from_millis(600)).then_some(()));
    let answer = object! {"action": "accept", "content": object! {"name": "Ada"}};
    let (inputs, key) = (asked.pointer("/result/inputRequests"), "input");
    assert!(inputs.is_some_and(|own| own.get(key).is_some()), "{asked:?}");
    let mut responses = Object::new();
    responses.insert(key, answer);
    let state = text_at(&asked, "/result/requestState");
    let more = object! {"inputResponses": responses, "requestState": state};
    let done = call_with(&gateway, "s_form", Object::new(), more);
    assert!(text_of(&done).contains("Ada"), "{done:?}");
}

#[test]
fn an_answer_that_does_not_fit_the_form_reaches_no_server() {
    let gateway = Gateway::start(&server("s", &kind("ask"), ""));
    let asked = call_with(&gateway, "s_form", Object::new(), Object::new());
    let state = text_at(&asked, "/result/requestState");
    let wrong = object! {"action": "accept", "content": object! {"name": 4711_u64}};
    let more = object! {"inputResponses": object! {"input": wrong}, "requestState": state};
    let done = call_with(&gateway, "s_form", Object::new(), more).compact();
    assert!(done.contains("does not fit the form") && done.contains("/name"), "{done}");
    assert!(!done.contains("4711"), "{done}");
}

#[test]
fn a_chat_client_answers_questions_over_http() {
    let asked = || call(0, "call_1", "s_form", "{}");
    let replies = [whole("", &[asked()]), whole("hello Ada", &[])];
    let upstream = Upstream::start(replies);
    let config = table("up", "openai-chat", &upstream) + &server("s", &kind("ask"), "");
    let gateway = Gateway::start(&config);
    let headers = [("toolwright-tools", "mcp:s"), ("toolwright-input", "form")];
    let asking = gateway.ask("POST", CHAT, &headers, question(false, "").as_bytes());
    let listed = until("the question", || {
        let listed = gateway.get("/v1/inputs", &[]).ok().json();
        items_at(&listed, "/data").into_iter().next()
    });
    assert_eq!(text_at(&listed, "/request/message"), "Who are you?");
    assert_eq!(text_at(&listed, "/server"), "s");
    let path = format!("/v1/inputs/{}", text_at(&listed, "/id"));
    assert_eq!(gateway.post(&path, &[], b"{}").status, 400);
    let refused = gateway.post(&path, &[], br#"{"action": "accept", "content": {"name": 5}}"#);
    assert_eq!(refused.status, 400, "{}", refused.text());
    let message = text_at(&refused.json(), "/error/message");
    assert!(message.contains("/name"), "{message}");
    let answer = br#"{"action": "accept", "content": {"name": "Ada"}}"#;
    gateway.post(&path, &[], answer).ok();
    assert_eq!(gateway.post(&path, &[], answer).status, 404);
    let reply = asking.answer().ok().json();
    assert_eq!(text_at(&reply, "/choices/0/message/content"), "hello Ada");
    assert!(upstream.last().text().contains("Ada"), "{}", upstream.last().text());
}

#[test]
fn a_client_that_cannot_be_asked_learns_why() {
    let asked = call(0, "call_1", "s_form", "{}");
    let upstream = Upstream::start([whole("", &[asked]), whole("no", &[])]);
    let config = table("up", "openai-chat", &upstream) + &server("s", &kind("ask"), "");
    let gateway = Gateway::start(&config);
    let headers = [("toolwright-tools", "mcp:s")];
    gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    let sent = upstream.last().text();
    assert!(sent.contains("cannot be asked") && sent.contains("Who are you?"), "{sent}");
    let called = call_tool(&gateway, "s_form", Object::new());
    assert!(text_of(&called).contains("cancel"), "{called:?}");
}

#[test]
fn open_streams_do_not_delay_a_shutdown() {
    let gateway = Gateway::start(&server("s", &kind("ask"), ""));
    let json = ("content-type", "application/json");
    let begin = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let answer = gateway.post("/mcp", &[json], begin).ok();
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let mut stream = gateway.ask("GET", "/mcp", &[("mcp-session-id", id.as_str())], b"");
    stream.until("retry:");
    let mut listening = super::features::listen(&gateway, object! {"toolsListChanged": true});
    listening.until("acknowledged");
    // The end of a gateway is awaited for less than the drain timeout.
    gateway.end();
    assert!(listening.until("\"result\"").contains("subscriptionId"));
    let rest = stream.answer().text();
    assert!(!rest.contains("error"), "{rest}");
}
