//! A server that a test scripts, connection by connection, byte by byte.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// A valid reply.
pub const FINE: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"fine\":true}";

/// A listener that passes each connection to a test's function.
pub struct Server {
    /// Where the server listens
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// Creates a server whose connections are served by a function.
    pub async fn new<F, R>(serve: F) -> Server
    where
        F: Fn(TcpStream) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        Server { address, connections, task }
    }

    /// A server that answers every request with the same bytes, and keeps the connection.
    pub async fn answering(reply: &'static [u8]) -> Server {
        Server::new(move |mut stream| async move {
            while read_request(&mut stream).await.is_some() {
                stream.write_all(reply).await.unwrap();
            }
        })
        .await
    }

    /// A server that sends a valid reply, and reports the requests.
    pub async fn recording() -> (Server, UnboundedReceiver<(String, Vec<u8>)>) {
        let (tell, told) = unbounded_channel();
        let server = Server::new(move |mut stream| {
            let tell = tell.clone();
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    tell.send(request).unwrap();
                    stream.write_all(FINE).await.unwrap();
                }
            }
        })
        .await;
        (server, told)
    }

    /// A server that sends bytes in reply to a request, then closes.
    pub async fn closing(reply: &'static [u8]) -> Server {
        Server::new(move |mut stream| async move {
            read_request(&mut stream).await;
            stream.write_all(reply).await.unwrap();
        })
        .await
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a request: head and body. `None` if the connection ended before.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut more = [0; 4096];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&more[..count]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let mut body = bytes.split_off(end);
    while body.len() < length {
        let mut more = [0; 4096];
        let count = stream.read(&mut more).await.unwrap();
        body.extend_from_slice(&more[..count]);
    }
    Some((head, body))
}
