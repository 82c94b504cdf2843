//! Documents that are small as bytes and large once parsed: the memory that the gateway holds is
//! bounded, and the client receives an error.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{assert_well, fault};
use crate::gateway::vendor::{VENDORS, Vendor, vendor};
use crate::gateway::{Answer, Gateway, Reply, Upstream, table, until};

/// The memory budget of the gateway, and the limit for the rest of its process.
const MEMORY: usize = 64 << 20;
const BESIDE: usize = 96 << 20;

fn gateway(upstream: &Upstream) -> Gateway {
    let tables = ["anthropic", "openai-chat"].map(|id| table(id, id, upstream));
    Gateway::start(&format!("{}[limits]\nmemory = {MEMORY}\n", tables.concat()))
}

fn assert_bounded(gateway: &Gateway) {
    let peak = gateway.peak_memory();
    assert!(peak < MEMORY + BESIDE, "{} MB", peak >> 20);
}

/// A value of this many bytes that takes much more memory once parsed.
fn heavy(kind: usize, size: usize) -> String {
    let one = ["[]", "0", "{\"a\":0}", "[[[[[[[[[[0]]]]]]]]]]"][kind % 4];
    let many = vec![one; size / (one.len() + 1)];
    format!("[{}]", many.join(","))
}

/// Sends a request as a vendor's SDK does, with an additional member.
fn ask(gateway: &Gateway, client: &Vendor, model: &str, more: &str) -> Answer {
    let sent = client.request(false).with_model(client, model);
    let body = sent.body.replacen('{', &format!("{{\"x\":{more},"), 1);
    gateway.post(&sent.path, &[], body.as_bytes())
}

#[test]
fn a_request_that_never_fits_is_too_large_in_every_dialect() {
    let gateway = gateway(&Upstream::start([]));
    for (kind, client) in VENDORS.iter().enumerate() {
        for model in ["anthropic/m", "openai-chat/m", "offline/rules"] {
            if model.starts_with(client.id) {
                continue;
            }
            let answer = ask(&gateway, client, model, &heavy(kind, 1 << 20));
            // Bedrock has no separate status for it.
            let status = if client.id == "bedrock" { 400 } else { 413 };
            assert_eq!(answer.status, status, "{}: {}", client.id, answer.text());
            assert!(fault(client, &answer).contains("limits.memory"), "{}", client.id);
        }
    }
    assert_bounded(&gateway);
    assert_well(&gateway);
}

#[test]
fn a_document_that_never_fits_is_too_large_at_every_endpoint() {
    let gateway = gateway(&Upstream::start([]));
    let heavy = heavy(0, 1 << 20);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{heavy}}}}}}}"#
    );
    let answer = format!(r#"{{"answer":"approve","x":{heavy}}}"#);
    for (path, body) in [("/mcp", &call), ("/v1/approvals/x", &answer), ("/v1/plans", &answer)] {
        let refused = gateway.post(path, &[], body.as_bytes());
        assert_eq!(refused.status, 413, "{path}: {}", refused.text());
        assert!(refused.text().contains("limits.memory"), "{path}: {}", refused.text());
    }
    assert_bounded(&gateway);
    assert_well(&gateway);
}

#[test]
fn many_large_requests_at_once_are_answered_in_bounded_memory() {
    let gateway = gateway(&Upstream::start([]));
    let clients = ["openai-chat", "anthropic", "gemini", "ollama"].map(vendor);
    std::thread::scope(|scope| {
        for (kind, client) in clients.iter().cycle().take(12).enumerate() {
            let gateway = &gateway;
            scope.spawn(move || {
                // Some of them never fit, others only one after another.
                let size = if kind < 8 { 3 << 20 } else { 400 << 10 };
                let answer = ask(gateway, client, "offline/rules", &heavy(kind, size));
                assert!(matches!(answer.status, 200 | 413 | 503), "{}", answer.text());
                if answer.status != 200 {
                    assert!(fault(client, &answer).contains("memory"), "{}", answer.text());
                }
            });
        }
    });
    assert_bounded(&gateway);
    assert_well(&gateway);
}

#[test]
fn a_reply_that_never_fits_is_the_upstreams_fault() {
    let own = vendor("openai-chat");
    let reply = |kind: usize| {
        let body = String::from_utf8(own.calls()).unwrap();
        let more = format!("{{\"x\":{},", heavy(kind, 2 << 20));
        Reply::json(200, body.replacen('{', &more, 1))
    };
    let upstream = Upstream::start([]);
    let gateway = gateway(&upstream);
    let clients = ["anthropic", "gemini", "ollama"].map(vendor);
    for (kind, client) in clients.iter().enumerate() {
        upstream.then(reply(kind));
        let sent = client.request(false).with_model(client, "openai-chat/m");
        let answer = gateway.post(&sent.path, &[], sent.body.as_bytes());
        assert!(answer.status >= 500, "{}: {}", client.id, answer.text());
        assert!(fault(client, &answer).contains("limits.memory"), "{}", client.id);
    }
    // A passthrough is not parsed.
    upstream.then(reply(0));
    let sent = own.request(false).with_model(&own, "openai-chat/m");
    let answer = gateway.post(&sent.path, &[], sent.body.as_bytes()).ok();
    assert!(answer.body.len() > 2 << 20);
    assert_bounded(&gateway);
    assert_well(&gateway);
}

