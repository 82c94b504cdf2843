//! Authentication and authorization: keys, allowed models, limits. Errors are in every dialect's
//! own format.

use std::sync::atomic::{AtomicUsize, Ordering};

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Answer, Gateway, Received, Reply, Upstream, at, table, text_at, until};

/// A client's table for the configuration, whose key is `key-{name}`.
fn client(name: &str, more: &str) -> String {
    format!("[keys.{name}]\nhash = \"{}\"\n{more}\n", KeyHash::of(&format!("key-{name}")))
}

/// The error type of a dialect, where its SDK looks for it.
fn word(id: &str, answer: &Answer) -> Option<String> {
    let document = answer.json();
    let text = |pointer: &str| at(&document, pointer).as_str().map(str::to_owned);
    match id {
        "openai-chat" | "openai-responses" | "deepseek" | "anthropic" => text("/error/type"),
        "gemini" => text("/error/status"),
        "bedrock" => answer.header("x-amzn-errortype").map(str::to_owned),
        "mistral" => text("/type"),
        _ => None,
    }
}

#[test]
fn a_wrong_or_missing_key_is_refused_in_every_dialects_format() {
    let gateway = Gateway::start(&client("alice", ""));
    for vendor in VENDORS {
        let sent = vendor.request(false).with_model(&vendor, "offline/rules");
        for headers in [&[][..], &[("authorization", "Bearer wrong")], &[("x-api-key", "wrong")]] {
            let answer = gateway.post(&sent.path, headers, sent.body.as_bytes());
            let expected = if vendor.id == "bedrock" { 403 } else { 401 };
            assert_eq!(answer.status, expected, "{} {}", vendor.id, answer.text());
            let expected = match vendor.id {
                "openai-chat" | "openai-responses" | "deepseek" | "anthropic" => {
                    "authentication_error"
                }
                "gemini" => "UNAUTHENTICATED",
                _ => continue,
            };
            assert_eq!(word(vendor.id, &answer).as_deref(), Some(expected), "{}", answer.text());
        }
        let ways = [
            ("authorization", "Bearer key-alice"),
            ("x-api-key", "key-alice"),
            ("x-goog-api-key", "key-alice"),
            ("toolwright-key", "key-alice"),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=key-alice/20261115/r/bedrock/aws4_request, SignedHeaders=host, Signature=0",
            ),
        ];
        for way in ways {
            gateway.post(&sent.path, &[way], sent.body.as_bytes()).ok();
        }
        let join = if sent.path.contains('?') { '&' } else { '?' };
        gateway.post(&format!("{}{join}key=key-alice", sent.path), &[], sent.body.as_bytes()).ok();
    }
    for path in ["/v1/models", "/metrics", "/v1/losses/req_6p4z7p9z0arsgjgscmsww8cepx"] {
        assert_eq!(gateway.get(path, &[]).status, 401, "{path}");
    }
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(gateway.get(path, &[]).status, 200, "{path}");
    }
}

#[test]
fn a_model_that_is_not_allowed_is_forbidden_and_not_listed() {
    let up = Upstream::start([]);
    let tables = format!(
        "[models]\nfast = [\"offline/rules\"]\nslow = [\"up/m\"]\n{}{}",
        table("up", "openai-chat", &up),
        client("alice", "models = [\"fast\"]")
    );
    let gateway = Gateway::start(&tables);
    let key = [("authorization", "Bearer key-alice")];
    for vendor in VENDORS {
        for model in ["slow", "up/m", "offline/rules"] {
            let sent = vendor.request(false).with_model(&vendor, model);
            let answer = gateway.post(&sent.path, &key, sent.body.as_bytes());
            assert_eq!(answer.status, 403, "{} {model} {}", vendor.id, answer.text());
        }
        let sent = vendor.request(false).with_model(&vendor, "fast");
        gateway.post(&sent.path, &key, sent.body.as_bytes()).ok();
    }
    assert_eq!(up.received().len(), 0);
    let listed = gateway.get("/v1/models", &key).json();
    assert_eq!(at(&listed, "/data/0/id"), Json::from("fast"));
    assert_eq!(at(&listed, "/data/1"), Json::Null);
}

