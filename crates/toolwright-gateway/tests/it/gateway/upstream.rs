//! A vendor that is none: it replays what it was given, in order, and remembers what it was asked.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};

use toolwright_core::Json;

use super::HANG;
use super::client::unchunk;

/// A request as it came.
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

    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Everything of it, to look for what must not be there.
    pub fn everything(&self) -> String {
        format!("{} {:?} {}", self.path, self.headers, String::from_utf8_lossy(&self.body))
    }
}

/// What an upstream does with one request.
pub enum Reply {
    /// Answers in one piece
    Whole { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// Answers 200 with one chunk for each piece
    Pieces { kind: String, pieces: Vec<Vec<u8>> },
    /// Answers 200 with one chunk for each piece that the test sends
    Fed { kind: String, pieces: Receiver<Vec<u8>> },
    /// Sends these bytes, head and all, and closes the connection
    Raw(Vec<u8>),
    /// Answers when the test says so
    After(Receiver<()>, Box<Reply>),
    /// Answers what the request makes of it
    Made(Box<dyn FnOnce(&Received) -> Reply + Send>),
}

impl Reply {
    /// A JSON document.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Reply::Whole { status, headers, body: body.into() }
    }

    /// A document with a header more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Reply {
        if let Reply::Whole { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// A stream in pieces of so many bytes, which end anywhere: in a frame, in a letter.
    pub fn stream(kind: &str, body: &[u8], size: usize) -> Reply {
        let pieces = body.chunks(size).map(<[u8]>::to_vec).collect();
        Reply::Pieces { kind: kind.to_owned(), pieces }
    }

    /// A stream whose pieces the test sends.
    pub fn fed(kind: &str) -> (Sender<Vec<u8>>, Reply) {
        let (feed, pieces) = mpsc::channel();
        (feed, Reply::Fed { kind: kind.to_owned(), pieces })
    }

    /// A reply with what the request said in it.
    pub fn made(make: impl FnOnce(&Received) -> Reply + Send + 'static) -> Reply {
        Reply::Made(Box::new(make))
    }

    /// A reply that waits for the test's word.
    pub fn after(reply: Reply) -> (Sender<()>, Reply) {
        let (word, waits) = mpsc::channel();
        (word, Reply::After(waits, Box::new(reply)))
    }
}

/// What an upstream has seen.
#[derive(Default)]
struct Seen {
    received: Vec<Received>,
    replies: VecDeque<Reply>,
    /// How many replies could not be written to their end, because nobody listened any more
    cut: usize,
    /// How many bytes of bodies were written
    written: usize,
    /// How many connections were opened
    connections: usize,
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

/// A vendor that is none.
pub struct Upstream {
    address: SocketAddr,
    seen: Shared,
}

impl Upstream {
    /// One that gives these replies, in the order in which requests come. After the last it answers
    /// 500 and says that it has nothing more to say.
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

    /// Gives another reply to a request to come.
    pub fn then(&self, reply: Reply) {
        self.seen.0.lock().unwrap().replies.push_back(reply);
    }

    /// What it was asked so far.
    pub fn received(&self) -> Vec<Received> {
        self.seen.0.lock().unwrap().received.clone()
    }

    /// What it was asked last.
    pub fn last(&self) -> Received {
        self.received().pop().unwrap()
    }

    /// How many connections were opened to it.
    pub fn connections(&self) -> usize {
        self.seen.0.lock().unwrap().connections
    }

    /// How many bytes of bodies it has written.
    pub fn written(&self) -> usize {
        self.seen.0.lock().unwrap().written
    }

    /// Waits until it was asked so many times.
    pub fn until_received(&self, count: usize) {
        self.until(|seen| seen.received.len() >= count, "a request");
    }

    /// Waits until so many of its replies met nobody who listened.
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

/// One connection, request after request.
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

/// Reads a request; none if the connection ends.
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

/// Writes a reply; whether the connection can be used again, none if nobody listens any more.
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

/// Pieces as they come, and meanwhile an eye on whether anybody listens.
fn fed(
    socket: &TcpStream,
    kind: &str,
    pieces: &Receiver<Vec<u8>>,
    shared: &Shared,
) -> std::io::Result<bool> {
    let leaving = socket.try_clone()?;
    let (tell, gone) = mpsc::channel();
    std::thread::spawn(move || {
        // A client that leaves ends its side, or breaks it off.
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
