//! Cancellation: dropping a request closes it at the server.

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use toolwright_testing::server::{FINE, Server, read_request};

use super::{ask, remote};

/// A server that sends some bytes, waits for the connection to end, and reports both.
async fn watching(reply: &'static [u8]) -> (Server, UnboundedReceiver<&'static str>) {
    let (tell, told) = unbounded_channel();
    let server = Server::new(move |mut stream| {
        let tell = tell.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(reply).await.unwrap();
            tell.send("asked").unwrap();
            assert!(read_request(&mut stream).await.is_none());
            tell.send("left").unwrap();
        }
    })
    .await;
    (server, told)
}

#[tokio::test]
async fn dropping_the_body_is_seen_by_the_server() {
    let reply = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"fi\r\n";
    let (server, mut told) = watching(reply).await;
    let mut body = remote(&server.url()).send(ask()).await.unwrap().body;
    body.next().await.unwrap().unwrap();
    assert_eq!(told.recv().await, Some("asked"));
    drop(body);
    assert_eq!(told.recv().await, Some("left"));
}

#[tokio::test]
async fn dropping_an_awaited_body_is_seen_by_the_server() {
    let (server, mut told) = watching(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n").await;
    let remote = remote(&server.url());
    let task = tokio::spawn(async move {
        let body = remote.send(ask()).await.unwrap().body;
        body.collect(100).await
    });
    assert_eq!(told.recv().await, Some("asked"));
    task.abort();
    assert_eq!(told.recv().await, Some("left"));
}

#[tokio::test]
async fn dropping_the_future_is_seen_by_the_server() {
    let (server, mut told) = watching(b"").await;
    let remote = remote(&server.url());
    let task = tokio::spawn(async move { remote.send(ask()).await });
    assert_eq!(told.recv().await, Some("asked"));
    task.abort();
    assert_eq!(told.recv().await, Some("left"));
}

#[tokio::test]
async fn a_cancelled_request_does_not_affect_others() {
    let server = Server::answering(FINE).await;
    let remote = remote(&server.url());
    let first = remote.send(ask()).await.unwrap();
    let second = remote.send(ask()).await.unwrap();
    drop(first);
    assert_eq!(second.body.collect(13).await.unwrap().len(), 13);
}
