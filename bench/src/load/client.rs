//! One connection of the load generator, and one exchange over it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Target;
use crate::failure::{Failure, Outcome};
use crate::nonce::Nonce;
use crate::question::{Question, QuestionBody};

/// A timeout that no valid reply reaches.
const PATIENCE: Duration = Duration::from_mins(1);

/// A nonce that no other request of this process has.
pub(crate) fn next_nonce() -> Nonce {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Nonce::new(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The times of the first and the last byte of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The first byte of the body
    pub(crate) first: Instant,
    /// The end
    pub(crate) last: Instant,
}

/// A received reply.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status
    pub(crate) status: u16,
    /// All bytes of its body
    pub(crate) body: Vec<u8>,
    /// The times of the first and last byte
    pub(crate) times: Times,
}

/// A persistent connection.
pub(crate) struct Connection {
    sender: SendRequest<QuestionBody>,
    host: String,
    /// Reused, so that no exchange allocates for the reply
    body: Vec<u8>,
}

impl Connection {
    /// Connects, without Nagle.
    pub(crate) async fn open(address: SocketAddr) -> Outcome<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Errors are also reported to the request that waits for a reply.
        tokio::spawn(connection);
        Ok(Connection { sender, host: address.to_string(), body: Vec::new() })
    }

    /// Whether the peer still holds the connection open.
    pub(crate) async fn is_ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Sends the request, reads the complete reply, and checks it.
    pub(crate) async fn exchange(&mut self, target: &Target) -> Outcome<Times> {
        let nonce = next_nonce();
        let answer = self.read(&target.question, nonce).await?;
        target.expect.check(answer.status, &answer.body, nonce)?;
        self.body = answer.body;
        Ok(answer.times)
    }

    /// Sends a request and reads the complete reply.
    pub(crate) async fn read(&mut self, question: &Question, nonce: Nonce) -> Outcome<Answer> {
        match tokio::time::timeout(PATIENCE, self.read_patiently(question, nonce)).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure(format!("no answer within {} s", PATIENCE.as_secs()))),
        }
    }

    async fn read_patiently(&mut self, question: &Question, nonce: Nonce) -> Outcome<Answer> {
        let (status, mut incoming) = self.head(question, nonce).await?;
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let mut first = None;
        while let Some(frame) = incoming.frame().await {
            let frame = frame?;
            first.get_or_insert_with(Instant::now);
            if let Some(data) = frame.data_ref() {
                body.extend_from_slice(data);
            }
        }
        let last = Instant::now();
        Ok(Answer { status, body, times: Times { first: first.unwrap_or(last), last } })
    }

    /// Sends a request and waits for the head only. Dropping the body and the connection
    /// disconnects.
    pub(crate) async fn head(
        &mut self,
        question: &Question,
        nonce: Nonce,
    ) -> Outcome<(u16, hyper::body::Incoming)> {
        self.sender.ready().await?;
        let reply = self.sender.send_request(question.ask(&self.host, nonce)).await?;
        Ok((reply.status().as_u16(), reply.into_body()))
    }
}
