//! Upstream replies that are not valid answers.

use super::{ask, assert_well, fault, gateway};
use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Reply, Upstream};

/// Gives a reply to every client, whole and streamed, and checks the fault that each receives. The
/// upstream speaks the dialect of one client, whose bytes otherwise pass unchanged.
fn all(more: &str, reply: impl Fn() -> Reply, status: std::ops::Range<u16>, says: &str) {
    let upstream = Upstream::start((0..18).map(|_| reply()));
    let gateway = gateway(&upstream, more);
    for client in &VENDORS {
        for stream in [false, true] {
            let answer = ask(&gateway, client, stream, "anthropic/claude-opus-5");
            let message = fault(client, &answer);
            assert!(status.contains(&answer.status), "{}: {}", client.id, answer.status);
            assert!(message.contains(says), "{}: {message}", client.id);
        }
    }
    assert_eq!(upstream.received().len(), 18, "each was asked once");
    assert_well(&gateway);
}

fn page(status: u16) -> Reply {
    Reply::Whole {
        status,
        headers: vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())],
        body: b"<html>hello</html>".to_vec(),
    }
}

fn raw(text: &str) -> Reply {
    Reply::Raw(text.as_bytes().to_vec())
}

#[test]
fn html_pages_are_faults() {
    all("", || page(200), 500..503, "a web page");
    all("", || page(502), 500..503, "status 502");
    all("", || page(403), 403..404, "status 403");
}

#[test]
fn redirects_compressed_or_empty_replies_and_unknown_statuses_are_faults() {
    let redirect = || Reply::json(307, "").with("location", "http://127.0.0.1:1/");
    all("", redirect, 500..503, "status 307, which is not followed");
    let packed = || Reply::json(200, "\x1f\u{8b}").with("content-encoding", "gzip");
    all("", packed, 500..503, "sent a compressed response");
    all("", || Reply::json(799, "{}"), 500..503, "status 799");
    all("", || Reply::json(204, ""), 500..503, "a response without content");
    all("", || Reply::json(200, ""), 500..503, "a response without content");
}

#[test]
fn bytes_that_are_not_http_are_a_fault() {
    all("", || raw(""), 500..503, "before it answered");
    all("", || raw("HTTP/1.1 20"), 500..503, "before it answered");
    all("", || raw("SSH-2.0-OpenSSH_9.9\r\n"), 500..503, "not HTTP");
    let two = "HTTP/1.1 200 -\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n{}  ";
    all("", || raw(two), 500..503, "not HTTP");
    let head = "x: y\r\n".repeat(20_000);
    all("", || raw(&format!("HTTP/1.1 200 -\r\n{head}\r\n")), 500..503, "headers are too large");
    let hints = "HTTP/1.1 103 -\r\nlink: </a>\r\n\r\n".repeat(10_000);
    all("", || raw(&hints), 500..503, "informational replies");
}

#[test]
fn informational_responses_before_a_reply_are_accepted() {
    let own = vendor("anthropic");
    let hints = "HTTP/1.1 103 -\r\nlink: </a>\r\n\r\n".repeat(10);
    let body = own.calls();
    let kind = "content-type: application/json";
    let head = format!("{hints}HTTP/1.1 200 -\r\n{kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    let upstream = Upstream::start([Reply::Raw([head.as_bytes(), &body].concat())]);
    let gateway = gateway(&upstream, "");
    let answer = ask(&gateway, &own, false, "anthropic/claude-opus-5").ok();
    assert_eq!(answer.body, body);
}

#[test]
fn a_fault_keeps_its_status_whatever_its_body_is() {
    let large = format!(r#"{{"error":{{"message":"{}"}}}}"#, "z".repeat(2 << 20));
    all("", || Reply::json(429, large.clone()), 429..430, "status 429");
    let cut = "HTTP/1.1 400 -\r\ncontent-length: 100\r\n\r\n{\"error\"";
    all("", || raw(cut), 400..401, "status 400");
}

#[test]
fn a_silent_upstream_times_out() {
    let upstream = Upstream::start([]);
    let gateway = gateway(&upstream, "first_byte = \"200ms\"\n");
    let mut words = Vec::new();
    for client in &VENDORS {
        for stream in [false, true] {
            let (word, reply) = Reply::after(Reply::json(200, ""));
            words.push(word);
            upstream.then(reply);
            let answer = ask(&gateway, client, stream, "anthropic/claude-opus-5");
            assert!(fault(client, &answer).contains("first_byte"), "{}", answer.text());
        }
    }
    assert_well(&gateway);
}

/// Gives whole replies to the clients that do not speak the upstream's dialect.
fn translated(reply: impl Fn() -> Reply, says: &str) {
    let others = || VENDORS.iter().filter(|client| client.id != "anthropic");
    let upstream = Upstream::start(others().map(|_| reply()));
    let gateway = gateway(&upstream, "");
    for client in others() {
        let answer = ask(&gateway, client, false, "anthropic/claude-opus-5");
        let message = fault(client, &answer);
        assert!((500..505).contains(&answer.status), "{}: {}", client.id, answer.status);
        assert!(message.contains(says), "{}: {message}", client.id);
    }
    assert_well(&gateway);
}

#[test]
fn documents_that_are_not_replies_are_faults() {
    let own = vendor("anthropic");
    let body = own.calls();
    translated(|| Reply::json(200, &body[..body.len() / 2]), "sent damaged JSON");
    for body in ["[1]", "{}", r#""ok""#, r#"{"detail":"Not Found"}"#] {
        translated(|| Reply::json(200, body), "a body that is no reply");
    }
    translated(|| Reply::json(200, "[".repeat(100_000)), "sent damaged JSON");
    translated(|| Reply::json(200, "{\"a\":\"\u{e9}\"}".replace('\u{e9}', "\n")), "damaged");
    let said = r#"{"type":"error","error":{"type":"overloaded_error","message":"no room"}}"#;
    translated(|| Reply::json(200, said), "no room");
    let short = format!("HTTP/1.1 200 -\r\ncontent-length: {}\r\n\r\n", body.len() + 9);
    let short = [short.as_bytes(), &body].concat();
    translated(|| Reply::Raw(short.clone()), "bytes it announced");
    let bad = "HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}";
    translated(|| raw(bad), "in the middle of its answer");
}

#[test]
fn a_reply_that_is_too_large_is_refused() {
    let size = 1_u64 << 30;
    let head = format!("HTTP/1.1 200 -\r\ncontent-length: {size}\r\n\r\n{{");
    translated(|| raw(&head), "67108864 bytes");
}