#[test]
fn memory_held_until_the_reply_counts() {
    let own = vendor("anthropic");
    let (words, replies): (Vec<_>, Vec<_>) =
        (0..40).map(|_| Reply::after(own.reply(false))).unzip();
    let upstream = Upstream::start(replies);
    let gateway = gateway(&upstream);
    // This dialect repeats it in the reply, so it is held until the upstream answers.
    let metadata = heavy(3, 60 << 10);
    let body = format!(r#"{{"model":"anthropic/m","input":"hi","metadata":{metadata}}}"#);
    let refused = AtomicUsize::new(0);
    let answered = std::thread::scope(|scope| {
        let ask = || {
            let answer = gateway.ask_json("/v1/responses", &body);
            refused.fetch_add(usize::from(answer.status == 503), Relaxed);
            answer.status
        };
        let asking: Vec<_> = (0..40).map(|_| scope.spawn(ask)).collect();
        until("some to be refused", || {
            (refused.load(Relaxed) + upstream.received().len() >= 40).then_some(())
        });
        drop(words);
        let statuses = asking.into_iter().map(|asking| asking.join().unwrap());
        statuses.filter(|status| *status == 200).count()
    });
    let refused = refused.into_inner();
    assert!(answered > 0 && refused > 10, "{answered} answered, {refused} refused");
    assert_eq!(answered + refused, 40);
    assert_bounded(&gateway);
    assert_well(&gateway);
}

#[test]
fn memory_held_back_by_a_translated_stream_counts() {
    // These dialects cannot express a partial call.
    let clients = ["gemini", "ollama"].map(vendor);
    let own = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"#;
    let first = format!(
        "data: {own}\"id\":\"c\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{\\\"x\\\":\\\"\"}}}}]}}}}]}}\n\n"
    );
    let piece = format!(
        "data: {own}\"function\":{{\"arguments\":\"{}\"}}}}]}}}}]}}\n\n",
        "x".repeat(1 << 20)
    );
    let upstream = Upstream::start([]);
    let gateway = gateway(&upstream);
    for _ in 0..6 {
        let mut pieces = vec![first.clone().into_bytes()];
        pieces.extend((0..30).map(|_| piece.clone().into_bytes()));
        upstream.then(Reply::Pieces { kind: "text/event-stream".to_owned(), pieces });
    }
    std::thread::scope(|scope| {
        for client in clients.iter().cycle().take(6) {
            let gateway = &gateway;
            scope.spawn(move || {
                let sent = client.request(true).with_model(client, "openai-chat/m");
                let answer = gateway.post(&sent.path, &[], sent.body.as_bytes());
                assert!(answer.text().contains("error"), "{}: {:.200}", client.id, answer.text());
            });
        }
    });
    assert_bounded(&gateway);
    assert_well(&gateway);
}

/// An upstream that accepts bodies of any size and discards them.
fn sink() -> std::net::SocketAddr {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let reply = vendor("openai-chat").calls();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let reply = reply.clone();
            std::thread::spawn(move || -> std::io::Result<()> {
                let mut reader = BufReader::new(socket.try_clone()?);
                let (mut line, mut size) = (String::new(), 0);
                while reader.read_line(&mut line)? > 2 {
                    let value = line.to_lowercase();
                    if let Some(value) = value.strip_prefix("content-length:") {
                        size = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                std::io::copy(&mut reader.take(size), &mut std::io::sink())?;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
                write!(socket, "{head}\r\ncontent-length: {}\r\n\r\n", reply.len())?;
                socket.write_all(&reply)
            });
        }
    });
    address
}

#[test]
fn ten_requests_of_31_megabytes_stay_within_the_memory_budget() {
    const MEMORY: usize = 256 << 20;
    let table = format!(
        "[upstreams.up]\ndialect = \"openai-chat\"\nbase_url = \"http://{}\"\nkey = \"env:UPSTREAM_KEY\"\nretries = 0\n",
        sink()
    );
    let rest = format!("[models]\nfast = [\"up/m\"]\n[limits]\nmemory = {MEMORY}\n");
    let gateway = Gateway::start(&(table + &rest));
    let long = "x".repeat(31 << 20);
    let body = format!(
        r#"{{"model":"fast","max_tokens":9,"messages":[{{"role":"user","content":"{long}"}}]}}"#
    );
    for path in ["/v1/chat/completions", "/v1/messages"] {
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    let status = gateway.ask_json(path, &body).status;
                    assert!(matches!(status, 200 | 503 | 529), "{path}: {status}");
                });
            }
        });
    }
    let peak = gateway.peak_memory();
    assert!(peak < MEMORY + BESIDE, "{} MB", peak >> 20);
    assert_well(&gateway);
}
