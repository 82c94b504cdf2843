//! Shutdown: requests in flight are finished, and no others are accepted.

use std::time::Duration;

use tokio::net::TcpStream;
use toolwright_gateway::http::Ended;
use toolwright_gateway::http::config::Limits;

use super::probe::{Client, over_http2, start};

#[tokio::test]
async fn requests_in_flight_are_finished() {
    let server = start(Limits::default()).await;
    let mut idle = Client::connect(server.address).await;
    idle.send("GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(idle.answer().await.status, 200);
    let mut fresh = Client::connect(server.address).await;
    let mut streaming = Client::connect(server.address).await;
    streaming.send("GET /stream HTTP/1.1\r\nhost: a\r\n\r\n").await;
    streaming.head().await;
    server.probe.pieces.send("before".to_owned()).await.unwrap();
    assert_eq!(streaming.chunk().await, "before");

    server.control.drain();
    assert_eq!(idle.rest().await, "");
    assert_eq!(fresh.rest().await, "");
    assert!(TcpStream::connect(server.address).await.is_err());
    assert!(!server.ended.is_finished());
    server.probe.pieces.send("after".to_owned()).await.unwrap();
    assert_eq!(streaming.chunk().await, "after");
    server.probe.pieces.send("end".to_owned()).await.unwrap();
    assert_eq!(streaming.rest().await, "0\r\n\r\n");
    assert_eq!(server.ended.await.unwrap(), Ended::Drained);
}

#[tokio::test]
async fn a_later_reply_announces_that_the_connection_closes() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
    server.probe.until_under_way(1).await;
    server.control.drain();
    server.probe.pieces.send("go".to_owned()).await.unwrap();
    let answer = client.answer().await;
    assert_eq!((answer.text().as_str(), answer.header("connection")), ("slow", Some("close")));
    assert_eq!(server.ended.await.unwrap(), Ended::Drained);
}

#[tokio::test]
async fn requests_that_take_too_long_are_aborted() {
    let server =
        start(Limits { drain_timeout: Duration::from_millis(300), ..Limits::default() }).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n").await;
    server.probe.until_under_way(1).await;
    server.control.drain();
    assert_eq!(client.rest().await, "");
    assert_eq!(server.ended.await.unwrap(), Ended::Cut(1));
    server.probe.until_under_way(0).await;
}

#[tokio::test]
async fn a_second_signal_aborts_at_once() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n").await;
    server.probe.until_under_way(1).await;
    server.control.drain();
    server.control.cut();
    assert_eq!(client.rest().await, "");
    assert_eq!(server.ended.await.unwrap(), Ended::Cut(1));
}

#[tokio::test]
async fn a_reply_over_http2_is_finished() {
    let server = start(Limits::default()).await;
    let socket = TcpStream::connect(server.address).await.unwrap();
    let asking = tokio::spawn(over_http2(socket, "GET", "/slow", ""));
    server.probe.until_under_way(1).await;
    server.control.drain();
    server.probe.pieces.send("go".to_owned()).await.unwrap();
    assert_eq!(asking.await.unwrap(), (200, "slow".to_owned()));
    assert_eq!(server.ended.await.unwrap(), Ended::Drained);
}
