//! Conversations over several requests: their identity, and handles in them.

use toolwright_gateway::key::KeyHash;

use super::tools::{CHAT, THEIRS, TOOLS, call, of_role, question, whole};
use crate::gateway::{Answer, Gateway, Upstream, table, text_at};

const HEADER: &str = "toolwright-conversation";
const TABLES: (&str, &str) = ("toolwright-tools", "read_csv, drop_missing");

/// Asks the model to read a table, and returns the reply and the handle that the model saw.
fn read_table(
    gateway: &Gateway,
    upstream: &Upstream,
    headers: &[(&str, &str)],
) -> (Answer, String) {
    std::fs::write(gateway.file("people.csv"), "name,age\n张三,34\n李四,\n").unwrap();
    upstream.then(whole("", &[call(0, "call_r", "read_csv", r#"{"path":"people.csv"}"#)]));
    upstream.then(whole("A table.", &[]));
    let headers = [headers, &[TABLES]].concat();
    let answer = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    let outcome = text_at(&of_role(&upstream.last().json(), "tool")[0], "/content");
    let start = outcome.find("tw:").unwrap_or_else(|| panic!("no handle: {outcome}"));
    (answer, outcome[start..start + 35].to_owned())
}

/// Lets the model pass the handle to another tool, and returns the outcome of that call.
fn use_table(
    gateway: &Gateway,
    upstream: &Upstream,
    headers: &[(&str, &str)],
    handle: &str,
) -> String {
    let arguments = format!(r#"{{"table":"{handle}"}}"#);
    upstream.then(whole("", &[call(0, "call_d", "drop_missing", &arguments)]));
    upstream.then(whole("Done.", &[]));
    let headers = [headers, &[TABLES]].concat();
    gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    text_at(&of_role(&upstream.last().json(), "tool")[0], "/content")
}

fn config(upstream: &Upstream) -> String {
    [&table("up", "openai-chat", upstream), TOOLS].concat()
}

#[test]
fn a_handle_works_in_its_conversation_also_after_a_restart() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let (answer, handle) = read_table(&gateway, &upstream, &[]);
    let conversation = answer.header(HEADER).unwrap().to_owned();
    assert!(conversation.starts_with("conv_"), "{conversation}");
    let gateway = gateway.restart(&config(&upstream));
    let same = [(HEADER, conversation.as_str())];
    let outcome = use_table(&gateway, &upstream, &same, &handle);
    assert!(outcome.contains("1 row"), "{outcome}");
    for other in [&[][..], &[(HEADER, "another")]] {
        let outcome = use_table(&gateway, &upstream, other, &handle);
        assert!(outcome.contains("there is no data under"), "{outcome}");
    }
    let entries = gateway.end();
    let named: Vec<Option<&str>> = entries.iter().map(|own| own.conversation.as_deref()).collect();
    assert_eq!(named[..2], [Some(&*conversation), Some(&*conversation)]);
    assert!(named[2].is_some_and(|own| own != conversation) && named[3] == Some("another"));
}

#[test]
fn a_conversation_of_another_tenant_has_another_scope() {
    let upstream = Upstream::start([]);
    let keys: String = ["a", "b"]
        .map(|name| {
            let hash = KeyHash::of(&format!("key-{name}"));
            format!("[keys.{name}]\nhash = \"{hash}\"\n")
        })
        .concat();
    let gateway = Gateway::start(&[config(&upstream), keys].concat());
    let mine = [(HEADER, "thread-1"), ("authorization", "Bearer key-a")];
    let theirs = [(HEADER, "thread-1"), ("authorization", "Bearer key-b")];
    let (answer, handle) = read_table(&gateway, &upstream, &mine);
    assert_eq!(answer.header(HEADER), Some("thread-1"));
    let outcome = use_table(&gateway, &upstream, &theirs, &handle);
    assert!(outcome.contains("there is no data under"), "{outcome}");
    let outcome = use_table(&gateway, &upstream, &mine, &handle);
    assert!(outcome.contains("1 row"), "{outcome}");
}

#[test]
fn a_chain_of_responses_is_one_conversation() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let ask = |previous: &str, tools: &[(&str, &str)]| {
        upstream.then(whole("Fine.", &[]));
        let body = format!(r#"{{"model":"up/gpt-x","input":"hi"{previous}}}"#);
        let answer = gateway.post("/v1/responses", tools, body.as_bytes()).ok();
        let id = text_at(&answer.json(), "/id");
        (answer.header(HEADER).map(str::to_owned), format!(r#","previous_response_id":"{id}""#))
    };
    let (first, previous) = ask("", &[TABLES]);
    assert!(first.is_some());
    // A turn without tools belongs to it as well.
    let (second, previous) = ask(&previous, &[]);
    assert_eq!(second, first);
    assert_eq!(ask(&previous, &[TABLES]).0, first);
    assert_ne!(ask("", &[TABLES]).0, first);
    assert_eq!(ask("", &[]).0, None, "nothing needs one");
}

#[test]
fn calls_of_the_client_identify_their_conversation() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let theirs = || call(0, "call_t", "get_weather", "{}");
    upstream.then(whole("", &[theirs()]));
    let first = gateway.post(CHAT, &[TABLES], question(false, THEIRS).as_bytes()).ok();
    let conversation = first.header(HEADER).unwrap().to_owned();
    let gateway = gateway.restart(&config(&upstream));
    upstream.then(whole("Sunny.", &[]));
    let body = format!(
        r#"{{"model":"up/gpt-x","messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":null,"tool_calls":[{}]}},{{"role":"tool","tool_call_id":"call_t","content":"sunny"}}]{THEIRS}}}"#,
        theirs()
    );
    let next = gateway.post(CHAT, &[TABLES], body.as_bytes()).ok();
    assert_eq!(next.header(HEADER), Some(&*conversation));
}

#[test]
fn a_call_id_of_two_conversations_identifies_neither() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    // Some models number their calls, and begin again in every conversation.
    let theirs = || call(0, "functions.get_weather:0", "get_weather", "{}");
    let begin = |file: &str| {
        std::fs::write(gateway.file(file), "name\n张三\n").unwrap();
        let arguments = format!(r#"{{"path":"{file}"}}"#);
        upstream.then(whole("", &[call(0, "functions.read_csv:0", "read_csv", &arguments)]));
        upstream.then(whole("", &[theirs()]));
        let answer = gateway.post(CHAT, &[TABLES], question(false, THEIRS).as_bytes()).ok();
        answer.header(HEADER).unwrap().to_owned()
    };
    let (first, second) = (begin("one.csv"), begin("two.csv"));
    assert_ne!(first, second);
    let go_on = |headers: &[(&str, &str)]| {
        upstream.then(whole("Sunny.", &[]));
        let body = format!(
            r#"{{"model":"up/gpt-x","messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":null,"tool_calls":[{}]}},{{"role":"tool","tool_call_id":"functions.get_weather:0","content":"sunny"}}]{THEIRS}}}"#,
            theirs()
        );
        let headers = [headers, &[TABLES]].concat();
        let answer = gateway.post(CHAT, &headers, body.as_bytes()).ok();
        (answer.header(HEADER).unwrap().to_owned(), upstream.last().text())
    };
    let (other, request) = go_on(&[]);
    assert!(other != first && other != second, "{other}");
    assert!(!request.contains("one.csv") && !request.contains("two.csv"), "{request}");
    let (same, request) = go_on(&[(HEADER, &first)]);
    assert_eq!(same, first);
    assert!(request.contains("one.csv") && !request.contains("two.csv"), "{request}");
}

#[test]
fn an_invalid_name_is_refused() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    for name in ["", "a b", "a/b", &"x".repeat(129)] {
        let answer = gateway.post(CHAT, &[(HEADER, name)], question(false, "").as_bytes());
        assert_eq!(answer.status, 400, "{name:?}: {}", answer.text());
        assert_eq!(text_at(&answer.json(), "/error/param"), HEADER);
    }
    upstream.then(whole("Fine.", &[]));
    let answer = gateway.post(CHAT, &[(HEADER, "a")], question(false, "").as_bytes()).ok();
    assert_eq!(answer.header(HEADER), Some("a"), "also without tools");
    assert!(!upstream.last().everything().contains(HEADER), "no upstream gets the header");
}
