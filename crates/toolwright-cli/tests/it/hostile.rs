//! Invalid or malicious requests and upstreams: each gets the right fault, in the caller's dialect,
//! and no one else is affected.

mod answer;
mod bodies;
mod flood;
mod name;
mod plans;
mod request;
mod stream;
mod weight;

use crate::gateway::vendor::{VENDORS, Vendor};
use crate::gateway::{Answer, Gateway, Upstream, table, text_at};

/// A gateway with one upstream in two dialects, so that every client meets a foreign dialect, and
/// some meet their own.
fn gateway(upstream: &Upstream, more: &str) -> Gateway {
    let tables = ["anthropic", "openai-chat"].map(|id| table(id, id, upstream) + more);
    Gateway::start(&tables.concat())
}

/// Sends a request as a vendor's SDK does, for a model of another vendor.
fn ask(gateway: &Gateway, client: &Vendor, stream: bool, model: &str) -> Answer {
    let sent = client.request(stream).with_model(client, model);
    gateway.post(&sent.path, &[], sent.body.as_bytes())
}

/// The message of a fault, where the dialect's SDK looks for it.
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

/// Asserts that a stream ends, with a fault that has a message.
fn assert_ends_with_fault(client: &Vendor, answer: &Answer, says: &str) {
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{}: {text}", client.id);
    assert!(answer.complete, "{}: {text}", client.id);
    assert_eq!(answer.header("content-type"), Some(client.kind));
    // A started response has a failure event; before that there is only an error event.
    let failed = text.find("event: response.failed").filter(|_| client.id == "openai-responses");
    let Some(at) = failed.or_else(|| text.find(mark(client))) else {
        panic!("{}: {text}", client.id)
    };
    assert!(text[at..].contains(says), "{}: {text}", client.id);
}

/// Asserts that the gateway still answers another client.
fn assert_well(gateway: &Gateway) {
    for client in &VENDORS {
        ask(gateway, client, false, "offline/rules").ok();
    }
}
