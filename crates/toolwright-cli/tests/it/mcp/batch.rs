//! Batches of messages, which the version 2025-03-26 of the protocol has.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use super::{kind, server};
use crate::gateway::{Answer, Gateway, text_at};

const JSON: (&str, &str) = ("content-type", "application/json");

fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}}}}}}"#
    )
}

/// A batch with two calls, a request for nothing, a notification, and what may not be in a batch.
fn batch() -> String {
    let call = |id: &str, value: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"s_echo","arguments":{{"value":{value}}}}}}}"#
        )
    };
    let nothing = r#"{"jsonrpc":"2.0","id":"nothing","method":"none"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let first = initialize("2025-03-26");
    format!("[{},{nothing},{notification},7,{first},{}]", call("a", 17), call("b", 18))
}

/// The responses of a batch by their ids.
fn by_id(answered: &Json) -> BTreeMap<String, Json> {
    let responses = answered.as_array().unwrap().iter();
    responses.map(|own| (own.get("id").unwrap().compact(), own.clone())).collect()
}

fn check(answered: &Json) {
    let responses = by_id(answered);
    let ids: Vec<&str> = responses.keys().map(String::as_str).collect();
    assert_eq!(ids, [r#""a""#, r#""b""#, r#""nothing""#, "0", "null"], "{answered}");
    for (id, value) in [(r#""a""#, 17_u64), (r#""b""#, 18)] {
        let echoed = responses[id].pointer("/result/structuredContent/value");
        assert_eq!(echoed, Some(&value.into()), "{answered}");
    }
    let code = |id: &str| responses[id].pointer("/error/code").unwrap().compact();
    assert_eq!((code(r#""nothing""#), code("null")), ("-32601".to_owned(), "-32600".to_owned()));
    assert!(
        text_at(&responses["0"], "/error/message").contains("initialize may not be in a batch")
    );
}

/// Begins a session of a version, and returns what posts to it.
fn session<'g>(
    gateway: &'g Gateway,
    version: &str,
    headers: &'g [(&'g str, &'g str)],
) -> impl Fn(&str) -> Answer + 'g {
    let headers: Vec<(&str, &str)> = headers.iter().copied().chain([JSON]).collect();
    let begun = gateway.post("/mcp", &headers, initialize(version).as_bytes()).ok();
    let id = begun.header("mcp-session-id").unwrap().to_owned();
    move |body: &str| {
        let headers: Vec<(&str, &str)> =
            headers.iter().copied().chain([("mcp-session-id", id.as_str())]).collect();
        gateway.post("/mcp", &headers, body.as_bytes())
    }
}

#[test]
fn a_session_of_the_version_with_batches_answers_each_request() {
    let gateway = Gateway::start(&server("s", &kind("rows"), ""));
    let post = session(&gateway, "2025-03-26", &[]);
    check(&post(&batch()).ok().json());
    let notifications = r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#;
    let accepted = post(notifications);
    assert_eq!((accepted.status, accepted.text().as_str()), (202, ""));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (body, why) in [
        ("[]".to_owned(), "the batch is empty"),
        (format!("[{}]", vec![ping; 33].join(",")), "at most 32 messages"),
    ] {
        let refused = post(&body);
        assert_eq!(refused.status, 400);
        let error = refused.json();
        assert_eq!(error.pointer("/error/code").unwrap().compact(), "-32600");
        assert!(text_at(&error, "/error/message").contains(why), "{error}");
    }
    // What is no message is refused one by one.
    let refused = post("[7,8]");
    assert_eq!((refused.status, refused.json().as_array().unwrap().len()), (400, 2));
}

#[test]
fn other_versions_refuse_batches() {
    let gateway = Gateway::start(&server("s", &kind("rows"), ""));
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let refused = session(&gateway, version, &[])(&batch());
        assert_eq!(refused.status, 400);
        let message = text_at(&refused.json(), "/error/message");
        assert!(message.contains("only version 2025-03-26 has batches"), "{message}");
        assert!(message.contains(version), "{message}");
    }
    let refused = gateway.post("/mcp", &[JSON], batch().as_bytes());
    assert_eq!(refused.status, 400);
    assert!(text_at(&refused.json(), "/error/message").contains("needs a session"));
}

#[test]
fn each_request_of_a_batch_counts() {
    let key = format!("[keys.a]\nhash = \"{}\"\nrequests_per_minute = 4\n", KeyHash::of("key"));
    let gateway = Gateway::start(&(key + &server("s", &kind("rows"), "")));
    let headers = [("authorization", "Bearer key")];
    let post = session(&gateway, "2025-03-26", &headers);
    let ping = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let pings = |count: u64| format!("[{}]", (0..count).map(ping).collect::<Vec<_>>().join(","));
    assert_eq!(post(&pings(2)).ok().json().as_array().unwrap().len(), 2);
    assert_eq!(post(&pings(3)).status, 429);
}

#[test]
fn batches_are_answered_on_stdio() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolwright.toml"), server("s", &kind("rows"), "")).unwrap();
    let answers = |version: &str| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .current_dir(folder.path())
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        writeln!(input, "{}\n{}", initialize(version), batch()).unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut messages = lines.map(|line| Json::parse(&line.unwrap()).unwrap());
        // Before it are the response to initialize, and notifications.
        let is_answer = |own: &Json| own.as_array().is_some() || own.get("error").is_some();
        let answer = messages.find(is_answer).unwrap();
        drop(input);
        process.wait().unwrap();
        answer
    };
    check(&answers("2025-03-26"));
    let refused = answers("2025-06-18");
    assert!(text_at(&refused, "/error/message").contains("only version 2025-03-26"), "{refused}");
}