#[test]
fn a_body_cannot_name_a_model_that_is_not_allowed_in_another_way() {
    let up = Upstream::start([]);
    let tables = format!(
        "{}{}{}",
        table("up", "openai-chat", &up),
        client("alice", "models = [\"up/m\"]"),
        client("bob", "")
    );
    let gateway = Gateway::start(&tables);
    let ask = |key: &str, members: &str| {
        let body = format!(r#"{{{members},"messages":[{{"role":"user","content":"hi"}}]}}"#);
        gateway.post("/v1/chat/completions", &[("toolwright-key", key)], body.as_bytes())
    };
    for members in [
        r#""model":"up/m","Model":"gpt-x""#,
        r#""MODEL":"gpt-x","model":"up/m""#,
        r#""model":"gpt-x","model":"up/m""#,
        r#""model":"up/m","model":"up/m""#,
        r#""mod\u0065l":"gpt-x","model":"up/m""#,
        r#""model":"up/m","models":["gpt-x"]"#,
        r#""model":"up/m","Models":["gpt-x"]"#,
        r#""model":"up/m","model\u017f":["gpt-x"]"#,
        r#""model":"up/m","fallbacks":["gpt-x"]"#,
    ] {
        let answer = ask("key-alice", members);
        assert_eq!(answer.status, 403, "{members}: {}", answer.text());
    }
    assert_eq!(up.received().len(), 0);
    let own = vendor("openai-chat");
    up.then(own.reply(false));
    ask("key-alice", r#""model":"up/m""#).ok();
    up.then(own.reply(false));
    ask("key-bob", r#""model":"up/m","models":["gpt-x"]"#).ok();
}

#[test]
fn a_body_cannot_name_another_model_than_its_path() {
    let up = Upstream::start([]);
    let tables = table("up", "gemini", &up) + &client("alice", "models = [\"up/m\"]");
    let gateway = Gateway::start(&tables);
    let key = [("toolwright-key", "key-alice")];
    let path = "/v1beta/models/up%2Fm:generateContent";
    let body = r#"{"model":"models/secret","contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
    assert_eq!(gateway.post(path, &key, body.as_bytes()).status, 403);
    assert_eq!(up.received().len(), 0);
}

#[test]
fn too_many_requests_are_refused_with_a_retry_delay() {
    let limits = VENDORS.map(|vendor| client(vendor.id, "requests_per_minute = 1"));
    let gateway = Gateway::start(&limits.concat());
    for vendor in VENDORS {
        let sent = vendor.request(false).with_model(&vendor, "offline/rules");
        let key = format!("key-{}", vendor.id);
        let key = [("toolwright-key", key.as_str())];
        gateway.post(&sent.path, &key, sent.body.as_bytes()).ok();
        let answer = gateway.post(&sent.path, &key, sent.body.as_bytes());
        assert_eq!(answer.status, 429, "{}", answer.text());
        let after: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&after), "{after}");
        let expected = match vendor.id {
            "anthropic" => "rate_limit_error",
            "gemini" => "RESOURCE_EXHAUSTED",
            "bedrock" => "ThrottlingException",
            _ => continue,
        };
        assert_eq!(word(vendor.id, &answer).as_deref(), Some(expected), "{}", answer.text());
    }
}

#[test]
fn tokens_are_charged_by_the_reported_usage_whole_and_streamed() {
    for (dialect, stream) in
        [("openai-chat", false), ("openai-chat", true), ("anthropic", false), ("anthropic", true)]
    {
        let own = vendor(dialect);
        let up = Upstream::start([own.final_reply(stream), own.final_reply(stream)]);
        let tables = table("up", dialect, &up) + &client("alice", "tokens_per_minute = 100");
        let gateway = Gateway::start(&tables);
        let key = [("authorization", "Bearer key-alice")];
        let body = format!(
            r#"{{"model":"up/m","stream":{stream},"max_tokens":9,"messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        gateway.post("/v1/messages", &key, body.as_bytes()).ok();
        let answer = gateway.post("/v1/messages", &key, body.as_bytes());
        assert_eq!(answer.status, 429, "{dialect} {stream} {}", answer.text());
        assert!(text_at(&answer.json(), "/error/message").contains("100 tokens per minute"));
        assert_eq!(up.received().len(), 1);
    }
}

#[test]
fn a_clients_credential_is_forwarded_if_configured_and_the_gateway_key_never() {
    let own = vendor("anthropic");
    let up = Upstream::start([own.reply(false), own.reply(false)]);
    let config = table("up", "anthropic", &up).replace("env:UPSTREAM_KEY", "client")
        + &client("alice", "")
        + &client("bob", "");
    let gateway = Gateway::start(&config);
    let sent = own.request(false).with_model(&own, "up/m");
    let headers = [("toolwright-key", "key-alice"), ("x-api-key", "sk-ant-own")];
    gateway.post(&sent.path, &headers, sent.body.as_bytes()).ok();
    assert_eq!(up.last().header("x-api-key"), Some("sk-ant-own"));
    assert!(!up.last().everything().contains("key-alice"));
    // A gateway key in the position of a vendor's key is not forwarded as a credential.
    for headers in [
        &[("x-api-key", "key-alice")][..],
        &[("authorization", "Bearer key-alice"), ("x-api-key", "key-alice")],
        &[("toolwright-key", "key-alice"), ("authorization", "Bearer key-bob")],
        &[("x-api-key", "key-alice"), ("api-key", "key-alice")],
        &[
            ("x-api-key", "key-alice"),
            ("user-agent", "me/key-alice"),
            ("idempotency-key", "key-bob"),
        ],
    ] {
        up.then(own.reply(false));
        gateway.post(&sent.path, headers, sent.body.as_bytes());
        let path = format!("{}?key=key-alice&k=key%2Dbob", sent.path);
        gateway.post(&path, headers, sent.body.as_bytes());
    }
    let leaked = |one: &Received| {
        let all = one.everything();
        all.contains("key-alice") || all.contains("key-bob") || all.contains("key%2Dbob")
    };
    assert!(!up.received().iter().any(leaked), "{:?}", up.received());
}

const ALICE: [(&str, &str); 1] = [("authorization", "Bearer key-alice")];

/// A request of a client of Chat Completions or of Anthropic.
fn hello(stream: bool, more: &str) -> String {
    format!(
        r#"{{"model":"up/m","stream":{stream}{more},"messages":[{{"role":"user","content":"hi"}}]}}"#
    )
}

#[test]
fn a_hundred_concurrent_requests_stay_within_the_limit() {
    let used = r#"{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[
        {"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":90,"total_tokens":100}}"#;
    let (words, replies): (Vec<_>, Vec<_>) =
        (0..100).map(|_| Reply::after(Reply::json(200, used))).unzip();
    let up = Upstream::start(replies);
    let tables = table("up", "openai-chat", &up) + &client("alice", "tokens_per_minute = 1000");
    let gateway = Gateway::start(&tables);
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let body = hello(false, r#","max_completion_tokens":90"#);
                let status = gateway.post("/v1/chat/completions", &ALICE, body.as_bytes()).status;
                assert!(matches!(status, 200 | 429), "{status}");
                refused.fetch_add(usize::from(status == 429), Ordering::SeqCst);
            });
        }
        until("each is refused or waits", || {
            (up.received().len() + refused.load(Ordering::SeqCst) == 100).then_some(())
        });
        for word in &words {
            // Most receivers are gone.
            let _unheard = word.send(());
        }
    });
    let sent = up.received().len();
    assert!((1..=10).contains(&sent), "{sent} requests of 100 tokens, and a limit of 1000");
}

