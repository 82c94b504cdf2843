//! The HTTP server, with clients over plain sockets.

mod bodies;
mod drain;
mod early;
mod hostile;
pub mod probe;
mod signals;
mod tls;

use toolwright_gateway::http::config::Limits;

use probe::{Client, Probe, start};

#[tokio::test]
async fn requests_on_one_connection_are_answered_in_order() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\none").await;
    client.send("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.send("3\r\ntwo\r\n4\r\n and\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    for expected in ["one", "two and", "hello"] {
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.text().as_str()), (200, expected));
        assert_eq!(answer.header("connection"), None);
    }
}

#[tokio::test]
async fn a_stream_arrives_chunk_by_chunk() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /stream HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let head = client.head().await;
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    for number in 0..20 {
        server.probe.pieces.send(format!("piece {number}")).await.unwrap();
        assert_eq!(client.chunk().await, format!("piece {number}"));
    }
}

#[tokio::test]
async fn a_panic_affects_one_request() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /panic HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let failed = client.answer().await;
    assert_eq!(failed.status, 500);
    assert!(failed.text().ends_with("(at /panic)"), "{}", failed.text());
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.answer().await.text(), "hello");
}

#[tokio::test]
async fn a_disconnect_drops_the_reply() {
    let server = start(Limits::default()).await;
    for path in ["/wait", "/stream"] {
        let mut client = Client::connect(server.address).await;
        client.send(&format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        server.probe.until_under_way(1).await;
        drop(client);
        server.probe.until_under_way(0).await;
    }
}

#[tokio::test]
async fn a_half_closed_connection_counts_as_a_disconnect() {
    let server = start(Limits::default()).await;
    let mut client = Client::connect(server.address).await;
    client.send("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n").await;
    server.probe.until_under_way(1).await;
    client.finish().await;
    server.probe.until_under_way(0).await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn http2_works_with_prior_knowledge() {
    let server = start(Limits::default()).await;
    let socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let answer = probe::over_http2(socket, "POST", "/echo", "over two").await;
    assert_eq!(answer, (200, "over two".to_owned()));
    let socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let large = "0123456789".repeat(100_000);
    let answer = probe::over_http2(socket, "POST", "/echo", &large).await;
    assert!(answer == (200, large), "{} bytes", answer.1.len());
}

#[tokio::test]
async fn a_reset_over_http2_drops_the_reply() {
    let server = start(Limits::default()).await;
    for path in ["/wait", "/stream"] {
        let socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let asking = tokio::spawn(probe::over_http2(socket, "GET", path, ""));
        server.probe.until_under_way(1).await;
        asking.abort();
        server.probe.until_under_way(0).await;
    }
}

#[tokio::test]
async fn a_port_in_use_is_reported_with_the_remedy() {
    let server = start(Limits::default()).await;
    let bind = |address: String| async move {
        toolwright_gateway::http::Server::bind(&address, 100).await.unwrap_err()
    };
    let error = bind(server.address.to_string()).await;
    assert!(error.to_string().contains("in use"), "{error}");
    assert!(error.hint().contains("--listen"));
    assert!(bind("nonsense".to_owned()).await.hint().contains("127.0.0.1:8000"));
}

impl Probe {
    /// Waits until this many requests are in flight.
    async fn until_under_way(&self, count: usize) {
        let mut under_way = self.under_way.subscribe();
        let reached = under_way.wait_for(|now| *now == count);
        tokio::time::timeout(probe::HANG, reached).await.unwrap().unwrap();
    }
}
