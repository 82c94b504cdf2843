//! Requests that are wrong or mean, and upstreams that are: each gets the right fault, in the
//! caller's dialect, and nobody else notices.

mod answer;
mod flood;
mod name;
mod request;
mod stream;
mod weight;

use crate::gateway::vendor::{VENDORS, Vendor};
use crate::gateway::{Answer, Gateway, Upstream, table, text_at};

/// A gateway with one upstream for two dialects, so that every client meets one of another's and
/// some meet their own.
fn gateway(upstream: &Upstream, more: &str) -> Gateway {
    let tables = ["anthropic", "openai-chat"].map(|id| table(id, id, upstream) + more);
    Gateway::start(&tables.concat())
}

/// Asks as a vendor's SDK does, for a model of another.
fn ask(gateway: &Gateway, client: &Vendor, stream: bool, model: &str) -> Answer {
    let sent = client.request(stream).with_model(client, model);
    gateway.post(&sent.path, &[], sent.body.as_bytes())
}

/// What a fault says, in the place where the dialect's SDK looks for it.
fn fault(client: &Vendor, answer: &Answer) -> String {
    assert!(answer.complete, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"), "{}", client.id);
    let body = answer.json();
    match client.id {
        "bedrock" => {
            assert!(answer.header("x-amzn-errortype").is_some());
            text_at(&body, "/message")
        }
        "anthropic" => {
            assert_eq!(text_at(&body, "/type"), "error");
            text_at(&body, "/error/message")
        }
        "gemini" => {
            assert!(!text_at(&body, "/error/status").is_empty());
            text_at(&body, "/error/message")
        }
        "ollama" => text_at(&body, "/error"),
        "mistral" | "cohere" => text_at(&body, "/message"),
        _ => text_at(&body, "/error/message"),
    }
}

/// How the fault at the end of a stream begins, in each dialect.
fn mark(client: &Vendor) -> &'static str {
    match client.id {
        "openai-responses" | "anthropic" => "event: error",
        "bedrock" => ":exception-type",
        "ollama" => "{\"error\":",
        "mistral" => "\"object\":\"error\"",
        "cohere" => "\"finish_reason\":\"ERROR\"",
        _ => "data: {\"error\":",
    }
}

/// Checks that a stream ends, and does so with a fault that says something.
fn assert_ends_with_fault(client: &Vendor, answer: &Answer, says: &str) {
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{}: {text}", client.id);
    assert!(answer.complete, "{}: {text}", client.id);
    assert_eq!(answer.header("content-type"), Some(client.kind));
    // One that has begun has an event for its failure; before that there is nothing to fail.
    let failed = text.find("event: response.failed").filter(|_| client.id == "openai-responses");
    let Some(at) = failed.or_else(|| text.find(mark(client))) else {
        panic!("{}: {text}", client.id)
    };
    assert!(text[at..].contains(says), "{}: {text}", client.id);
}

/// Checks that the gateway is well: it answers somebody else.
fn assert_well(gateway: &Gateway) {
    for client in &VENDORS {
        ask(gateway, client, false, "offline/rules").ok();
    }
}
