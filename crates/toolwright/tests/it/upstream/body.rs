//! The body: whole, short, broken, silent, too large.

use super::server::Server;
use super::{ask, remote};

#[tokio::test]
async fn a_body_shorter_than_announced_is_a_fault() {
    let server = Server::closing(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"fi").await;
    let incoming = remote(&server.url()).send(ask()).await.unwrap();
    let fault = incoming.body.collect(1000).await.unwrap_err();
    assert_eq!(fault.code.as_deref(), Some("upstream_broken"));
    assert_eq!(
        fault.message,
        "upstream `there` closed the connection before the 100 bytes it announced were there; try \
         again"
    );
}
