//! Routing of model names, and fallbacks.

use std::time::{Duration, Instant};

use toolwright_core::Json;

use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Gateway, Reply, Upstream, at, fixture, table, text_at};

/// An address without a listener.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A request in OpenAI's dialect.
fn chat(model: &str) -> String {
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]}}"#)
}

#[test]
fn an_unknown_model_is_not_found_in_every_dialects_format() {
    let gateway = Gateway::start("");
    for vendor in VENDORS {
        for stream in [false, true] {
            let sent = vendor.request(stream).with_model(&vendor, "nowhere/model");
            let answer = gateway.post(&sent.path, &[], sent.body.as_bytes());
            let (document, text) = (answer.json(), answer.text());
            assert_eq!(answer.status, 404, "{} {text}", vendor.id);
            assert!(text.contains("no upstream 'nowhere'"), "{text}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            let (pointer, value) = match vendor.id {
                "openai-chat" | "openai-responses" | "deepseek" => {
                    ("/error/code", "model_not_found")
                }
                "anthropic" => ("/error/type", "not_found_error"),
                "gemini" => ("/error/status", "NOT_FOUND"),
                "mistral" => ("/object", "error"),
                "bedrock" => {
                    let kind = answer.header("x-amzn-errortype").unwrap();
                    assert!(kind.starts_with("ResourceNotFoundException"), "{kind}");
                    continue;
                }
                "ollama" => {
                    text_at(&document, "/error");
                    continue;
                }
                _ => {
                    text_at(&document, "/message");
                    continue;
                }
            };
            assert_eq!(text_at(&document, pointer), value, "{text}");
        }
    }
}

#[test]
fn a_nested_member_named_model_is_ignored() {
    let names = ["openai", "anthropic"];
    let dialect = |name: &'static str| if name == "openai" { "openai-chat" } else { name };
    let upstreams =
        names.map(|name| Upstream::start((0..2).map(|_| vendor(dialect(name)).final_reply(false))));
    let tables = names.iter().zip(&upstreams).map(|(name, up)| table(name, dialect(name), up));
    let gateway = Gateway::start(&tables.collect::<String>());
    // Larger and smaller than what is read without counting against the memory budget.
    for text in ["hi".to_owned(), "hi ".repeat(40_000)] {
        for (named, nested) in [(0, 1), (1, 0)] {
            let body = format!(
                r#"{{"metadata":{{"model":"{}/m"}},"messages":[{{"role":"user","content":"{text}"}}],"model":"{}/m"}}"#,
                names[nested], names[named],
            );
            let answer = gateway.ask_json("/v1/chat/completions", &body).ok();
            assert_eq!(answer.header("toolwright-upstream"), Some(names[named]));
            assert!(upstreams[named].last().text().contains(&text));
        }
    }
}

#[test]
fn a_bare_model_id_routes_to_its_vendor() {
    let names = ["openai", "anthropic", "gemini", "deepseek", "mistral", "cohere", "bedrock"];
    let dialect = |name: &'static str| if name == "openai" { "openai-chat" } else { name };
    let upstreams = names.map(|name| Upstream::start([vendor(dialect(name)).final_reply(false)]));
    let tables = names.iter().zip(&upstreams).map(|(name, up)| table(name, dialect(name), up));
    let gateway = Gateway::start(&tables.collect::<String>());
    let models = [
        "gpt-6-astra",
        "claude-opus-5",
        "gemini-3.8-flash",
        "deepseek-chat",
        "mistral-large-latest",
        "command-a-03-2025",
        "us.anthropic.claude-opus-5-v1:0",
    ];
    for ((name, upstream), model) in names.iter().zip(&upstreams).zip(models) {
        let answer = gateway.ask_json("/v1/chat/completions", &chat(model)).ok();
        assert_eq!(answer.header("toolwright-upstream"), Some(*name));
        assert_eq!(upstream.received().len(), 1, "{name}");
    }
}