/// A Chat Completions stream of `pieces` chunks, without usage.
fn uncounted(pieces: usize) -> String {
    let chunk = |delta: &str, stop: &str| {
        format!(
            r#"data: {{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{stop}}}]}}"#
        ) + "\n\n"
    };
    let words = chunk(r#"{"content":" word"}"#, "null").repeat(pieces);
    chunk(r#"{"role":"assistant","content":""}"#, "null")
        + &words
        + &chunk("{}", "\"stop\"")
        + "data: [DONE]\n\n"
}

#[test]
fn a_stream_without_a_count_of_tokens_is_charged_by_an_estimate() {
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let stream = uncounted(500);
        let up = Upstream::start([Reply::stream("text/event-stream", stream.as_bytes(), 4000)]);
        let tables = table("up", "openai-chat", &up) + &client("alice", "tokens_per_minute = 400");
        let gateway = Gateway::start(&tables);
        let body = hello(true, r#","max_tokens":9"#);
        gateway.post(path, &ALICE, body.as_bytes()).ok();
        let answer = gateway.post(path, &ALICE, body.as_bytes());
        assert_eq!(answer.status, 429, "{path}: {}", answer.text());
        assert_eq!(up.received().len(), 1);
    }
}

fn last_word() -> &'static str {
    r#"data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" last"},"finish_reason":null}]}

"#
}

#[test]
fn a_stream_whose_client_disconnects_is_charged_for_what_was_sent() {
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let (feed, reply) = Reply::fed("text/event-stream");
        let up = Upstream::start([reply]);
        let tables = table("up", "openai-chat", &up) + &client("alice", "tokens_per_minute = 400");
        let gateway = Gateway::start(&tables);
        let body = hello(true, r#","max_tokens":9"#);
        let words = uncounted(500).split("\"finish_reason\":\"stop\"").next().unwrap().to_owned();
        let words = words.rsplit_once("\n\n").unwrap().0.to_owned();
        feed.send(format!("{words}\n\n{}", last_word()).into_bytes()).unwrap();
        let mut asking = gateway.ask("POST", path, &ALICE, body.as_bytes());
        asking.until("last");
        drop(asking);
        until("it is charged", || {
            (gateway.post(path, &ALICE, body.as_bytes()).status == 429).then_some(())
        });
        drop(feed);
    }
}

#[test]
fn absurd_usage_is_charged_as_the_maximum() {
    for count in ["18446744073709551615", "1e30", "99999999999999999999999999"] {
        let used = format!(
            r#"{{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[
            {{"index":0,"message":{{"role":"assistant","content":"hi"}},"finish_reason":"stop"}}],
            "usage":{{"prompt_tokens":{count},"completion_tokens":{count},"total_tokens":{count}}}}}"#
        );
        for path in ["/v1/chat/completions", "/v1/messages"] {
            let up = Upstream::start([Reply::json(200, used.clone())]);
            let limit = client("alice", "tokens_per_minute = 1000000");
            let gateway = Gateway::start(&(table("up", "openai-chat", &up) + &limit));
            let body = hello(false, r#","max_tokens":9"#);
            gateway.post(path, &ALICE, body.as_bytes()).ok();
            let answer = gateway.post(path, &ALICE, body.as_bytes());
            assert_eq!(answer.status, 429, "{path} {count}: {}", answer.text());
        }
    }
}

#[test]
fn a_key_in_the_body_is_masked_before_a_vendor_sees_it() {
    let key = format!("tw-{}", "0123456789abcdef".repeat(4));
    let up = Upstream::start([]);
    let table = table("up", "openai-chat", &up);
    let gateway =
        Gateway::start(&format!("{table}[keys.carol]\nhash = \"{}\"\n", KeyHash::of(&key)));
    let body = format!(
        r#"{{"model":"up/m","max_tokens":9,"api_key":"{key}","messages":[{{"role":"user","content":"KEY={key}."}}]}}"#
    );
    for path in ["/v1/chat/completions", "/v1/messages"] {
        up.then(vendor("openai-chat").reply(false));
        gateway.post(path, &[("x-api-key", &key)], body.as_bytes()).ok();
        let received = up.last();
        assert!(!received.everything().contains(&key), "{}", received.text());
        assert!(received.text().contains("KEY=***."), "{}", received.text());
    }
}
