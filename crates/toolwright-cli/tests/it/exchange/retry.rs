//! Retries of requests whose tools the gateway runs: an effect never happens twice, although the
//! model returns new call ids and a different text each time. An effect is a line that a tool
//! appends to a file.

mod kill;

use std::time::Duration;

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;
use toolwright_runtime::store::expiring::{Entry, ExpiringStore, Limits, Outcome, Scope};

use super::tools::{CHAT, TOOLS, call, question, streamed, whole};
use crate::gateway::{
    Answer, DATA, Gateway, Received, Reply, Upstream, at, items_at, table, text_at,
};

const MESSAGES: &str = "/v1/messages";
const WRITE: (&str, &str) = ("toolwright-tools", "write_file");
const KEY: (&str, &str) = ("idempotency-key", "order-17");

/// A model that writes a line, and finishes after the result. Every reply has its own call ids and
/// text.
fn writes(number: usize) -> Reply {
    Reply::made(move |received| write(received, number))
}

fn write(received: &Received, number: usize) -> Reply {
    let line = format!(r#"{{"path":"effects","content":"line {number}\n","mode":"append"}}"#);
    answer(received, number, "write_file", &line)
}

/// A reply in the requested form, whole or streamed.
fn answer(received: &Received, number: usize, tool: &str, arguments: &str) -> Reply {
    let request = received.json();
    let is_done = items_at(&request, "/messages").iter().any(|own| text_at(own, "/role") == "tool");
    let say = if at(&request, "/stream") == Json::Bool(true) { streamed } else { whole };
    if is_done {
        return say(&format!("It is done, told in way {number}."), &[]);
    }
    let id = format!("call_{number}");
    say(&format!("In way {number}: "), &[call(0, &id, tool, arguments)])
}

fn upstream() -> Upstream {
    Upstream::start((0..20).map(writes))
}

fn config(upstream: &Upstream) -> String {
    [&table("up", "openai-chat", upstream), TOOLS, "allow = [\"write_file\", \"git_commit\"]\n"]
        .concat()
}

fn start(upstream: &Upstream) -> Gateway {
    Gateway::start(&config(upstream))
}

fn post(gateway: &Gateway, headers: &[(&str, &str)], body: &str) -> Answer {
    gateway.post(CHAT, &[&[WRITE], headers].concat(), body.as_bytes())
}

/// The number of effects.
fn effects(gateway: &Gateway) -> usize {
    std::fs::read_to_string(gateway.file("effects")).unwrap_or_default().lines().count()
}

/// The text of a reply, whole or streamed.
fn said(answer: &Answer, stream: bool) -> String {
    if !stream {
        return text_at(&answer.json(), "/choices/0/message/content");
    }
    let words = answer.events().into_iter();
    let words = words.map(|event| at(&event, "/choices/0/delta/content"));
    words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

#[test]
fn a_retry_with_the_same_key_is_answered_from_the_saved_run() {
    for stream in [false, true] {
        let upstream = upstream();
        let gateway = start(&upstream);
        let first = post(&gateway, &[KEY], &question(stream, "")).ok();
        let again = post(&gateway, &[KEY], &question(stream, "")).ok();
        assert_eq!(said(&first, stream), said(&again, stream));
        assert!(said(&again, stream).contains("It is done, told in way 1."), "{}", again.text());
        assert_eq!(again.header("toolwright-upstream"), Some("up"));
        assert_eq!((effects(&gateway), upstream.received().len()), (1, 2));

        let gateway = gateway.restart(&config(&upstream));
        let later = post(&gateway, &[KEY], &question(stream, "")).ok();
        assert_eq!(said(&first, stream), said(&later, stream));
        assert_eq!((effects(&gateway), upstream.received().len()), (1, 2));
    }
}

#[test]
fn a_failure_after_an_effect_reports_it_forbids_retries_and_resumes_by_key() {
    for (path, headers) in [(CHAT, [WRITE, KEY]), (MESSAGES, [WRITE, KEY])] {
        for status in [429, 503] {
            let failure = Reply::json(status, r#"{"error":{"message":"busy"}}"#);
            let failure = failure.with("retry-after", "1");
            let upstream = Upstream::start([writes(0), failure, writes(2), writes(3)]);
            let gateway = start(&upstream);
            let body = question(false, r#","max_tokens":99"#);
            let body = if path == CHAT {
                body
            } else {
                body.replace(r#"{"role":"system","content":"Be brief."},"#, "")
            };
            let failed = gateway.post(path, &headers, body.as_bytes());
            assert_eq!(failed.status, 424, "{}", failed.text());
            assert_eq!(failed.header("x-should-retry"), Some("false"));
            assert_eq!(failed.header("retry-after"), None);
            let text = failed.text();
            assert!(text.contains("write_file (call_0: done)") && text.contains("busy"), "{text}");

            let resumed = gateway.post(path, &headers, body.as_bytes()).ok();
            assert!(resumed.text().contains("told in way 2."), "{}", resumed.text());
            let last = upstream.last().json();
            let calls = items_at(&last, "/messages").len();
            assert_eq!(text_at(&last, &format!("/messages/{}/tool_call_id", calls - 1)), "call_0");
            assert_eq!((effects(&gateway), upstream.received().len()), (1, 3));
        }
    }
}

#[test]
fn a_reply_that_fails_before_any_effect_may_be_retried() {
    let upstream = Upstream::start([Reply::json(503, r#"{"error":{"message":"busy"}}"#)]);
    let gateway = start(&upstream);
    let failed = post(&gateway, &[KEY], &question(false, ""));
    assert_eq!((failed.status, failed.header("x-should-retry")), (503, None));
}

#[test]
fn a_stream_that_fails_after_an_effect_reports_it_and_its_retry_has_the_whole_answer() {
    let failure = Reply::json(503, r#"{"error":{"message":"busy"}}"#);
    let upstream = Upstream::start([writes(0), failure, writes(2)]);
    let gateway = start(&upstream);
    let failed = post(&gateway, &[KEY], &question(true, ""));
    assert!(failed.text().contains("write_file (call_0: done)"), "{}", failed.text());
    let resumed = post(&gateway, &[KEY], &question(true, "")).ok();
    assert_eq!(said(&resumed, true), "In way 0: \n\nIt is done, told in way 2.");
    assert_eq!(effects(&gateway), 1);
}

#[test]
fn the_same_key_with_another_body_is_refused_and_keys_are_per_client() {
    let upstream = upstream();
    let keys: String = ["a", "b"]
        .map(|name| format!("[keys.{name}]\nhash = \"{}\"\n", KeyHash::of(&format!("key-{name}"))))
        .concat();
    let gateway = Gateway::start(&[config(&upstream), keys].concat());
    let (alice, bob) = (("authorization", "Bearer key-a"), ("authorization", "Bearer key-b"));
    post(&gateway, &[KEY, alice], &question(false, "")).ok();
    for (path, body) in [
        (CHAT, question(false, r#","temperature":0.5"#)),
        (CHAT, question(false, "").replace("What is here?", "What is there?")),
        (
            MESSAGES,
            r#"{"model":"up/gpt-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#
                .to_owned(),
        ),
    ] {
        let refused = gateway.post(path, &[WRITE, KEY, alice], body.as_bytes());
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(refused.text().contains("was used for another request"), "{}", refused.text());
    }
    assert_eq!((effects(&gateway), upstream.received().len()), (1, 2));
    // Whitespace and the order of members are not significant.
    let spelled = question(false, "")
        .replace(r#""stream":false,"#, "")
        .replace("}]}", r#"}] , "stream": false}"#);
    post(&gateway, &[KEY, alice], &spelled).ok();
    assert_eq!(effects(&gateway), 1);
    post(&gateway, &[KEY, bob], &question(false, "")).ok();
    assert_eq!(effects(&gateway), 2);
}

#[test]
fn without_a_key_only_sdk_headers_mark_a_retry() {
    let count = |count| ("x-stainless-retry-count", count);
    let invocation = |id| ("amz-sdk-invocation-id", id);
    let body = question(false, "");
    let other = question(false, r#","temperature":0.5"#);
    for (what, first, second, again, expected) in [
        ("no mark", vec![], vec![], &body, 2),
        ("an SDK's retry", vec![count("0")], vec![count("1")], &body, 1),
        ("an SDK's second request", vec![count("0")], vec![count("0")], &body, 2),
        ("an SDK's retry of another", vec![count("0")], vec![count("1")], &other, 2),
        ("a call of an AWS SDK", vec![invocation("i-1")], vec![invocation("i-1")], &body, 1),
        ("two calls of an AWS SDK", vec![invocation("i-1")], vec![invocation("i-2")], &body, 2),
    ] {
        let upstream = upstream();
        let gateway = start(&upstream);
        post(&gateway, &first, &body).ok();
        post(&gateway, &second, again).ok();
        assert_eq!(effects(&gateway), expected, "{what}");
    }
}

/// Runs with a key are saved longer than those without.
#[test]
fn a_retry_without_a_key_finds_its_run_although_runs_with_keys_fill_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join(DATA);
    std::fs::create_dir(&data).unwrap();
    let store = ExpiringStore::open(data.join("store.sqlite")).unwrap();
    let limits = Limits { lifetime: Duration::from_hours(24), bytes: 64 << 20, entries: 10_000 };
    for number in 0..limits.entries {
        let name = format!("run {number}");
        let entry = Entry { name, aliases: Vec::new(), value: Vec::new() };
        store.put(&Scope { owner: "open".into(), kind: "run" }, entry, limits, |done| {
            assert_eq!(done, Ok(Outcome::Stored));
        });
    }
    drop(store);
    let failure = Reply::json(503, r#"{"error":{"message":"busy"}}"#);
    let upstream = Upstream::start([writes(0), failure, writes(2), writes(3)]);
    let gateway = Gateway::start_with(folder, &config(&upstream));
    let body = question(false, "");
    assert_eq!(post(&gateway, &[("x-stainless-retry-count", "0")], &body).status, 424);
    post(&gateway, &[("x-stainless-retry-count", "1")], &body).ok();
    assert_eq!((effects(&gateway), upstream.received().len()), (1, 3));
}

#[test]
fn a_retry_waits_for_a_running_attempt() {
    let (word, waits) = std::sync::mpsc::channel();
    let held = Reply::made(move |received| {
        let _said: Result<(), _> = waits.recv();
        write(received, 1)
    });
    let upstream = Upstream::start([writes(0), held, writes(2), writes(3)]);
    let gateway = start(&upstream);
    let headers = [WRITE, KEY];
    let body = question(false, "");
    let first = gateway.ask("POST", CHAT, &headers, body.as_bytes());
    upstream.until_received(2);
    let second = gateway.ask("POST", CHAT, &headers, body.as_bytes());
    word.send(()).unwrap();
    let (first, second) = (first.answer().ok(), second.answer().ok());
    assert_eq!(said(&first, false), said(&second, false));
    assert_eq!((effects(&gateway), upstream.received().len()), (1, 2));
}

#[test]
fn an_equal_request_runs_in_parallel_and_a_retry_belongs_to_the_later_one() {
    let (word, waits) = std::sync::mpsc::channel();
    let held = Reply::made(move |received| {
        let _said: Result<(), _> = waits.recv();
        write(received, 1)
    });
    let upstream = Upstream::start([writes(0), held, writes(2), writes(3), writes(4)]);
    let gateway = start(&upstream);
    let body = question(false, "");
    let ask = |count| {
        let headers = [WRITE, ("x-stainless-retry-count", count)];
        gateway.ask("POST", CHAT, &headers, body.as_bytes())
    };
    let first = ask("0");
    upstream.until_received(2);
    // An intended equal request runs in parallel with the first.
    let second = ask("0").answer().ok();
    assert_eq!((effects(&gateway), upstream.received().len()), (2, 4));
    let retry = ask("1").answer().ok();
    assert_eq!(said(&second, false), said(&retry, false));
    word.send(()).unwrap();
    first.answer().ok();
    assert_eq!((effects(&gateway), upstream.received().len()), (2, 4));
}

#[test]
fn a_retry_of_an_anthropic_stream_resumes_after_a_disconnect() {
    let (feed, second) = Reply::fed("text/event-stream");
    let upstream = Upstream::start([writes(0), second, writes(2)]);
    let gateway = start(&upstream);
    let body = r#"{"model":"up/gpt-x","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let mut asking = gateway.ask("POST", MESSAGES, &[WRITE, KEY], body.as_bytes());
    asking.until("In way 0");
    upstream.until_received(2);
    drop(asking);
    upstream.until_cut(1);
    drop(feed);
    let resumed = gateway.post(MESSAGES, &[WRITE, KEY], body.as_bytes()).ok().text();
    assert!(resumed.contains("In way 0") && resumed.contains("told in way 2"), "{resumed}");
    assert_eq!(resumed.matches("message_stop").count(), 2, "one event, named twice: {resumed}");
    assert_eq!(effects(&gateway), 1);
}

#[test]
fn a_run_without_calls_is_replayed_without_calling_the_model() {
    for stream in [false, true] {
        let say = if stream { streamed } else { whole };
        let upstream = Upstream::start([say("Hello.", &[]), say("Good day.", &[])]);
        let gateway = start(&upstream);
        for _ in 0..2 {
            let answer = post(&gateway, &[KEY], &question(stream, "")).ok();
            assert_eq!(said(&answer, stream), "Hello.");
            assert_eq!(answer.header("toolwright-upstream"), Some("up"));
        }
        assert_eq!(upstream.received().len(), 1);
    }
}
