//! Limits on concurrent and queued requests.

use toolwright_testing::server::{FINE, Server};

use super::{SHORT, ask, long, remote, told};

#[tokio::test]
async fn requests_beyond_the_queue_are_refused() {
    let server = Server::answering(FINE).await;
    let remote = remote(&server.url()).with_concurrency(1).with_waiting(1);
    let first = remote.send(ask()).await.unwrap();
    let waiting = tokio::spawn({
        let remote = remote.clone();
        async move { remote.send(ask()).await }
    });
    // The task is queued as soon as it has run once.
    tokio::task::yield_now().await;
    let fault = remote.send(ask()).await.unwrap_err();
    let wanted = "upstream `there` is at its limit of concurrent requests, and its queue is full; try \
                  again later";
    assert_eq!(told(&fault), ("upstream_crowded", wanted));
    assert_eq!(fault.status, Some(503));
    assert!(!waiting.is_finished());
    drop(first);
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_finished_body_releases_its_permit_while_it_is_held() {
    let server = Server::answering(FINE).await;
    let remote = remote(&server.url()).with_concurrency(1).with_waiting(0);
    let mut body = remote.send(ask()).await.unwrap().body;
    assert_eq!(body.next().await.unwrap().unwrap().len(), 13);
    assert!(body.next().await.is_none());
    remote.send(ask()).await.unwrap();
    drop(body);
}

#[tokio::test]
async fn waiting_too_long_is_a_fault() {
    let server = Server::answering(FINE).await;
    let deadlines = long().with_first_byte(SHORT);
    let remote = remote(&server.url()).with_concurrency(1).with_deadlines(deadlines);
    let _first = remote.send(ask()).await.unwrap();
    let fault = remote.send(ask()).await.unwrap_err();
    let wanted = "upstream `there` had no free slot for this request within 200ms; try again later";
    assert_eq!(told(&fault), ("upstream_crowded", wanted));
}

#[tokio::test]
async fn a_failed_request_releases_its_permit() {
    let server = Server::closing(b"").await;
    let remote = remote(&server.url()).with_concurrency(1).with_waiting(0);
    for _ in 0..3 {
        assert_eq!(told(&remote.send(ask()).await.unwrap_err()).0, "upstream_broken");
    }
}
