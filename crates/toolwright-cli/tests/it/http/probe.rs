//! A server whose service shows the requests that reach it, and a client that sends raw bytes.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc, watch};
use toolwright_core::Fault;
use toolwright_gateway::http::config::Limits;
use toolwright_gateway::http::{
    Control, Ended, Health, HttpRequest, Reply, ReplyBody, Server, Service,
};

/// A timeout that nothing here reaches unless it hangs.
pub const HANG: Duration = Duration::from_secs(30);

/// Maximum size of a body that `/save` writes to a file.
pub const MAX_SAVED: u64 = 64 << 20;

pub struct Probe {
    pub under_way: Arc<watch::Sender<usize>>,
    pub pieces: mpsc::Sender<String>,
    taken: Arc<Mutex<mpsc::Receiver<String>>>,
    health: Health,
}

pub struct Started {
    pub address: SocketAddr,
    pub probe: Arc<Probe>,
    pub control: Control,
    pub ended: tokio::task::JoinHandle<Ended>,
}

pub async fn start(limits: Limits) -> Started {
    started(Server::bind("127.0.0.1:0", limits.connections).await.unwrap().with_limits(limits))
}

pub fn started(server: Server) -> Started {
    let (pieces, taken) = mpsc::channel(1);
    let probe = Arc::new(Probe {
        under_way: Arc::new(watch::Sender::new(0)),
        pieces,
        taken: Arc::new(Mutex::new(taken)),
        health: server.health(),
    });
    let (address, control) = (server.address(), server.control());
    let ended = tokio::spawn(server.run(Arc::clone(&probe)));
    Started { address, probe, control, ended }
}

/// Counts a request while it exists.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(count: &Arc<watch::Sender<usize>>) -> Counted {
        count.send_modify(|count| *count += 1);
        Counted(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// A body of the pieces that the test sends; `end` ends it.
struct Pieces {
    taken: Arc<Mutex<mpsc::Receiver<String>>>,
    _counted: Counted,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        let polled = self.taken.try_lock().unwrap().poll_recv(cx);
        polled.map(|piece| match piece?.as_str() {
            "end" => None,
            "fail" => Some(Err("secret reason".to_owned())),
            piece => Some(Ok(Frame::data(Bytes::from(piece.to_owned())))),
        })
    }
}

/// A body of this many pieces of a megabyte.
struct Large {
    pieces: usize,
    _counted: Counted,
}

impl http_body::Body for Large {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        let rest = self.pieces.checked_sub(1);
        self.pieces = rest.unwrap_or_default();
        Poll::Ready(rest.map(|_| Ok(Frame::data(vec![b'x'; 1 << 20].into()))))
    }
}

/// Advances the clock of the runtime. Timers that are due fire.
pub async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn fault(fault: Fault) -> Reply {
    let status = fault.status.unwrap_or(fault.class.status());
    let mut reply = Reply::new(ReplyBody::full(fault.message));
    *reply.status_mut() = http::StatusCode::from_u16(status).unwrap();
    reply
}

impl Service for Probe {
    fn fail(&self, uri: &http::Uri, failed: Fault) -> Reply {
        let message = format!("{} (at {})", failed.message, uri.path());
        fault(Fault { message, ..failed })
    }

    async fn answer(&self, request: HttpRequest) -> Reply {
        match request.uri.path() {
            "/save" => {
                let stored = tempfile::tempfile().unwrap();
                let mut file = tokio::fs::File::from_std(stored.try_clone().unwrap());
                let saved = request.body.save(&mut file, MAX_SAVED).await;
                let size = std::os::unix::fs::MetadataExt::size(&stored.metadata().unwrap());
                match saved {
                    Ok(bytes) => Reply::new(ReplyBody::full(format!("{bytes} of {size}"))),
                    Err(refused) => fault(refused),
                }
            }
            "/echo" | "/count" => match request.body.read().await {
                Ok(bytes) if request.uri.path() == "/echo" => Reply::new(ReplyBody::full(bytes)),
                Ok(bytes) => Reply::new(ReplyBody::full(bytes.len().to_string())),
                Err(refused) => fault(refused),
            },
            "/hold" => {
                let held = request.body.read().await.unwrap();
                let _counted = Counted::new(&self.under_way);
                self.taken.lock().await.recv().await;
                Reply::new(ReplyBody::full(held.len().to_string()))
            }
            "/hello" => Reply::new(ReplyBody::full("hello")),
            "/secure" => Reply::new(ReplyBody::full(request.secure.to_string())),
            "/large" => {
                let counted = Counted::new(&self.under_way);
                Reply::new(ReplyBody::stream(Large { pieces: 64, _counted: counted }))
            }
            "/readyz" => self.health.readyz(),
            "/wait" => {
                let _counted = Counted::new(&self.under_way);
                std::future::pending().await
            }
            "/slow" => {
                let _counted = Counted::new(&self.under_way);
                self.taken.lock().await.recv().await;
                Reply::new(ReplyBody::full("slow"))
            }
            "/stream" => {
                let (counted, taken) = (Counted::new(&self.under_way), Arc::clone(&self.taken));
                Reply::new(ReplyBody::stream(Pieces { taken, _counted: counted }))
            }
            "/panic" => panic!("on purpose"),
            _ => {
                let mut reply = Reply::new(ReplyBody::empty());
                *reply.status_mut() = http::StatusCode::NOT_FOUND;
                reply
            }
        }
    }
}

