//! Who may ask: keys, models that are not allowed, limits. Told in every dialect's own words.

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Answer, Gateway, Upstream, at, table, text_at};

/// A client's table for the configuration, whose key is `key-{name}`.
fn client(name: &str, more: &str) -> String {
    format!("[keys.{name}]\nhash = \"{}\"\n{more}\n", KeyHash::of(&format!("key-{name}")))
}

/// How a dialect says that something is refused: the word where its SDK looks for one.
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
fn a_wrong_key_or_none_is_refused_in_every_dialect_s_own_words() {
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
fn too_many_requests_are_told_when_to_come_back() {
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
fn tokens_are_charged_by_what_the_answer_says_whole_and_streamed() {
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
fn a_client_s_own_credential_goes_on_where_it_is_wanted_and_our_key_never() {
    let own = vendor("anthropic");
    let up = Upstream::start([own.reply(false), own.reply(false)]);
    let config =
        table("up", "anthropic", &up).replace("env:UPSTREAM_KEY", "client") + &client("alice", "");
    let gateway = Gateway::start(&config);
    let sent = own.request(false).with_model(&own, "up/m");
    let headers = [("toolwright-key", "key-alice"), ("x-api-key", "sk-ant-own")];
    gateway.post(&sent.path, &headers, sent.body.as_bytes()).ok();
    assert_eq!(up.last().header("x-api-key"), Some("sk-ant-own"));
    assert!(!up.last().everything().contains("key-alice"));
    // A key for us that stands where a vendor's would is no credential for the vendor.
    let headers = [("x-api-key", "key-alice")];
    gateway.post(&sent.path, &headers, sent.body.as_bytes());
    assert!(up.received().iter().all(|one| !one.everything().contains("key-alice")));
}
