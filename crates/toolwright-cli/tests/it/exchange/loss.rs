//! Losses of a translation are reported in the header, in the report and in the ledger. Strict
//! requests are refused instead.

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use crate::gateway::vendor::{Recorded, vendor};
use crate::gateway::{Gateway, Reply, Upstream, at, items_at, table, text_at};

/// Two clients.
fn clients() -> String {
    let table =
        |name: &str| format!("[keys.{name}]\nhash = \"{}\"\n", KeyHash::of(&format!("key-{name}")));
    table("alice") + &table("bob")
}

const ALICE: (&str, &str) = ("toolwright-key", "key-alice");
const BOB: (&str, &str) = ("toolwright-key", "key-bob");
const STRICT: (&str, &str) = ("toolwright-strict", "true");

/// A recorded request with a member that only its own vendor supports.
fn lossy(id: &str, stream: bool) -> Recorded {
    let own = vendor(id);
    let mut sent = own.request(stream).with_model(&own, "up/m");
    let more = match id {
        "anthropic" => "\"container\": \"c_1\",",
        "gemini" => "\"labels\": {\"team\": \"a\"},",
        "bedrock" => "\"requestMetadata\": {\"team\": \"a\"},",
        _ => {
            "\"logit_bias\": {\"50256\": -100}, \"prediction\": {\"type\": \"content\", \"content\": \"x\"},"
        }
    };
    sent.body = sent.body.replacen('{', &format!("{{{more}"), 1);
    sent
}

#[test]
fn losses_are_in_the_header_the_report_and_the_ledger() {
    let pairs = [
        ("openai-chat", "anthropic"),
        ("openai-chat", "gemini"),
        ("openai-chat", "ollama"),
        ("anthropic", "openai-chat"),
        ("anthropic", "cohere"),
        ("gemini", "mistral"),
        ("bedrock", "openai-responses"),
        ("deepseek", "bedrock"),
    ];
    for (from, to) in pairs {
        for stream in [false, true] {
            let pair = format!("{from} {to} {stream}");
            let target = vendor(to);
            let upstream = Upstream::start([target.reply(stream)]);
            let gateway = Gateway::start(&(table("up", to, &upstream) + &clients()));
            let sent = lossy(from, stream);
            let answer = gateway.post(&sent.path, &[ALICE], sent.body.as_bytes()).ok();
            let header = answer.header("toolwright-losses").expect(&pair).to_owned();
            let (counts, first) = header.split_once("; first=").expect(&header);
            let (count, major) = counts.split_once("; major=").expect(&header);
            let id = answer.header("toolwright-request-id").unwrap();
            let path = format!("/v1/losses/{id}");
            let report = gateway.get(&path, &[ALICE]).ok().json();
            assert_eq!(text_at(&report, "/request_id"), id);
            assert_eq!(text_at(&report, "/dialect"), from);
            assert_eq!(text_at(&report, "/upstream_dialect"), to);
            let losses = items_at(&report, "/request/losses");
            let back = items_at(&report, "/response/losses");
            // The head of a stream is sent before the reply is complete.
            let told = if stream { losses.len() } else { losses.len() + back.len() };
            assert_eq!(count.parse::<usize>().unwrap(), told, "{pair} {}", report.compact());
            let told: Vec<&Json> = losses.iter().chain(back.iter().filter(|_| !stream)).collect();
            let grave = |severity: &str| {
                told.iter().filter(|loss| text_at(loss, "/severity") == severity).count()
            };
            assert_eq!(major.parse::<usize>().unwrap(), grave("major"), "{pair}");
            let gravest = ["major", "minor", "note"].into_iter().find(|word| grave(word) > 0);
            let gravest = told.iter().find(|loss| Some(&*text_at(loss, "/severity")) == gravest);
            assert_eq!(text_at(gravest.unwrap(), "/path"), first, "{pair}");
            for loss in losses.iter().chain(&back) {
                for word in ["/what", "/why", "/severity"] {
                    assert!(!text_at(loss, word).is_empty(), "{pair}");
                }
            }
            assert_eq!(gateway.get(&path, &[BOB]).status, 404, "{pair}");
            assert_eq!(gateway.get(&path, &[]).status, 401, "{pair}");
            let entries = gateway.end();
            assert_eq!(entries.len(), 1, "{pair}");
            assert_eq!(&*entries[0].run, id);
            assert_eq!(
                (entries[0].losses.len(), entries[0].response_losses.len()),
                (losses.len(), back.len())
            );
            assert_eq!(&*entries[0].caller.id, "alice");
            assert_eq!(entries[0].calls, ["get_weather", "search_flights"], "{pair}");
        }
    }
}

