//! Gemini streams without `alt=sse`: one JSON array that arrives in pieces.

use toolwright_core::Json;

use crate::gateway::vendor::vendor;
use crate::gateway::{Answer, Gateway, Reply, Upstream, at, fixture, items_at, table, text_at};

const JSON: &str = "application/json";

fn address(model: &str) -> String {
    format!("/v1beta/models/{}:streamGenerateContent", model.replace('/', "%2F"))
}

/// The objects of an array.
fn objects(answer: &Answer) -> Vec<Json> {
    assert_eq!(answer.header("content-type"), Some(JSON));
    match Json::parse_bytes(&answer.body) {
        Ok(Json::Array(items)) => items,
        other => panic!("no array: {other:?} {}", answer.text()),
    }
}

/// A vendor's recorded events as an array, as Google formats it.
fn array(events: &[u8]) -> String {
    let events = String::from_utf8(events.to_vec()).unwrap();
    let objects: Vec<&str> = events.lines().filter_map(|own| own.strip_prefix("data: ")).collect();
    format!("[{}\n]\n", objects.join("\n,\r\n"))
}

#[test]
fn a_translated_stream_is_an_array_unless_events_are_requested() {
    let (google, claude) = (vendor("gemini"), vendor("anthropic"));
    let broken = fixture("anthropic/accepted/anthropic_stream_error.txt");
    let upstream = Upstream::start([
        claude.reply(true),
        claude.reply(true),
        Reply::stream(claude.kind, &broken, 40),
        claude.reply(false),
    ]);
    let gateway = Gateway::start(&table("up", claude.id, &upstream));
    let body = google.request(true).body;
    let post = |address: &str| gateway.post(address, &[], body.as_bytes()).ok();
    let answer = post(&address("up/m"));
    let chunks = objects(&answer);
    assert!(answer.text().contains("}\n,\r\n{"), "{}", answer.text());
    let parts = |chunk: &Json| match at(chunk, "/candidates/0/content/parts") {
        Json::Array(parts) => parts,
        _ => Vec::new(),
    };
    let parts: Vec<Json> = chunks.iter().flat_map(parts).collect();
    let calls = parts.iter().filter(|part| part.get("functionCall").is_some());
    let names: Vec<String> = calls.map(|part| text_at(part, "/functionCall/name")).collect();
    assert_eq!(names, ["get_weather", "search_flights"]);
    let last = chunks.last().unwrap();
    assert_eq!(text_at(last, "/candidates/0/finishReason"), "STOP");
    // A client that asks for events receives the same chunks as events.
    let events = post(&(address("up/m") + "?alt=sse"));
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    let plain = |json: &Json| at(json, "/candidates").compact();
    let same: Vec<String> = events.events().iter().map(plain).collect();
    assert_eq!(chunks.iter().map(plain).collect::<Vec<_>>(), same);
    // A stream that breaks off is an array whose last element is the error.
    let chunks = objects(&post(&address("up/m")));
    assert!(chunks.len() > 1);
    assert!(at(chunks.last().unwrap(), "/error/message").as_str().is_some(), "{chunks:?}");
    // An upstream that answers without a stream is accepted as well.
    assert!(!objects(&post(&address("up/m"))).is_empty());
    let chunks = objects(&gateway.post(&address("offline/rules"), &[], body.as_bytes()).ok());
    assert!(at(chunks.last().unwrap(), "/candidates/0/finishReason").as_str().is_some());
}

#[test]
fn a_passed_through_array_is_unchanged_and_summarized() {
    let google = vendor("gemini");
    let whole = array(&google.calls_stream());
    let upstream = Upstream::start([Reply::stream(JSON, whole.as_bytes(), 7)]);
    let gateway = Gateway::start(&table("up", google.id, &upstream));
    let sent = google.request(true);
    let answer = gateway.post(&address("up/m"), &[], sent.body.as_bytes()).ok();
    assert_eq!(answer.text(), whole);
    assert_eq!(upstream.last().path, address("m"));
    let entries = gateway.end();
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert!(entry.untouched && entry.error.is_none(), "{entry:?}");
    assert_eq!(entry.calls, ["get_weather", "search_flights"]);
    assert!(entry.usage.is_some() && entry.stop.is_some(), "{entry:?}");
}

#[test]
fn a_truncated_array_is_reported() {
    let google = vendor("gemini");
    let whole = array(&google.calls_stream());
    let first = whole.split("\n,").next().unwrap();
    let upstream = Upstream::start([Reply::stream(JSON, first.as_bytes(), 9)]);
    let gateway = Gateway::start(&table("up", google.id, &upstream));
    let sent = google.request(true);
    let answer = gateway.post(&address("up/m"), &[], sent.body.as_bytes()).ok();
    assert!(answer.text().starts_with(first), "{}", answer.text());
    let chunks = items_at(&Json::parse_bytes(&answer.body).unwrap(), "");
    assert_eq!(chunks.len(), 2);
    assert!(text_at(&chunks[1], "/error/message").contains("before the answer was complete"));
}
