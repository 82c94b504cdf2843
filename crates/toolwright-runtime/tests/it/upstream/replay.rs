//! An upstream that replays recorded replies and records the requests. It uses none of our codecs.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use toolwright_core::Json;

use toolwright_testing::server::{Server, read_request};

/// A received request.
#[derive(Debug, Clone)]
pub struct Seen {
    pub head: String,
    pub body: Json,
}

impl Seen {
    /// The path with its query.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// A header by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        self.head.lines().find(line).map(|line| line[name.len() + 1..].trim())
    }

    /// The string at a pointer of the body.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.body.pointer(pointer).and_then(Json::as_str)
    }
}

/// A reply to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Size of a chunk in bytes; `None` if the length is announced
    chunk: Option<usize>,
    whole: bool,
}

impl Reply {
    /// A document.
    pub fn json(body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type", "application/json".to_owned())];
        Reply { status: 200, headers, body: body.into(), chunk: None, whole: true }
    }

    /// A stream in chunks of seven bytes, which split frames and characters.
    pub fn stream(kind: &str, body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type", kind.to_owned())];
        Reply { status: 200, headers, body: body.into(), chunk: Some(7), whole: true }
    }

    pub fn status(self, status: u16) -> Reply {
        Reply { status, ..self }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Reply {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Closes the connection before the end of the body.
    pub fn cut(self) -> Reply {
        Reply { whole: false, ..self }
    }

    async fn write(&self, stream: &mut TcpStream) {
        let mut bytes = format!("HTTP/1.1 {} Whatever\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        match self.chunk {
            None => {
                let length = self.body.len() + usize::from(!self.whole);
                bytes.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
                bytes.extend_from_slice(&self.body);
            }
            Some(size) => {
                bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
                for piece in self.body.chunks(size) {
                    bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                    bytes.extend_from_slice(piece);
                    bytes.extend_from_slice(b"\r\n");
                }
                if self.whole {
                    bytes.extend_from_slice(b"0\r\n\r\n");
                }
            }
        }
        // The client may have closed already.
        stream.write_all(&bytes).await.ok();
    }
}

/// Computes a reply from a request.
type Answer = dyn Fn(usize, &Seen) -> Reply + Send + Sync;

pub struct Replay {
    server: Server,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Replay {
    /// Computes the reply from the number and content of each request.
    pub async fn by(answer: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Replay {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&seen), Arc::<Answer>::from(Box::new(answer) as Box<_>));
        let server = Server::new(move |mut stream: TcpStream| {
            let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            async move {
                while let Some((head, body)) = read_request(&mut stream).await {
                    let own = Seen { head, body: Json::parse_bytes(&body).unwrap() };
                    let number = kept.lock().unwrap().len();
                    kept.lock().unwrap().push(own.clone());
                    let reply = answer(number, &own);
                    reply.write(&mut stream).await;
                    if !reply.whole {
                        return;
                    }
                }
            }
        });
        Replay { server: server.await, seen }
    }

    /// Gives replies in order, and repeats the last one.
    pub async fn of(replies: impl IntoIterator<Item = Reply>) -> Replay {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Replay::by(move |number, _| replies[number.min(replies.len() - 1)].clone()).await
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// The bytes of a recorded file.
pub fn recorded(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