#[test]
fn a_model_in_a_path_may_be_percent_encoded() {
    let own = vendor("bedrock");
    let upstream = Upstream::start((0..4).map(|_| own.reply(false)));
    let gateway = Gateway::start(&table("aws", "bedrock", &upstream));
    let sent = own.request(false);
    for model in [
        "aws/anthropic.claude-opus-5-v1:0",
        "aws%2Fanthropic.claude-opus-5-v1%3A0",
        "aws/anthropic.claude-opus-5-v1%3A0",
        "aws%2fanthropic.claude-opus-5-v1%3a0",
    ] {
        let path = format!("/model/{model}/converse");
        gateway.post(&path, &[], sent.body.as_bytes()).ok();
        let received = upstream.last();
        assert_eq!(received.path, "/model/anthropic.claude-opus-5-v1%3A0/converse");
        assert_eq!(received.text(), sent.body);
    }
}

#[test]
fn an_alias_replaces_only_the_model_name() {
    let own = vendor("openai-chat");
    let upstream = Upstream::start([own.reply(false)]);
    let config =
        format!("[models]\nfast = [\"gpt/gpt-6-astra\"]\n{}", table("gpt", own.id, &upstream));
    let gateway = Gateway::start(&config);
    // A body with unusual formatting.
    let before = "\n{ \"messages\" :[{\"content\":\"\\u0068\\/\",\"role\":\"user\"}],\t\"seed\":0.10e1,\"model\"  :  ";
    let after = " ,\"x\":{\"model\":\"fast\"},\"seed\":1E400 }\n ";
    let answer =
        gateway.ask_json("/v1/chat/completions", &format!("{before}\"\\u0066ast\"{after}"));
    assert_eq!(answer.ok().body, own.calls());
    assert_eq!(upstream.last().text(), format!("{before}\"gpt-6-astra\"{after}"));
}

#[test]
fn fallbacks_are_tried_in_order_until_one_answers() {
    let limited = fixture("anthropic/accepted/anthropic_error_429.json");
    let first = Upstream::start([Reply::json(429, limited).with("retry-after", "600")]);
    let second = Upstream::start([Reply::json(500, "oops"), Reply::json(503, "")]);
    let third = Upstream::start([
        Reply::Raw(Vec::new()),
        Reply::Whole {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: b"<html>login</html>".to_vec(),
        },
    ]);
    let last = Upstream::start([]);
    last.then(vendor("gemini").final_reply(false));
    last.then(vendor("gemini").final_reply(true));
    let gone = nobody();
    let config = format!(
        "[models]\nsafe = [\"first/a\", \"gone/b\", \"second/c\", \"third/d\", \"last/e\", \"offline/rules\"]\n\
         [upstreams.gone]\ndialect = \"mistral\"\nbase_url = \"{gone}\"\nretries = 0\n{}{}{}{}",
        table("first", "anthropic", &first),
        table("second", "openai-chat", &second),
        table("third", "cohere", &third),
        table("last", "gemini", &last),
    );
    let gateway = Gateway::start(&config);
    let answer = gateway.ask_json("/v1/chat/completions", &chat("safe")).ok();
    assert_eq!(answer.header("toolwright-upstream"), Some("last"));
    let asked = [&first, &second, &third, &last].map(|upstream| upstream.received().len());
    assert_eq!(asked, [1, 1, 1, 1]);
    assert_eq!(at(&second.last().json(), "/model"), Json::from("c"));
    // The same with a stream, whose head is sent early.
    let streamed = chat("safe").replacen('{', "{\"stream\":true,", 1);
    let answer = gateway.ask_json("/v1/chat/completions", &streamed).ok();
    assert_eq!(answer.header("toolwright-upstream"), Some("last"));
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
}

