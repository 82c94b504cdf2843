//! Bodies: size limits, time limits, and refusals.

use std::time::Duration;

use toolwright_gateway::http::config::Limits;

use super::probe::{Client, MAX_SAVED, start};

fn small() -> Limits {
    Limits { body: 1000, ..Limits::default() }
}

#[tokio::test]
async fn a_body_with_a_too_large_length_is_refused_unread() {
    let server = start(small()).await;
    let mut client = Client::connect(server.address).await;
    client.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1001\r\n\r\n").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    assert!(answer.text().contains("1000 bytes"), "{}", answer.text());
}

#[tokio::test]
async fn a_body_that_grows_too_large_is_refused() {
    let server = start(small()).await;
    let mut client = Client::connect(server.address).await;
    client.send("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..5 {
        client.send(&format!("ff\r\n{}\r\n", "x".repeat(255))).await;
    }
    assert_eq!(client.answer().await.status, 413);
}

#[tokio::test]
async fn a_client_that_sends_a_hundred_megabytes_still_receives_the_error() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    let size = 100 << 20;
    client.send(&format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {size}\r\n\r\n")).await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        assert!(client.try_send(&piece).await, "the server closed before the client was heard out");
    }
    assert_eq!(client.answer().await.status, 413);
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn large_bodies_arrive_complete() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    for size in [1, 4096, 300_000, 5_000_000] {
        let head = format!("POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: {size}\r\n\r\n");
        client.send(&head).await;
        client.send(&"x".repeat(size)).await;
        assert_eq!(client.answer().await.text(), size.to_string());
    }
}

#[tokio::test]
async fn a_body_that_stalls_or_drips_times_out() {
    let patience = Duration::from_millis(300);
    let limits = Limits { body_timeout: patience, header_timeout: patience, ..Limits::default() };
    let server = start(limits).await;
    let mut stopped = Client::connect(server.address).await;
    stopped.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc").await;
    let answer = stopped.answer().await;
    assert_eq!(answer.status, 408, "{}", answer.text());

    let mut dripping = Client::connect(server.address).await;
    dripping.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").await;
    while dripping.try_send(b"x").await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(dripping.answer().await.status, 408);
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-encoding: gzip\r\n").await;
    client.send("content-length: 2\r\n\r\nxx").await;
    assert_eq!(client.answer().await.status, 415);
}

#[tokio::test]
async fn bodies_share_the_memory_budget() {
    let limits = Limits { memory: 140_000, ..Limits::default() };
    let server = start(limits).await;
    let request = |path: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 90000\r\n\r\n");
        head + &"x".repeat(90_000)
    };
    let mut first = Client::connect(server.address).await;
    first.send(&request("/hold")).await;
    server.probe.until_under_way(1).await;
    let mut second = Client::connect(server.address).await;
    second.send(&request("/count")).await;
    let refused = second.answer().await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    server.probe.pieces.send("go".to_owned()).await.unwrap();
    assert_eq!(first.answer().await.text(), "90000");
    first.send(&request("/count")).await;
    assert_eq!(first.answer().await.text(), "90000");
}

#[tokio::test]
async fn expect_continue_is_supported() {
    let server = start(small()).await;
    let mut client = Client::connect(server.address).await;
    let head = "POST /echo HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: ";
    client.send(&format!("{head}2\r\n\r\n")).await;
    assert_eq!(client.head().await.status, 100);
    client.send("ok").await;
    assert_eq!(client.answer().await.text(), "ok");
    client.send(&format!("{head}2000\r\n\r\n")).await;
    assert_eq!(client.answer().await.status, 413);
}

#[tokio::test]
async fn a_body_larger_than_the_memory_budget_is_streamed_to_a_file() {
    let limits = Limits { body: 1000, memory: 1 << 20, ..Limits::default() };
    let server = start(limits).await;
    let mut client = Client::connect(server.address).await;
    let piece = vec![b'x'; 1 << 20];
    for announced in [true, false] {
        let framing = if announced {
            format!("content-length: {MAX_SAVED}")
        } else {
            "transfer-encoding: chunked".to_owned()
        };
        client.send(&format!("PUT /save HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n")).await;
        for _ in 0..MAX_SAVED / piece.len() as u64 {
            if !announced {
                client.send(&format!("{:x}\r\n", piece.len())).await;
            }
            assert!(client.try_send(&piece).await);
            if !announced {
                client.send("\r\n").await;
            }
        }
        if !announced {
            client.send("0\r\n\r\n").await;
        }
        let answer = client.answer().await;
        assert_eq!(answer.text(), format!("{MAX_SAVED} of {MAX_SAVED}"));
    }
}

#[tokio::test]
async fn a_streamed_body_has_its_own_limit_and_the_same_refusals() {
    let server = start(small()).await;
    let mut client = Client::connect(server.address).await;
    let size = MAX_SAVED + 1;
    client.send(&format!("PUT /save HTTP/1.1\r\nhost: a\r\ncontent-length: {size}\r\n\r\n")).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    let mut client = Client::connect(server.address).await;
    let head =
        "PUT /save HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-encoding: gzip\r\n\r\n";
    client.send(head).await;
    assert_eq!(client.answer().await.status, 415);
    let mut client = Client::connect(server.address).await;
    client.send("PUT /save HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nabc").await;
    client.finish().await;
    assert_ne!(client.rest().await.split(' ').nth(1), Some("200"));
}
