//! Bodies and heads that are not valid requests.

use std::io::{Read, Write};
use std::net::TcpStream;

use http_body_util::BodyExt;

use super::{assert_well, fault};
use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Answer, Asking, Gateway, HANG};
use crate::http::probe::Http2;

/// Sends a body to every dialect's endpoint.
fn all(gateway: &Gateway, body: &[u8], status: u16, says: &str) {
    for client in &VENDORS {
        let path = client.request(false).with_model(client, "offline/rules").path;
        let answer = gateway.post(&path, &[], body);
        assert_eq!(answer.status, status, "{}: {}", client.id, answer.text());
        let message = fault(client, &answer);
        assert!(message.contains(says), "{}: {message}", client.id);
    }
}

#[test]
fn a_body_that_is_not_a_json_object_is_refused_in_every_dialect() {
    let gateway = Gateway::start("");
    let deep = format!("{{\"model\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&[u8], &str); 9] = [
        (b"", "unexpected end"),
        (b"{\"model\":\"offline/rules\",", "unexpected end"),
        (b"[]", "expected an object"),
        (b"null", "expected an object"),
        (b"\xEF\xBB\xBF{}", "expected an object"),
        (b"{} {}", "text after"),
        (b"{\"a\":\"\0\"}", "control character"),
        (b"{\"a\":\"\xFF\"}", "UTF-8"),
        (deep.as_bytes(), "nested too deep"),
    ];
    for (body, says) in cases {
        all(&gateway, body, 400, says);
    }
    assert_well(&gateway);
}

#[test]
fn too_many_headers_are_refused_in_every_dialect() {
    let gateway = Gateway::start("");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for client in &VENDORS {
            let sent = client.request(false).with_model(client, "offline/rules");
            let socket = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
            let mut http2 = Http2::over(socket, 1 << 20).await;
            let reply = http2.send_with("POST", &sent.path, 101, &sent.body).await;
            let (head, body) = reply.into_parts();
            let headers = head.headers.iter();
            let headers = headers.map(|(name, value)| {
                (name.as_str().to_owned(), value.to_str().unwrap().to_owned())
            });
            let headers = headers.collect();
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            let answer = Answer { status: head.status.as_u16(), headers, body, complete: true };
            assert!(matches!(answer.status, 400 | 431), "{}: {}", client.id, answer.text());
            assert!(fault(client, &answer).contains("100 headers"), "{}", answer.text());
        }
    });
    assert_well(&gateway);
}

