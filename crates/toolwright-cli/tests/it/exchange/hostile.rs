//! Upstreams that misbehave and invalid bodies: each gets the right fault in the client's dialect,
//! in bounded time, and the next request is not affected.

use toolwright_core::Json;

use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Answer, Gateway, Reply, Upstream, at, table, text_at};

fn question(stream: bool) -> String {
    format!(
        r#"{{"model":"up/m","stream":{stream},"max_tokens":99,"messages":[{{"role":"user","content":"hi"}}]}}"#
    )
}

fn raw(head: &str, body: &[u8]) -> Reply {
    Reply::Raw(
        [b"HTTP/1.1 200 OK\r\nconnection: close\r\n", head.as_bytes(), b"\r\n\r\n", body].concat(),
    )
}

/// The error message of a reply in OpenAI's or Anthropic's dialect.
fn reason(answer: &Answer) -> String {
    let document = match answer.header("content-type") {
        Some("text/event-stream") => answer.events().pop().unwrap(),
        _ => answer.json(),
    };
    text_at(&document, "/error/message")
}

#[test]
fn an_invalid_reply_is_reported_and_the_next_reply_is_complete() {
    let own = vendor("anthropic");
    let whole = own.calls();
    let replies = || {
        let json = "content-type: application/json\r\n";
        let length = |size: usize| format!("{json}content-length: {size}");
        vec![
            ("html", raw("content-type: text/html\r\ncontent-length: 4", b"<p/>")),
            ("empty", raw(&length(0), b"")),
            ("not json", raw(&length(5), b"oops!")),
            ("half", raw(&length(whole.len() / 2), &whole[..whole.len() / 2])),
            ("shorter than it says", raw(&length(whole.len() * 2), &whole)),
            ("a list", raw(&length(2), b"[]")),
            ("no message", raw(&length(7), b"{\"a\":1}")),
            ("a failure", raw(&length(28), b"{\"error\":{\"message\":\"no\"}} ")),
            ("not utf-8", raw(&length(9), b"{\"a\":\"\xff\"}")),
            ("deep", raw(&length(40_000), "[".repeat(40_000).as_bytes())),
            ("nothing", Reply::Raw(Vec::new())),
            ("not http", Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec())),
        ]
    };
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    for stream in [false, true] {
        for (name, reply) in replies() {
            upstream.then(reply);
            let answer = gateway.ask_json("/v1/chat/completions", &question(stream));
            let failed = answer.status == 502 || (stream && answer.complete);
            assert!(failed, "{name} {stream}: {} {}", answer.status, answer.text());
            assert!(!reason(&answer).is_empty(), "{name} {}", answer.text());
            upstream.then(own.reply(stream));
            let answer = gateway.ask_json("/v1/chat/completions", &question(stream)).ok();
            assert!(answer.text().contains("search_flights"), "after {name}");
        }
    }
}

#[test]
fn a_damaged_stream_ends_with_a_fault_in_the_clients_dialect() {
    let mut crc = vendor("bedrock").calls_stream();
    let middle = crc.len() / 2;
    crc[middle] ^= 1;
    let anthropic = vendor("anthropic").calls_stream();
    let half = &anthropic[..anthropic.len() / 2];
    let letters = [half, b"\n\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\xff\xfe\"}}\n\n"].concat();
    let other = [half, b"\n\nevent: content_block_delta\ndata: {oops\n\n"].concat();
    let error = [half, b"\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"].concat();
    for (name, id, bytes) in [
        ("wrong checksum", "bedrock", &crc[..]),
        ("half", "anthropic", half),
        ("bytes that are no letters", "anthropic", &letters),
        ("no json", "anthropic", &other),
        ("an error", "anthropic", &error),
    ] {
        let own = vendor(id);
        let upstream = Upstream::start([0, 1].map(|_| Reply::stream(own.kind, bytes, 64)));
        let gateway = Gateway::start(&table("up", id, &upstream));
        let answer = gateway.ask_json("/v1/chat/completions", &question(true)).ok();
        assert!(!reason(&answer).is_empty(), "{name} {}", answer.text());
        let text = answer.text();
        assert!(!text.contains("\"finish_reason\":\"tool_calls\""), "{name} {text}");
        let sent = vendor("gemini").request(true).with_model(&vendor("gemini"), "up/m");
        let answer = gateway.post(&sent.path, &[], sent.body.as_bytes()).ok();
        let last = answer.events().pop().unwrap();
        assert!(at(&last, "/error/code").as_u64().is_some(), "{name} {}", answer.text());
        let entries = gateway.end();
        assert!(entries.iter().all(|entry| entry.error.is_some()), "{name} {entries:?}");
    }
}

#[test]
fn a_stalled_upstream_times_out() {
    for (stream, deadline) in [(false, "first_byte"), (true, "first_byte"), (true, "idle")] {
        let own = vendor("anthropic");
        let (feed, slow) = Reply::fed(own.kind);
        let (word, held) = Reply::after(own.reply(stream));
        let upstream = Upstream::start([if deadline == "idle" { slow } else { held }]);
        let config = table("up", own.id, &upstream) + deadline + " = \"200ms\"\n";
        let gateway = Gateway::start(&config);
        let body = own.calls_stream();
        feed.send(body[..body.len() / 2].to_vec()).unwrap();
        let answer = gateway.ask_json("/v1/chat/completions", &question(stream));
        if deadline == "idle" {
            assert_eq!(answer.status, 200);
        } else {
            assert_eq!(answer.status, 504, "{}", answer.text());
        }
        assert!(!reason(&answer).is_empty(), "{}", answer.text());
        drop((feed, word));
    }
}

#[test]
fn an_invalid_body_is_refused_in_every_dialects_format() {
    let gateway = Gateway::start("");
    let deep = format!("{{\"model\":\"offline/rules\",\"messages\":{}", "[".repeat(100_000));
    let bodies: [&[u8]; 7] = [
        b"",
        b"{",
        b"[]",
        b"{\"model\":",
        b"\xff\xfe",
        b"{\"model\":\"offline/rules\"} x",
        deep.as_bytes(),
    ];
    for vendor in VENDORS {
        let sent = vendor.request(false).with_model(&vendor, "offline/rules");
        for body in bodies {
            let answer = gateway.post(&sent.path, &[], body);
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            assert_eq!(answer.status, 400, "{} {shown} {}", vendor.id, answer.text());
            assert!(matches!(answer.json(), Json::Object(_)), "{}", answer.text());
        }
        gateway.post(&sent.path, &[], sent.body.as_bytes()).ok();
    }
}

#[test]
fn a_disconnected_client_is_in_the_ledger_with_what_it_received() {
    let own = vendor("anthropic");
    let (feed, reply) = Reply::fed(own.kind);
    let upstream = Upstream::start([reply]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    let body = question(true);
    let mut asking = gateway.ask("POST", "/v1/chat/completions", &[], body.as_bytes());
    let stream = own.calls_stream();
    feed.send(stream[..stream.len() * 3 / 4].to_vec()).unwrap();
    asking.until("get_weather");
    drop(asking);
    upstream.until_cut(1);
    crate::gateway::until("the exchange in the log", || {
        gateway.log().contains("client_left").then_some(())
    });
    let entries = gateway.end();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].left && entries[0].bytes_out > 0, "{entries:?}");
    assert_eq!(entries[0].calls[0], "get_weather");
}