#[test]
fn an_unreadable_reply_falls_back_and_losses_are_those_of_the_last_candidate() {
    let (own, cut) = (vendor("openai-chat"), vendor("anthropic").calls());
    let head = format!(
        "HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        cut.len()
    );
    let first = Upstream::start([Reply::Raw([head.as_bytes(), &cut[..cut.len() / 2]].concat())]);
    let second = Upstream::start([Reply::json(200, r#"{"error":{"message":"no"}}"#)]);
    let last = Upstream::start([own.reply(false)]);
    let config = format!(
        "[models]\nsafe = [\"first/a\", \"second/b\", \"last/gpt-6-astra\"]\n{}{}{}",
        table("first", "anthropic", &first),
        table("second", "gemini", &second),
        table("last", own.id, &last),
    );
    let gateway = Gateway::start(&config);
    let body = chat("safe").replacen('{', "{\"logit_bias\":{\"1\":1},", 1);
    let answer = gateway.ask_json("/v1/chat/completions", &body).ok();
    assert_eq!(answer.header("toolwright-upstream"), Some("last"));
    assert_eq!(answer.header("toolwright-losses"), None, "the others lost something, not the last");
    assert_eq!(answer.body, own.calls());
    let entries = gateway.end();
    assert!(entries[0].untouched && entries[0].losses.is_empty());
    let failed: Vec<bool> = entries[0].attempts.iter().map(|one| one.error.is_some()).collect();
    assert_eq!(failed, [true, true, false]);
}

#[test]
fn if_no_candidate_answers_the_last_error_is_returned() {
    let gone = nobody();
    let limited = fixture("gemini/accepted/gemini_error_429.json");
    let upstream = Upstream::start([Reply::json(429, limited)]);
    let config = format!(
        "[models]\nsafe = [\"gone/b\", \"google/e\"]\n\
         [upstreams.gone]\ndialect = \"mistral\"\nbase_url = \"{gone}\"\nretries = 0\n{}",
        table("google", "gemini", &upstream),
    );
    let gateway = Gateway::start(&config);
    let answer = gateway.ask_json("/v1/chat/completions", &chat("safe"));
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after"), Some("17"));
    assert_eq!(answer.header("toolwright-upstream"), Some("google"));
    assert!(answer.text().contains("exceeded your current quota"), "{}", answer.text());
}

#[test]
fn an_invalid_request_has_no_fallback() {
    let (status, body) = vendor("anthropic").fault();
    let first = Upstream::start([Reply::json(status, body)]);
    let second = Upstream::start([]);
    let config = format!(
        "[models]\nsafe = [\"first/a\", \"second/b\"]\n{}{}",
        table("first", "anthropic", &first),
        table("second", "gemini", &second),
    );
    let gateway = Gateway::start(&config);
    let answer = gateway.ask_json("/v1/chat/completions", &chat("safe"));
    assert_eq!(answer.status, 400);
    assert_eq!(text_at(&answer.json(), "/error/type"), "invalid_request_error");
    assert_eq!((first.received().len(), second.received().len()), (1, 0));
}

#[test]
fn transient_errors_are_retried_after_the_vendors_delay() {
    let own = vendor("openai-chat");
    let limited = fixture("openai-chat/accepted/openai_error_429.json");
    let limited = |after: &str| Reply::json(429, limited.clone()).with("retry-after", after);
    let upstream = Upstream::start([limited("1"), own.reply(false), limited("3600")]);
    let config = table("gpt", own.id, &upstream).replace("retries = 0", "retries = 2");
    let gateway = Gateway::start(&config);
    let began = Instant::now();
    let answer = gateway.ask_json("/v1/chat/completions", &chat("gpt/m")).ok();
    assert!(began.elapsed() >= Duration::from_secs(1), "earlier than the vendor said");
    assert_eq!(answer.body, own.calls());
    assert_eq!(upstream.received().len(), 2);
    // The gateway does not wait for an hour; it returns the error.
    let answer = gateway.ask_json("/v1/chat/completions", &chat("gpt/m"));
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("3600")));
    assert_eq!(upstream.received().len(), 3);
}

#[test]
fn nothing_is_retried_after_the_first_byte() {
    let own = vendor("anthropic");
    let stream = own.calls_stream();
    let head = "HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let part = &stream[..stream.len() / 2];
    let chunk = format!("{:x}\r\n{}\r\n", part.len(), String::from_utf8_lossy(part));
    let broken = || Reply::Raw([head, &chunk].concat().into_bytes());
    let upstream = Upstream::start([broken(), broken(), own.reply(true), own.reply(true)]);
    let config = table("claude", own.id, &upstream).replace("retries = 0", "retries = 2");
    let gateway = Gateway::start(&config);
    let streamed = chat("claude/m").replacen('{', "{\"stream\":true,", 1);
    let answer = gateway.ask_json("/v1/chat/completions", &streamed).ok();
    let last = answer.events().pop().unwrap();
    assert!(at(&last, "/error/message").as_str().is_some(), "{}", answer.text());
    assert!(!answer.text().contains("\"finish_reason\":\"tool_calls\""), "{}", answer.text());
    assert_eq!(upstream.received().len(), 1);
    // The same for a passthrough: bytes that were sent stay sent.
    let sent = own.request(true).with_model(&own, "claude/m");
    let answer = gateway.post(&sent.path, &[], sent.body.as_bytes());
    assert!(answer.body.starts_with(part), "{}", answer.text());
    assert!(!answer.text().contains("message_stop"));
    assert_eq!(upstream.received().len(), 2);
}

#[test]
fn an_upstream_is_reached_through_its_proxy() {
    let own = vendor("openai-chat");
    // It accepts forwarded requests as a proxy does, and answers them itself.
    let proxy = Upstream::start([own.final_reply(false)]);
    let through = |proxy: &str| {
        format!(
            "[upstreams.up]\ndialect = \"openai-chat\"\nbase_url = \"http://api.test/v1\"\n\
             key = \"env:UPSTREAM_KEY\"\nretries = 0\nproxy = \"{proxy}\"\n"
        )
    };
    let sent = own.request(false).with_model(&own, "up/gpt-6-astra");
    let gateway = Gateway::start(&through(&proxy.url()));
    gateway.post(&sent.path, &[], sent.body.as_bytes()).ok();
    let received = proxy.last();
    assert_eq!(received.path, "http://api.test/v1/chat/completions");
    assert_eq!(received.header("host"), Some("api.test"));
    let gateway = Gateway::start(&through("none"));
    let answer = gateway.post(&sent.path, &[], sent.body.as_bytes());
    assert_eq!(answer.status, 502);
    assert_eq!(proxy.received().len(), 1);
}

/// The configuration of an upstream wins over the dialect and the model, even where bytes would
/// otherwise pass unchanged.
#[test]
fn an_upstream_does_not_receive_dropped_settings_and_has_its_own_limit() {
    let own = vendor("openai-chat");
    let upstream = Upstream::start([own.final_reply(false), own.final_reply(false)]);
    let settings = "max_tokens = 7000\ndrop = [\"temperature\", \"reasoning\"]\n";
    let gateway = Gateway::start(&(table("mine", "openai-chat", &upstream) + settings));
    let body = r#"{"model":"mine/m","messages":[{"role":"user","content":"x"}],"temperature":0.5,"reasoning_effort":"high","top_p":0.9}"#;
    let answer = gateway.ask_json("/v1/chat/completions", body).ok();
    assert!(answer.header("toolwright-losses").is_some_and(|losses| losses.starts_with('2')));
    let received = upstream.last().json();
    assert!(received.get("temperature").is_none() && received.get("reasoning_effort").is_none());
    assert_eq!(at(&received, "/top_p").compact(), "0.9");
    assert_eq!(at(&received, "/max_completion_tokens").as_u64(), Some(7000));
    // A limit that the client sets stays.
    let body = r#"{"model":"mine/m","messages":[{"role":"user","content":"x"}],"max_tokens":9}"#;
    gateway.ask_json("/v1/chat/completions", body).ok();
    assert_eq!(at(&upstream.last().json(), "/max_tokens").as_u64(), Some(9));
}

#[test]
fn an_alias_sets_the_limit_of_its_targets() {
    let own = vendor("anthropic");
    let upstream = Upstream::start((0..4).map(|_| own.final_reply(false)));
    let settings = "max_tokens = 7000\n[models]\nshort = { use = [\"mine/claude-sonnet-4-5\"], max_tokens = 50 }\nouter = { use = \"short\", max_tokens = 60 }\nplain = \"mine/m\"\n";
    let gateway = Gateway::start(&(table("mine", "anthropic", &upstream) + settings));
    for (model, limit) in [("short", 50), ("outer", 60), ("plain", 7000)] {
        gateway.ask_json("/v1/chat/completions", &chat(model)).ok();
        assert_eq!(at(&upstream.last().json(), "/max_tokens").as_u64(), Some(limit), "{model}");
    }
}