#[test]
fn unusual_values_cause_no_failure() {
    let gateway = Gateway::start("");
    let own = vendor("openai-chat").request(false).path;
    let nines = "9".repeat(5000);
    let rest = r#""model":"offline/rules","messages":[{"role":"user","content":"#;
    for body in [
        format!(r#"{{{rest}"hi"}}],"max_tokens":{nines},"temperature":1e999999}}"#),
        format!(r#"{{{rest}"\ud800 and \udc00"}}]}}"#),
        format!(r#"{{{rest}"\u0000"}}]}}"#),
        format!(r#"{{"model":"offline/rules",{rest}"hi"}}]}}"#),
    ] {
        let answer = gateway.ask_json(&own, &body);
        assert!(matches!(answer.status, 200 | 400), "{}", answer.text());
    }
    assert_well(&gateway);
}

#[test]
fn large_slow_and_compressed_bodies_are_refused_in_the_dialect() {
    let limits = "[limits]\nbody = \"1MB\"\nbody_timeout = \"300ms\"\n";
    let gateway = Gateway::start(limits);
    let client = vendor("openai-chat");
    let path = client.request(false).path;
    let large = vec![b' '; 3 << 20];
    let answer = gateway.post(&path, &[], &large);
    assert_eq!(answer.status, 413);
    assert!(fault(&client, &answer).contains("limits.body"));
    let chunk = [format!("{:x}\r\n", large.len()).as_bytes(), &large, b"\r\n0\r\n\r\n"].concat();
    let head = "transfer-encoding: chunked\r\n";
    let answer = raw(&gateway, &path, head, &chunk).unwrap();
    assert_eq!(answer.status, 413);
    assert!(fault(&client, &answer).contains("limits.body"));
    let answer = raw(&gateway, &path, "content-length: 100\r\n", b"{").unwrap();
    assert_eq!(answer.status, 408);
    assert!(fault(&client, &answer).contains("too slowly"));
    let answer = gateway.post(&path, &[("content-encoding", "gzip")], b"\x1f\x8b\x08");
    assert_eq!(answer.status, 415);
    assert!(fault(&client, &answer).contains("compressed"));
    let answer = raw(&gateway, &path, head, b"zz\r\n{}").unwrap();
    assert_eq!(answer.status, 400);
    assert!(fault(&client, &answer).contains("not framed"));
    assert_well(&gateway);
}

#[test]
fn heads_that_allow_request_smuggling_are_refused() {
    let gateway = Gateway::start("[limits]\nheader_timeout = \"500ms\"\n");
    let flood = "x: y\r\n".repeat(2000);
    for (head, status) in [
        ("content-length: 2\r\ncontent-length: 3\r\n", 400),
        ("content-length: +2\r\n", 400),
        ("content-length: 2, 2\r\n", 400),
        ("content-length: 99999999999999999999\r\n", 400),
        ("content-length : 2\r\n", 400),
        ("content-length: 2\r\nx: a\r\n b\r\n", 400),
        ("transfer-encoding: xchunked\r\n", 400),
        ("transfer-encoding: chunked, identity\r\n", 400),
        ("content-length: 2\r\nx: a\0b\r\n", 400),
        (&flood, 431),
        (&format!("x: {}\r\n", "y".repeat(200_000)), 431),
    ] {
        let answer = raw(&gateway, "/v1/chat/completions", head, b"{}").unwrap();
        assert_eq!(answer.status, status, "{}", &head[..head.len().min(60)]);
    }
    // A head that never ends times out.
    assert!(raw(&gateway, "/v1/chat/completions HTTP/1.1\r\nx", "", b"").is_none());
    assert_well(&gateway);
}

/// Sends a head with custom lines; `None` if the gateway closes without a reply.
fn raw(gateway: &Gateway, path: &str, lines: &str, body: &[u8]) -> Option<Answer> {
    let mut socket = TcpStream::connect(gateway.address).unwrap();
    socket.set_read_timeout(Some(HANG)).unwrap();
    let whole = !path.contains("\r\n");
    let head = if whole {
        format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{lines}\r\n")
    } else {
        format!("POST {path}")
    };
    let _sent = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
    if whole {
        return Some(Asking::of(socket).answer());
    }
    let mut rest = Vec::new();
    let _closed = socket.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    None
}

#[test]
fn a_foreign_host_header_is_refused_without_keys() {
    let gateway = Gateway::start("");
    let body = br#"{"model": "offline/rules", "messages": [{"role": "user", "content": "hi"}]}"#;
    let paths = ["/metrics", "/v1/models", "/healthz", "/openapi.json", "/v1/losses/x"];
    let port = gateway.address.port();
    for host in [
        "evil.example",
        &format!("rebind.evil.example:{port}"),
        "localhost.evil.example",
        "10.0.0.1",
        "[",
    ] {
        for path in paths {
            let answer = gateway.get(path, &[("host", host)]);
            assert_eq!(answer.status, 403, "{host} {path}: {}", answer.text());
        }
        assert_eq!(gateway.post("/v1/chat/completions", &[("host", host)], body).status, 403);
    }
    for host in ["localhost", &format!("localhost:{port}"), "127.0.0.1", "[::1]:1", "app.localhost"]
    {
        assert_eq!(gateway.get("/metrics", &[("host", host)]).status, 200, "{host}");
        assert_eq!(gateway.post("/v1/chat/completions", &[("host", host)], body).status, 200);
    }
    let key = toolwright_gateway::key::KeyHash::of("tw-1");
    let gateway = Gateway::start(&format!("[keys.alice]\nhash = \"{key}\"\n"));
    let headers = [("host", "gateway.example"), ("x-api-key", "tw-1")];
    assert_eq!(gateway.get("/metrics", &headers).status, 200, "with keys any name will do");
}

#[test]
fn a_cross_origin_request_is_refused_without_keys() {
    let gateway = Gateway::start("");
    let body = br#"{"model": "offline/rules", "messages": [{"role": "user", "content": "hi"}]}"#;
    let status = |origin: &str| {
        let headers = [("origin", origin), ("content-type", "text/plain")];
        gateway.post("/v1/chat/completions", &headers, body).status
    };
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", "%"] {
        assert_eq!(status(origin), 403, "{origin}");
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:8000"] {
        assert_eq!(status(origin), 200, "{origin}");
    }
}
