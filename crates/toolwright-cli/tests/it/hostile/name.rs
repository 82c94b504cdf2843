//! Model names with special meanings, and paths that lead elsewhere.

use super::{assert_well, fault};
use crate::gateway::vendor::vendor;
use crate::gateway::{Gateway, Reply, UPSTREAM_KEY, Upstream, table};

#[test]
fn a_model_name_with_path_or_line_characters_or_too_long_is_refused() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&table("aws", "bedrock", &upstream));
    let client = vendor("openai-chat");
    let endless = "x".repeat(3_000_000);
    for name in ["aws/..", "aws/../../admin", "aws/./x", r"aws/a\r\nx: y", r"aws/\u0000", &endless]
    {
        let body = format!(r#"{{"model":"{name}","messages":[]}}"#);
        let answer = gateway.ask_json("/v1/chat/completions", &body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(fault(&client, &answer).contains("The model name is invalid"));
    }
    let body = client.request(false).body;
    for path in [
        "/model/aws%2Fx/../../admin/converse",
        "/model/../converse",
        "/model/aws%2Fx/%2e%2e/y/converse",
        "/v1beta/../../admin/models/x:generateContent",
        "//v1/chat/completions",
        "/v1/../v1/chat/completions",
        "/v1/chat/completions%00",
        "/v1beta/x%2F..%2F..%2Fadmin/models/x:generateContent",
        "/model/aws%2F..%2Fx/converse",
        "/v1beta/models/google/../x:generateContent",
    ] {
        assert_eq!(gateway.ask_json(path, &body).status, 404, "{path}");
    }
    assert_eq!(gateway.ask_json("/model/aws%2Fa%0D%0Ab/converse", &body).status, 400);
    assert!(upstream.received().is_empty(), "nothing of it has reached the vendor");
    assert_well(&gateway);
    let log = gateway.log();
    assert!(log.len() < 100_000, "the log has no long names: {}", log.len());
}

#[test]
fn a_key_that_a_vendor_repeats_is_masked() {
    let said = format!(r#"{{"error":{{"message":"Incorrect API key: {UPSTREAM_KEY}"}}}}"#);
    let reply = || Reply::json(401, said.clone());
    let upstream = Upstream::start([reply(), reply(), reply()]);
    let gateway = super::gateway(&upstream, "");
    for client in ["openai-chat", "anthropic", "gemini"] {
        let client = vendor(client);
        let answer = super::ask(&gateway, &client, false, "openai-chat/gpt-5");
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert_eq!(fault(&client, &answer), "Incorrect API key: ***");
    }
    let metrics = gateway.get("/metrics", &[]).text();
    let log = gateway.log();
    assert!(!metrics.contains(UPSTREAM_KEY) && !log.contains(UPSTREAM_KEY), "{log}");
}

#[test]
fn a_short_key_does_not_hide_the_text_of_an_error() {
    const SAID: &str = "model 'x-large' needs more memory than is available";
    let key = tempfile::NamedTempFile::new().unwrap();
    let path = key.path().to_str().unwrap();
    for short in ["x", "ava", "memory"] {
        std::fs::write(path, short).unwrap();
        let reply = || Reply::json(400, format!(r#"{{"error":{{"message":"{SAID}"}}}}"#));
        let upstream = Upstream::start([reply(), reply()]);
        let table = table("openai-chat", "openai-chat", &upstream);
        let gateway = Gateway::start(&table.replace("env:UPSTREAM_KEY", &format!("file:{path}")));
        for client in ["openai-chat", "anthropic"] {
            let client = vendor(client);
            let answer = super::ask(&gateway, &client, false, "openai-chat/gpt-5");
            assert_eq!((answer.status, fault(&client, &answer).as_str()), (400, SAID), "{short}");
        }
    }
}

#[test]
fn hop_by_hop_and_gateway_headers_are_not_returned() {
    let own = vendor("openai-chat");
    let reply = Reply::json(200, own.calls())
        .with("set-cookie", "a=b")
        .with("alt-svc", "h3=\":443\"")
        .with("connection", "x-hop")
        .with("x-hop", "1")
        .with("keep-alive", "timeout=5")
        .with("toolwright-upstream", "forged")
        .with("toolwright-losses", "9; first=/forged")
        .with("x-ratelimit-remaining-requests", "7");
    let upstream = Upstream::start([reply]);
    let gateway = super::gateway(&upstream, "");
    let answer = super::ask(&gateway, &own, false, "openai-chat/gpt-5").ok();
    for name in ["set-cookie", "alt-svc", "x-hop", "keep-alive", "toolwright-losses"] {
        assert_eq!(answer.header(name), None);
    }
    assert_eq!(answer.header("toolwright-upstream"), Some("openai-chat"));
    assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("7"));
}