pub struct Client<I = TcpStream> {
    io: I,
    read: Vec<u8>,
}

pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Client<TcpStream> {
    pub async fn connect(address: SocketAddr) -> Client {
        Client::over(TcpStream::connect(address).await.unwrap())
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> Client<I> {
    pub fn over(io: I) -> Client<I> {
        Client { io, read: Vec::new() }
    }

    pub async fn send(&mut self, text: &str) {
        self.io.write_all(text.as_bytes()).await.unwrap();
    }

    /// Sends bytes; returns false if the server has closed.
    pub async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.io.write_all(bytes).await.is_ok()
    }

    pub async fn finish(&mut self) {
        self.io.shutdown().await.unwrap();
    }

    async fn more(&mut self) -> usize {
        let read = self.io.read_buf(&mut self.read);
        tokio::time::timeout(HANG, read).await.unwrap().unwrap_or(0)
    }

    async fn until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|window| window == end) {
                return self.read.drain(..at + end.len()).collect();
            }
            assert!(self.more().await > 0, "ended in {:?}", String::from_utf8_lossy(&self.read));
        }
    }

    async fn take(&mut self, size: usize) -> Vec<u8> {
        while self.read.len() < size {
            assert!(self.more().await > 0, "ended too early");
        }
        self.read.drain(..size).collect()
    }

    pub async fn head(&mut self) -> Answer {
        let head = String::from_utf8(self.until(b"\r\n\r\n").await).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Answer { status, headers, body: Vec::new() }
    }

    pub async fn answer(&mut self) -> Answer {
        let mut answer = self.head().await;
        let size = answer.header("content-length").map_or(0, |size| size.parse().unwrap());
        answer.body = self.take(size).await;
        answer
    }

    pub async fn chunk(&mut self) -> String {
        let size = String::from_utf8(self.until(b"\r\n").await).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let chunk = self.take(size).await;
        assert_eq!(self.take(2).await, b"\r\n");
        String::from_utf8(chunk).unwrap()
    }

    /// Everything until the server closes.
    pub async fn rest(&mut self) -> String {
        String::from_utf8(self.rest_bytes().await).unwrap()
    }

    pub async fn rest_bytes(&mut self) -> Vec<u8> {
        while self.more().await > 0 {}
        std::mem::take(&mut self.read)
    }
}

/// Sends one request over HTTP/2 with hyper's client.
pub async fn over_http2<I>(io: I, method: &str, path: &str, body: &str) -> (u16, String)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut client = Http2::over(io, 1 << 20).await;
    let response = client.send(method, path, body).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// hyper's HTTP/2 client.
pub struct Http2(hyper::client::conn::http2::SendRequest<String>);

impl Http2 {
    /// Opens a connection with a window of this many bytes for each stream.
    pub async fn over<I>(io: I, window: u32) -> Http2
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = hyper_util::rt::TokioIo::new(io);
        let executor = hyper_util::rt::TokioExecutor::new();
        let mut builder = hyper::client::conn::http2::Builder::new(executor);
        builder.initial_stream_window_size(window);
        let (sender, connection) = builder.handshake(io).await.unwrap();
        tokio::spawn(connection);
        Http2(sender)
    }

    /// Sends a request. The window opens again as the reply is read.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> http::Response<hyper::body::Incoming> {
        self.send_with(method, path, 0, body).await
    }

    /// Like [`Http2::send`], with this many additional headers.
    pub async fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: usize,
        body: &str,
    ) -> http::Response<hyper::body::Incoming> {
        let mut request = http::Request::builder().method(method).uri(format!("http://a{path}"));
        for number in 0..headers {
            request = request.header(format!("x-{number}"), "y");
        }
        self.0.send_request(request.body(body.to_owned()).unwrap()).await.unwrap()
    }
}