#[test]
fn a_strict_request_is_refused_before_any_upstream_is_called() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&table("up", "cohere", &upstream));
    for (id, pointer, word) in [
        ("openai-chat", "/error/type", "invalid_request_error"),
        ("anthropic", "/error/type", "invalid_request_error"),
        ("gemini", "/error/status", "INVALID_ARGUMENT"),
    ] {
        for stream in [false, true] {
            let sent = lossy(id, stream);
            let answer = gateway.post(&sent.path, &[STRICT], sent.body.as_bytes());
            assert_eq!(answer.status, 400, "{id} {}", answer.text());
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(text_at(&answer.json(), pointer), word, "{}", answer.text());
        }
    }
    assert_eq!(upstream.received().len(), 0);
}

/// A request that every dialect can express, so that only the reply has losses.
const PLAIN: &str = r#"{"model":"up/m","messages":[{"role":"user","content":"hi"}],"max_tokens":9,"max_completion_tokens":9}"#;

#[test]
fn a_strict_stream_ends_with_a_fault_in_its_own_dialect() {
    let own = vendor("anthropic");
    // Both for a stream in chunks and for one that arrives at once.
    let at_once = Reply::stream(own.kind, &own.calls_stream(), usize::MAX);
    let upstream = Upstream::start([own.reply(true), at_once, own.reply(false), own.reply(true)]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    let plain = PLAIN.replace("\"max_tokens\":9,", "");
    let streamed = plain.replacen('{', "{\"stream\":true,", 1);
    for _ in 0..2 {
        let answer = gateway.post("/v1/chat/completions", &[STRICT], streamed.as_bytes()).ok();
        let (last, text) = (answer.events().pop().unwrap(), answer.text());
        assert!(text_at(&last, "/error/message").contains("toolwright-strict"), "{text}");
        assert!(!text.contains("finish_reason\":\"tool_calls"), "{text}");
    }
    let answer = gateway.post("/v1/chat/completions", &[STRICT], plain.as_bytes());
    assert_eq!(answer.status, 400, "{}", answer.text());
    // Without `strict`, the whole reply arrives, with its losses.
    let answer = gateway.post("/v1/chat/completions", &[], streamed.as_bytes()).ok();
    assert!(answer.text().contains("finish_reason\":\"tool_calls"), "{}", answer.text());
    let id = answer.header("toolwright-request-id").unwrap();
    let report = gateway.get(&format!("/v1/losses/{id}"), &[]).ok().json();
    assert_ne!(at(&report, "/response/losses/0"), Json::Null, "{}", report.compact());
}

#[test]
fn a_strict_request_goes_to_the_first_candidate_without_losses() {
    let lossless = vendor("openai-chat");
    for stream in [false, true] {
        let claude = Upstream::start([]);
        let gpt = Upstream::start([lossless.reply(stream)]);
        let tables = [
            table("claude", "anthropic", &claude),
            table("gem", "gemini", &claude),
            table("gpt", "openai-chat", &gpt),
            "[models]\nany = [\"claude/a\", \"gem/b\", \"gpt/c\"]\n".to_owned(),
            "none = [\"claude/a\", \"gem/b\"]\n".to_owned(),
        ];
        let gateway = Gateway::start(&tables.concat());
        let ask = |model: &str| {
            let sent = lossy("openai-chat", stream);
            let body = sent.body.replacen("up/m", model, 1);
            gateway.post(&sent.path, &[STRICT], body.as_bytes())
        };
        let answer = ask("any").ok();
        assert_eq!(answer.header("toolwright-upstream"), Some("gpt"));
        assert_eq!(answer.header("toolwright-losses"), None);
        assert_eq!(text_at(&gpt.last().json(), "/model"), "c");
        // If no candidate can serve it, the request is refused, and no upstream is called.
        let refused = ask("none");
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains("would be lost"), "{}", refused.text());
        // If a suitable candidate failed, the client receives its error.
        let failed = ask("any");
        assert_eq!(failed.status, 500, "{}", failed.text());
        assert!(claude.received().is_empty());
    }
}

#[test]
fn a_request_that_depends_on_a_hosted_tool_is_refused_in_the_clients_dialect() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&table("mine", "mistral", &upstream));
    let body = r#"{"model":"mine/m","input":"x","tools":[{"type":"web_search"}],"tool_choice":"required"}"#;
    let answer = gateway.ask_json("/v1/responses", body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(text_at(&answer.json(), "/error/param"), "/tools/0");
    assert!(text_at(&answer.json(), "/error/message").contains("web_search"), "{}", answer.text());
    assert!(upstream.received().is_empty());
}
