//! Same dialect on both sides: the upstream receives the client's bytes, and the client the
//! upstream's.

use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Gateway, Reply, UPSTREAM_KEY, Upstream, table};

/// The key of the clients in these tests, in every position where a key is accepted.
const CLIENT_KEY: &str = "sk-client-secret";

fn client_keys() -> Vec<(&'static str, &'static str)> {
    vec![
        ("authorization", "Bearer sk-client-secret"),
        ("x-api-key", CLIENT_KEY),
        ("x-goog-api-key", CLIENT_KEY),
        ("api-key", CLIENT_KEY),
        ("cookie", "session=sk-client-secret"),
        ("x-unheard-of", CLIENT_KEY),
    ]
}

#[test]
fn bytes_pass_unchanged_in_every_dialect_whole_and_streamed() {
    let upstreams =
        VENDORS.map(|vendor| Upstream::start([vendor.reply(false), vendor.reply(true)]));
    let pairs = VENDORS.iter().zip(&upstreams);
    let tables: String = pairs.clone().map(|(own, up)| table(own.id, own.id, up)).collect();
    let gateway = Gateway::start(&tables);
    for (vendor, upstream) in pairs {
        for stream in [false, true] {
            let own = vendor.request(stream);
            let sent = own.with_model(vendor, &format!("{}/{}", vendor.id, vendor.model));
            let answer = gateway.post(&sent.path, &client_keys(), sent.body.as_bytes()).ok();
            let expected = if stream { vendor.calls_stream() } else { vendor.calls() };
            assert_eq!(answer.body, expected, "{} {stream}", vendor.id);
            assert_eq!(answer.header("toolwright-upstream"), Some(vendor.id));
            assert_eq!(answer.header("toolwright-losses"), None);
            let kind = if stream { vendor.kind } else { "application/json" };
            assert_eq!(answer.header("content-type"), Some(kind));
            let received = upstream.last();
            assert_eq!(received.text(), own.body, "{} {stream}", vendor.id);
            assert_eq!(received.path, own.vendor_path);
            assert!(!received.everything().contains(CLIENT_KEY), "{}", received.everything());
            assert!(received.everything().contains(UPSTREAM_KEY), "{}", received.everything());
        }
        assert_eq!(upstream.received().len(), 2);
    }
}

#[test]
fn faults_pass_unchanged_in_every_dialect() {
    let upstreams = VENDORS.map(|vendor| {
        let (status, body) = vendor.fault();
        let fault = || Reply::json(status, body.clone()).with("x-vendor", "own");
        Upstream::start([fault(), fault()])
    });
    let pairs = VENDORS.iter().zip(&upstreams);
    let tables: String = pairs.clone().map(|(own, up)| table(own.id, own.id, up)).collect();
    let gateway = Gateway::start(&tables);
    for (vendor, upstream) in pairs {
        for stream in [false, true] {
            let sent = vendor.request(stream);
            let sent = sent.with_model(vendor, &format!("{}/{}", vendor.id, vendor.model));
            let answer = gateway.post(&sent.path, &[], sent.body.as_bytes());
            let (status, body) = vendor.fault();
            assert_eq!((answer.status, answer.body.as_slice()), (status, body.as_slice()));
            assert_eq!(answer.header("x-vendor"), Some("own"));
        }
        assert_eq!(upstream.received().len(), 2, "{}: a fault of the request is final", vendor.id);
    }
}

#[test]
fn relevant_headers_reach_the_vendor_and_the_client() {
    let own = vendor("anthropic");
    let reply = Reply::json(200, own.calls())
        .with("request-id", "req_own")
        .with("anthropic-ratelimit-requests-remaining", "7")
        .with("set-cookie", "a=b");
    let upstream = Upstream::start([reply]);
    let gateway = Gateway::start(&table("claude", "anthropic", &upstream));
    let sent = own.request(false).with_model(&own, "claude/claude-opus-5");
    let headers = [
        ("anthropic-version", "2026-10-21"),
        ("anthropic-beta", "interleaved-thinking-2025-05-14"),
        ("user-agent", "Anthropic/Python 2.8.0"),
    ];
    let answer = gateway.post(&sent.path, &headers, sent.body.as_bytes()).ok();
    for (name, value) in headers {
        assert_eq!(upstream.last().header(name), Some(value));
    }
    assert_eq!(answer.header("request-id"), Some("req_own"));
    assert_eq!(answer.header("anthropic-ratelimit-requests-remaining"), Some("7"));
    assert_eq!(answer.header("set-cookie"), None);
    assert!(answer.header("toolwright-request-id").is_some());
}

#[test]
fn a_key_in_the_query_is_not_forwarded() {
    let own = vendor("gemini");
    let upstream = Upstream::start([own.reply(true)]);
    let gateway = Gateway::start(&table("google", "gemini", &upstream));
    let path = "/v1beta/models/google%2Fgemini-3.8-flash:streamGenerateContent";
    let sent = own.request(true);
    let address = format!("{path}?key={CLIENT_KEY}&alt=sse");
    let answer = gateway.post(&address, &[], sent.body.as_bytes()).ok();
    assert_eq!(answer.body, own.calls_stream());
    let received = upstream.last();
    assert_eq!(received.path, "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
    assert_eq!(received.header("x-goog-api-key"), Some(UPSTREAM_KEY));
    assert!(!received.everything().contains(CLIENT_KEY));
}
