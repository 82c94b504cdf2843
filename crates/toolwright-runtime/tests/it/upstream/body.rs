//! Reply bodies: complete, short, broken, stalled, too large.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use toolwright_core::Fault;
use toolwright_runtime::upstream::fault_of;
use toolwright_testing::server::{Server, read_request};

use super::{SHORT, ask, long, remote, told};

/// Collects a reply after which the connection is closed.
async fn collect(reply: &'static [u8], limit: usize) -> Result<Vec<u8>, Fault> {
    let server = Server::closing(reply).await;
    let incoming = remote(&server.url()).send(ask()).await?;
    incoming.body.collect(limit).await.map(Vec::from).map_err(fault_of)
}

#[tokio::test]
async fn a_body_shorter_than_announced_is_a_fault() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"fi";
    let fault = collect(reply, 1000).await.unwrap_err();
    let wanted = "upstream `there` closed the connection before the 100 bytes it announced were \
                  there; try again";
    assert_eq!(told(&fault), ("upstream_broken", wanted));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_fault() {
    let wanted = "upstream `there` closed the connection in the middle of its answer; try again";
    for reply in [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"fi\r\n".as_slice(),
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"",
    ] {
        let fault = collect(reply, 1000).await.unwrap_err();
        assert_eq!(told(&fault), ("upstream_broken", wanted));
    }
}

#[tokio::test]
async fn a_reset_is_a_fault() {
    let server = Server::new(|mut stream| async move {
        read_request(&mut stream).await;
        let reply = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"fi\r\n";
        stream.write_all(reply).await.unwrap();
        // Closing without linger resets the connection.
        stream.set_zero_linger().unwrap();
    })
    .await;
    // The reset may arrive before the head.
    let fault = match remote(&server.url()).send(ask()).await {
        Ok(incoming) => fault_of(incoming.body.collect(1000).await.unwrap_err()),
        Err(fault) => fault,
    };
    assert_eq!(told(&fault).0, "upstream_broken");
}

#[tokio::test]
async fn an_invalid_chunk_is_a_fault() {
    let reply = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n";
    let fault = collect(reply, 1000).await.unwrap_err();
    assert!(["upstream_answer", "upstream_broken"].contains(&told(&fault).0));
}

#[tokio::test]
async fn a_body_may_end_with_its_connection() {
    let reply = b"HTTP/1.1 200 OK\r\n\r\n{\"fine\":true}";
    assert_eq!(collect(reply, 1000).await.unwrap(), b"{\"fine\":true}");
}

#[tokio::test]
async fn chunks_are_joined() {
    let reply = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  2\r\n{\"\r\n4\r\nfine\r\n7\r\n\":true}\r\n0\r\n\r\n";
    assert_eq!(collect(reply, 13).await.unwrap(), b"{\"fine\":true}");
    let fault = collect(reply, 12).await.unwrap_err();
    let wanted = "upstream `there` sent a response of more than the maximum of 12 bytes";
    assert_eq!(told(&fault), ("upstream_answer", wanted));
}

#[tokio::test]
async fn a_body_with_a_too_large_length_is_not_read() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{\"fi";
    let fault = collect(reply, 1 << 20).await.unwrap_err();
    assert_eq!(told(&fault).0, "upstream_answer");
}

#[tokio::test]
async fn a_stalled_body_times_out_and_its_connection_closes() {
    let (closed, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::new(move |mut stream| {
        let closed = closed.clone();
        async move {
            read_request(&mut stream).await;
            let reply = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"fi\r\n";
            stream.write_all(reply).await.unwrap();
            assert!(read_request(&mut stream).await.is_none());
            closed.send(()).unwrap();
        }
    })
    .await;
    let remote = remote(&server.url()).with_deadlines(long().with_idle(SHORT));
    let mut body = remote.send(ask()).await.unwrap().body;
    assert_eq!(&body.next().await.unwrap().unwrap()[..], b"{\"fi");
    let fault = fault_of(body.next().await.unwrap().unwrap_err());
    let wanted = "upstream `there` sent no data for 200ms (idle); try again, or set \
                  a longer deadline";
    assert_eq!(told(&fault), ("upstream_timeout", wanted));
    assert!(body.next().await.is_none());
    // Although the body is still held.
    seen.recv().await.unwrap();
    drop(body);
}

#[tokio::test]
async fn a_slow_body_may_take_long_while_it_makes_progress() {
    let server = Server::new(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n").await.unwrap();
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stream.write_all(b"x").await.unwrap();
        }
    })
    .await;
    let deadlines = long().with_idle(Duration::from_secs(1));
    let remote = remote(&server.url()).with_deadlines(deadlines);
    let incoming = remote.send(ask()).await.unwrap();
    assert_eq!(incoming.body.collect(12).await.unwrap(), "xxxxxxxxxxxx");
}
