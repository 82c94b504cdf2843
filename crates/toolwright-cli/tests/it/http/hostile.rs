//! Malicious clients, and clients that behave like them.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::BodyExt;
use tokio::net::TcpStream;
use toolwright_gateway::http::config::Limits;

use super::probe::{Client, Http2, skip, start};

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

fn hasty() -> Limits {
    Limits { header_timeout: Duration::from_millis(300), ..Limits::default() }
}

#[tokio::test]
async fn a_head_that_drips_times_out() {
    let server = start(hasty()).await;
    for first in ["", "P", "POST /echo HTTP/1.1\r\n"] {
        let mut client = Client::connect(server.address).await;
        client.send(first).await;
        assert_eq!(client.rest().await, "");
    }
    let mut client = Client::connect(server.address).await;
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.answer().await.text(), "hello");
    // The second head of a connection has the same timeout as the first.
    client.send("GET /hello HTTP/1.1\r\n").await;
    while client.try_send(b"x: y\r\n").await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_idle_connection_is_kept_longer_than_a_slow_head() {
    let limits = Limits { idle_timeout: Duration::from_secs(2), ..hasty() };
    let server = start(limits).await;
    let mut client = Client::connect(server.address).await;
    for _ in 0..2 {
        client.send("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert_eq!(client.answer().await.text(), "hello");
        skip(Duration::from_millis(900)).await;
    }
    skip(Duration::from_secs(2)).await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\n").await;
    let line = format!("x: {}\r\n", "y".repeat(1000));
    for _ in 0..5000 {
        if !client.try_send(line.as_bytes()).await {
            break;
        }
    }
    assert_eq!(client.head().await.status, 431);

    let mut client = Client::connect(server.address).await;
    let many = "x: y\r\n".repeat(101);
    client.send(&format!("GET /hello HTTP/1.1\r\nhost: a\r\n{many}\r\n")).await;
    assert_eq!(client.head().await.status, 431);
}

#[tokio::test]
async fn garbage_is_refused_without_details() {
    let server = start(Limits::default()).await;
    let garbage: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /echo HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc",
        b"POST /echo HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\nabc",
    ];
    for bytes in garbage {
        let mut client = Client::connect(server.address).await;
        assert!(client.try_send(bytes).await);
        client.finish().await;
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.1 4") || answer.is_empty(), "{answer}");
        assert!(answer.is_empty() || answer.ends_with("\r\n\r\n"), "{answer}");
    }
    let mut client = Client::connect(server.address).await;
    client.send("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n").await;
    assert_eq!(client.answer().await.status, 400);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let server = start(Limits { connections: 2, ..Limits::default() }).await;
    let mut first = Client::connect(server.address).await;
    let mut second = Client::connect(server.address).await;
    for client in [&mut first, &mut second] {
        client.send("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert_eq!(client.answer().await.status, 200);
    }
    let mut third = Client::connect(server.address).await;
    third.send("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let early = tokio::time::timeout(Duration::from_millis(100), third.head()).await;
    assert!(early.is_err(), "a third connection was served beside two");
    drop(first);
    assert_eq!(third.head().await.status, 200);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..hasty() };
    let server = start(limits).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /large HTTP/1.1\r\nhost: a\r\n\r\n").await;
    server.probe.until_under_way(1).await;
    server.probe.until_under_way(0).await;
    // When it reads again, it finds an incomplete reply.
    assert!(client.rest().await.len() < 64 << 20);
}

#[tokio::test]
async fn a_client_that_closes_its_window_is_disconnected() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = start(limits).await;
    for window in [0, 1000] {
        let mut client = Http2::over(connect(server.address).await, window).await;
        let unread = client.send("GET", "/stream", "").await;
        for _ in 0..3 {
            // The receiver of the last piece may be gone.
            let _given = server.probe.pieces.try_send("x".repeat(1000));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        server.probe.until_under_way(0).await;
        // Other requests are not affected, not even on the same connection.
        assert_eq!(client.send("GET", "/hello", "").await.status(), 200);
        drop(unread);
    }
}

#[tokio::test]
async fn waiting_and_slow_clients_are_not_disconnected() {
    let limits = Limits { write_timeout: Duration::from_secs(2), ..Limits::default() };
    let server = start(limits).await;
    let mut client = Http2::over(connect(server.address).await, 1000).await;
    let mut answer = client.send("GET", "/stream", "").await.into_body();
    skip(Duration::from_secs(3)).await;
    let pieces = server.probe.pieces.clone();
    tokio::spawn(async move {
        for _ in 0..8 {
            pieces.send("x".repeat(1000)).await.unwrap();
        }
        pieces.send("end".to_owned()).await.unwrap();
    });
    let mut taken = 0;
    while let Some(frame) = answer.frame().await {
        taken += frame.unwrap().into_data().unwrap().len();
        skip(Duration::from_millis(400)).await;
    }
    assert_eq!(taken, 8000);
}

#[tokio::test]
async fn the_reason_of_an_aborted_reply_is_not_sent() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /stream HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.head().await;
    server.probe.pieces.send("half".to_owned()).await.unwrap();
    server.probe.pieces.send("fail".to_owned()).await.unwrap();
    assert_eq!(client.rest().await, "4\r\nhalf\r\n");
}
