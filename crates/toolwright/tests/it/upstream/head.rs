//! The head: what is sent, and what is made of what comes back.

use super::server::{FINE, Server};
use super::{ask, remote};

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
