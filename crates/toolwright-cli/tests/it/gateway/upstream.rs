//! A mock vendor that replays the given replies in order, and records the requests.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};

use toolwright_core::Json;

use super::HANG;
use super::client::unchunk;

/// A received request.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    /// The body as JSON.
    pub fn json(&self) -> Json {
        Json::parse_bytes(&self.body).unwrap()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// A header by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Head and body as text, to search for what must not be there.
    pub fn everything(&self) -> String {
        format!("{} {:?} {}", self.path, self.headers, String::from_utf8_lossy(&self.body))
    }
}

/// How an upstream handles one request.
pub enum Reply {
    /// Replies in one piece
    Whole { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// Replies 200 with one chunk for each piece
    Pieces { kind: String, pieces: Vec<Vec<u8>> },
    /// Replies 200 with one chunk for each piece that the test sends
    Fed { kind: String, pieces: Receiver<Vec<u8>> },
    /// Sends these bytes, including the head, and closes the connection
    Raw(Vec<u8>),
    /// Replies when the test signals it
    After(Receiver<()>, Box<Reply>),
    /// Replies as a function of the request
    Made(Box<dyn FnOnce(&Received) -> Reply + Send>),
}

impl Reply {
    /// A JSON document.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Reply::Whole { status, headers, body: body.into() }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Reply {
        if let Reply::Whole { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// A stream in chunks of a fixed size, which split frames and characters.
    pub fn stream(kind: &str, body: &[u8], size: usize) -> Reply {
        let pieces = body.chunks(size).map(<[u8]>::to_vec).collect();
        Reply::Pieces { kind: kind.to_owned(), pieces }
    }

    /// A stream whose chunks the test sends.
    pub fn fed(kind: &str) -> (Sender<Vec<u8>>, Reply) {
        let (feed, pieces) = mpsc::channel();
        (feed, Reply::Fed { kind: kind.to_owned(), pieces })
    }

    /// A reply that is computed from the request.
    pub fn made(make: impl FnOnce(&Received) -> Reply + Send + 'static) -> Reply {
        Reply::Made(Box::new(make))
    }

    /// A reply that waits for a signal of the test.
    pub fn after(reply: Reply) -> (Sender<()>, Reply) {
        let (word, waits) = mpsc::channel();
        (word, Reply::After(waits, Box::new(reply)))
    }
}

/// The record of an upstream.
#[derive(Default)]
struct Seen {
    received: Vec<Received>,
    replies: VecDeque<Reply>,
    /// Number of replies that could not be written completely, because the peer had closed
    cut: usize,
    /// Number of body bytes written
    written: usize,
    /// Number of connections
    connections: usize,
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

/// A mock vendor.
pub struct Upstream {
    address: SocketAddr,
    seen: Shared,
}

impl Upstream {
    /// Starts an upstream that gives these replies, in the order of requests. After the last it
    /// replies 500 and says that no reply is left.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Shared = Arc::default();
        seen.0.lock().unwrap().replies.extend(replies);
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&shared);
                seen.0.lock().unwrap().connections += 1;
                std::thread::spawn(move || serve(&socket, &seen));
            }
        });
        Upstream { address, seen }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a reply for a later request.
    pub fn then(&self, reply: Reply) {
        self.seen.0.lock().unwrap().replies.push_back(reply);
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.seen.0.lock().unwrap().received.clone()
    }

    /// The last request.
    pub fn last(&self) -> Received {
        self.received().pop().unwrap()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.seen.0.lock().unwrap().connections
    }

    /// The number of body bytes written.
    pub fn written(&self) -> usize {
        self.seen.0.lock().unwrap().written
    }

    /// Waits until the given number of requests has arrived.
    pub fn until_received(&self, count: usize) {
        self.until(|seen| seen.received.len() >= count, "a request");
    }

    /// Waits until the given number of replies failed because the peer had closed.
    pub fn until_cut(&self, count: usize) {
        self.until(|seen| seen.cut >= count, "a client that leaves");
    }

    fn until(&self, there: impl Fn(&Seen) -> bool, what: &str) {
        let (seen, change) = &*self.seen;
        let seen = seen.lock().unwrap();
        let (_seen, waited) = change.wait_timeout_while(seen, HANG, |seen| !there(seen)).unwrap();
        assert!(!waited.timed_out(), "waited in vain for {what}");
    }
}

