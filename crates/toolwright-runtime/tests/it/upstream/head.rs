//! Heads: what is sent, and how the reply's head is handled.

use http::HeaderMap;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use toolwright_dialects::dialect::Dialect;
use toolwright_runtime::upstream::{Credential, Outgoing, Remote, RemoteError};
use toolwright_testing::server::{FINE, Server, read_request};

use super::{SHORT, ask, codec, long, remote, told};

#[tokio::test]
async fn a_request_gets_its_reply() {
    let server = Server::answering(FINE).await;
    let incoming = remote(&server.url()).send(ask()).await.unwrap();
    assert_eq!(incoming.status, 200);
    assert_eq!(incoming.headers["content-type"], "application/json");
    assert_eq!(incoming.body.announced(), Some(13));
    assert_eq!(&incoming.body.collect(13).await.unwrap()[..], b"{\"fine\":true}");
}

#[tokio::test]
async fn two_requests_share_a_connection() {
    let server = Server::answering(FINE).await;
    let remote = remote(&server.url());
    for _ in 0..2 {
        let incoming = remote.clone().send(ask()).await.unwrap();
        incoming.body.collect(100).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn hop_by_hop_headers_are_not_forwarded() {
    let (server, mut seen) = Server::recording().await;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "elsewhere"),
        ("content-length", "999"),
        ("transfer-encoding", "chunked"),
        ("connection", "close, X-Hop,"),
        ("x-hop", "theirs"),
        ("accept-encoding", "gzip"),
        ("authorization", "Bearer theirs"),
        ("x-api-key", "theirs"),
        ("cookie", "theirs"),
        ("openai-organization", "org"),
        ("x-team", "theirs"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    let base = format!("{}/openai/v1", server.url());
    let remote = remote(&base).with_header("x-team", "agents").unwrap();
    remote.send(ask().with_headers(headers)).await.unwrap();
    let (head, body) = seen.recv().await.unwrap();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    assert_eq!(lines.remove(0), "POST /openai/v1/chat/completions?secret=hush HTTP/1.1");
    lines.sort_unstable();
    let agent = concat!("user-agent: toolwright/", env!("CARGO_PKG_VERSION"));
    let host = format!("host: {}", server.address);
    let wanted = [
        "accept-encoding: identity",
        "content-length: 2",
        "content-type: application/json",
        &host,
        "openai-organization: org",
        agent,
        "x-team: agents",
    ];
    assert_eq!(lines, wanted);
    assert_eq!(body, b"{}");
}

#[tokio::test]
async fn anthropic_gets_a_version_header() {
    let (server, mut seen) = Server::recording().await;
    let remote =
        Remote::new("claude", codec("anthropic"), &server.url(), Credential::None).unwrap();
    assert_eq!(remote.version(), None, "nobody said which");
    let ask = || Outgoing::new("/v1/messages", "{}");
    remote.send(ask()).await.unwrap();
    assert!(seen.recv().await.unwrap().0.contains("anthropic-version: 2023-06-01\r\n"));
    let remote = remote.with_version("2026-10-21").unwrap();
    remote.send(ask()).await.unwrap();
    assert!(seen.recv().await.unwrap().0.contains("anthropic-version: 2026-10-21\r\n"));
    let own = HeaderMap::from_iter([(
        "anthropic-version".parse().unwrap(),
        "2023-06-01".parse().unwrap(),
    )]);
    remote.send(ask().with_headers(own)).await.unwrap();
    assert!(seen.recv().await.unwrap().0.contains("anthropic-version: 2023-06-01\r\n"));
}

#[tokio::test]
async fn an_escaped_path_is_unchanged() {
    let (server, mut seen) = Server::recording().await;
    let path = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aprofile%2Fa.b-v1%3A0/converse";
    remote(&server.url()).send(Outgoing::new(path, "{}")).await.unwrap();
    assert!(seen.recv().await.unwrap().0.starts_with(&format!("POST {path} HTTP/1.1\r\n")));
}

#[tokio::test]
async fn an_upstream_that_stalls_before_its_head_times_out() {
    let server = Server::new(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-").await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let remote = remote(&server.url()).with_deadlines(long().with_first_byte(SHORT));
    let fault = remote.send(ask()).await.unwrap_err();
    let wanted = "upstream `there` did not begin to answer within 200ms (first_byte); try again, \
                  or set a longer deadline";
    assert_eq!(told(&fault), ("upstream_timeout", wanted));
    assert_eq!(fault.status, Some(504));
}

#[tokio::test]
async fn redirects_and_other_unexpected_statuses_are_faults() {
    let cases: [(&'static [u8], &str); 6] = [
        (
            b"HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1/hush\r\ncontent-length: 0\r\n\r\n",
            "answered with status 301, which is not followed; set its base_url to where the API is",
        ),
        (
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
            "answered with status 304, which is not followed; set its base_url to where the API is",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-type: Text/HTML; charset=x\r\ncontent-length: 6\r\n\r\n<html>",
            "answered with a web page; check the path of its base_url",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\n\x1f",
            "sent a compressed response, which it was asked not to",
        ),
        (
            b"SSH-2.0-hush\r\n",
            "sent a response that is not HTTP, or whose headers are too large; check the \
             scheme and the port of its URL",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n123456",
            "sent a response that is not HTTP, or whose headers are too large; check the \
             scheme and the port of its URL",
        ),
    ];
    for (reply, wanted) in cases {
        let server = Server::closing(reply).await;
        let fault = remote(&server.url()).send(ask()).await.unwrap_err();
        let wanted = format!("upstream `there` {wanted}");
        assert_eq!(told(&fault), ("upstream_answer", wanted.as_str()));
        assert_eq!(fault.status, Some(502));
    }
}

#[tokio::test]
async fn too_many_headers_are_a_fault() {
    let server = Server::new(|mut stream| async move {
        read_request(&mut stream).await;
        let mut reply = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while reply.is_ok() {
            reply = stream.write_all(&[b'a'; 4096]).await;
        }
    })
    .await;
    let fault = remote(&server.url()).send(ask()).await.unwrap_err();
    assert_eq!(told(&fault).0, "upstream_answer");
}

#[tokio::test]
async fn an_html_page_of_a_failing_proxy_is_a_fault() {
    let reply = b"HTTP/1.1 503 No\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    let server = Server::closing(reply).await;
    let incoming = remote(&server.url()).send(ask()).await.unwrap();
    assert_eq!(incoming.status, 503);
    assert_eq!(&incoming.body.collect(10).await.unwrap()[..], b"<html>");
}

#[tokio::test]
async fn an_upstream_that_closes_without_an_answer_is_a_fault() {
    let server = Server::closing(b"").await;
    let fault = remote(&server.url()).send(ask()).await.unwrap_err();
    let wanted = "upstream `there` closed the connection before it answered; try again";
    assert_eq!(told(&fault), ("upstream_broken", wanted));
    assert!(fault.class.is_retryable());
}

#[tokio::test]
async fn an_unreachable_upstream_is_a_fault() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let fault = remote(&base).send(ask()).await.unwrap_err();
    let wanted = "upstream `there` cannot be reached: the connection is refused; check its \
                  URL, and whether it is running";
    assert_eq!(told(&fault), ("upstream_unreachable", wanted));
}

#[tokio::test]
async fn an_invalid_path_is_a_fault() {
    let remote = remote("http://127.0.0.1:9");
    for path in ["", "v1/chat", "/v1/with space"] {
        let fault = remote.send(Outgoing::new(path, "{}")).await.unwrap_err();
        assert_eq!(fault.class.status(), 400, "{path}");
    }
}

#[test]
fn an_invalid_remote_is_refused_with_the_reason() {
    let codec = codec("openai-chat");
    let new = |base, credential| Remote::new("there", codec, base, credential);
    let error = new("https://me:hush@host", Credential::None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "upstream `there`: its base_url has a user or a password in it; give them as the \
         upstream's key"
    );
    let error = new("https://host", Credential::Bearer("hush\n".into())).unwrap_err();
    assert!(matches!(&error, RemoteError::Credential { .. }));
    assert!(!format!("{error} {error:?}").contains("hush"));
    let remote = remote("https://host");
    assert!(remote.clone().with_header("content-length", "1").is_err());
    assert!(remote.clone().with_header("a b", "1").is_err());
    assert!(remote.with_header("a", "1\n").is_err());
    assert_eq!(codec.dialect(), Dialect::OpenaiChat);
}