/// Serves one connection, request after request.
fn serve(socket: &TcpStream, shared: &Shared) {
    socket.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(socket);
    while let Some(received) = receive(&mut reader) {
        let (seen, change) = &**shared;
        let reply = {
            let mut seen = seen.lock().unwrap();
            seen.received.push(received.clone());
            change.notify_all();
            seen.replies.pop_front()
        };
        let reply = match reply {
            Some(Reply::Made(make)) => make(&received),
            Some(reply) => reply,
            None => Reply::json(500, r#"{"message":"nothing to say"}"#),
        };
        let stays = matches!(write(socket, reply, shared), Some(true));
        if !stays {
            break;
        }
    }
    let _closed = socket.shutdown(std::net::Shutdown::Both);
}

/// Reads a request; `None` if the connection ends.
fn receive(reader: &mut BufReader<&TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(known, _)| known == name);
    let body = if let Some((_, size)) = header("content-length") {
        let mut body = vec![0; size.parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        body
    } else if header("transfer-encoding").is_none() {
        Vec::new()
    } else {
        let mut raw = Vec::new();
        while !raw.ends_with(b"0\r\n\r\n") {
            reader.read_until(b'\n', &mut raw).ok().filter(|read| *read > 0)?;
        }
        unchunk(&raw).0
    };
    Some(Received { method, path, headers, body })
}

/// Writes a reply. Returns whether the connection can be reused; `None` if the peer has closed.
fn write(mut socket: &TcpStream, reply: Reply, shared: &Shared) -> Option<bool> {
    let written = match reply {
        Reply::Whole { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} -\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head += &[&name, ": ", &value, "\r\n"].concat();
            }
            head += "\r\n";
            let bytes = [head.as_bytes(), &body].concat();
            socket.write_all(&bytes).map(|()| true)
        }
        Reply::Pieces { kind, pieces } => chunked(socket, &kind, pieces.into_iter(), shared),
        Reply::Fed { kind, pieces } => fed(socket, &kind, &pieces, shared),
        Reply::Raw(bytes) => socket.write_all(&bytes).map(|()| false),
        Reply::After(word, reply) => {
            let _said = word.recv();
            return write(socket, *reply, shared);
        }
        Reply::Made(_) => Ok(false),
    };
    if written.is_err() {
        shared.0.lock().unwrap().cut += 1;
        shared.1.notify_all();
    }
    written.ok()
}

fn chunked(
    mut socket: &TcpStream,
    kind: &str,
    pieces: impl Iterator<Item = Vec<u8>>,
    shared: &Shared,
) -> std::io::Result<bool> {
    let head =
        format!("HTTP/1.1 200 -\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    socket.write_all(head.as_bytes())?;
    for piece in pieces {
        let size = format!("{:x}\r\n", piece.len());
        socket.write_all(&[size.as_bytes(), &piece, b"\r\n"].concat())?;
        shared.0.lock().unwrap().written += piece.len();
    }
    socket.write_all(b"0\r\n\r\n").map(|()| true)
}

/// Writes chunks as they arrive, and watches for a disconnect.
fn fed(
    socket: &TcpStream,
    kind: &str,
    pieces: &Receiver<Vec<u8>>,
    shared: &Shared,
) -> std::io::Result<bool> {
    let leaving = socket.try_clone()?;
    let (tell, gone) = mpsc::channel();
    std::thread::spawn(move || {
        // A client that disconnects closes or resets its side.
        let mut byte = [0];
        if matches!((&leaving).read(&mut byte), Ok(0) | Err(_)) {
            let _told = tell.send(());
        }
    });
    let mut left = false;
    let fed = std::iter::from_fn(|| {
        loop {
            match pieces.recv_timeout(std::time::Duration::from_millis(5)) {
                Ok(piece) => return Some(piece),
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(mpsc::RecvTimeoutError::Timeout) => left = gone.try_recv().is_ok(),
            }
            if left {
                return None;
            }
        }
    });
    let all = chunked(socket, kind, fed, shared);
    let _ended = socket.shutdown(std::net::Shutdown::Both);
    if left { Err(std::io::ErrorKind::BrokenPipe.into()) } else { all.map(|_| false) }
}
