//! A server on stdin and stdout: one message or batch on each line.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolwright_dialects::frame::MAX_FRAME;

use super::{Exchange, Outbox, Peer, Server};
use crate::message::{InvalidMessage, Message, Payload, Request, Response, RpcError};
use crate::protocol::{INITIALIZE, INVALID_REQUEST};

/// Maximum number of requests at the same time; further ones are refused.
const MAX_CONCURRENT: usize = 64;

/// Time that requests have to finish when the input has ended.
const GRACE: Duration = Duration::from_secs(2);

/// Serves one client until its input ends. The function gives what each request is served with.
pub async fn serve_stdio(
    server: Server,
    exchange: impl Fn(Outbox) -> Exchange,
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (outbox, messages) = Outbox::new();
    let (responses, written) = mpsc::channel(MAX_CONCURRENT);
    let (batches, written_batches) = mpsc::channel(MAX_CONCURRENT);
    let writing = tokio::spawn(write(output, messages, written, written_batches));
    let mut tasks = JoinSet::new();
    let (session, peers) = (OnceLock::new(), Vec::new());
    let mut connection = Connection { server, exchange, outbox, session, peers };
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = MAX_FRAME as u64 + 1;
        if (&mut input).take(limit).read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        if line.len() > MAX_FRAME {
            let message = format!("a message has more than {MAX_FRAME} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        while tasks.try_join_next().is_some() {}
        let refused = match Payload::parse(line.trim_ascii()) {
            Ok(Payload::Message(message)) => {
                connection.take(message, &responses, &mut tasks).await;
                continue;
            }
            Ok(Payload::Batch(batch)) => match connection.session.get() {
                Some(peer) if peer.has_batches() => {
                    connection.take_batch(batch, &batches, &mut tasks).await;
                    continue;
                }
                session => InvalidMessage::batch(session.map(|peer| peer.version())),
            },
            Err(invalid) => invalid,
        };
        let _ = responses.send(*refused.0).await;
    }
    // The session sends messages, too.
    drop((connection, responses, batches));
    let finishing = async { while tasks.join_next().await.is_some() {} };
    let _ = timeout(GRACE, finishing).await;
    tasks.shutdown().await;
    // A request that waits for input keeps the channel of messages open.
    timeout(GRACE, writing).await.map_or(Ok(()), |written| written.unwrap_or(Ok(())))
}

/// The client, and what its requests are served with.
struct Connection<E> {
    server: Server,
    exchange: E,
    outbox: Outbox,
    session: OnceLock<Arc<Peer>>,
    /// Clients of requests without a session, which can be cancelled
    peers: Vec<Weak<Peer>>,
}

impl<E: Fn(Outbox) -> Exchange> Connection<E> {
    /// Takes a message. Requests are answered in tasks.
    async fn take(
        &mut self,
        message: Message,
        responses: &mpsc::Sender<Response>,
        tasks: &mut JoinSet<()>,
    ) {
        match message {
            Message::Request(request) if request.method == INITIALIZE => {
                let exchange = (self.exchange)(self.outbox.clone());
                let (new, result) = self.server.initialize(&request.params, &exchange);
                let _ = self.session.set(new);
                let _ = responses.send(Response { id: Some(request.id), result: Ok(result) }).await;
            }
            Message::Request(request) => {
                let client = if tasks.len() < MAX_CONCURRENT {
                    client(&request, self.session.get())
                } else {
                    let message = format!("more than {MAX_CONCURRENT} requests are in progress");
                    Err(RpcError::internal(message))
                };
                let client = match client {
                    Ok(client) => client,
                    Err(error) => {
                        let id = Some(request.id);
                        let _ = responses.send(Response { id, result: Err(error) }).await;
                        return;
                    }
                };
                self.peers.retain(|peer| peer.strong_count() > 0);
                if !self.peers.iter().any(|peer| peer.as_ptr() == Arc::as_ptr(&client)) {
                    self.peers.push(Arc::downgrade(&client));
                }
                let exchange = (self.exchange)(self.outbox.clone());
                let (server, responses) = (self.server.clone(), responses.clone());
                tasks.spawn(async move {
                    if let Some(response) = server.serve(request, &client, exchange).await {
                        let _ = responses.send(response).await;
                    }
                });
            }
            Message::Notification(notification) => {
                for peer in self.peers.iter().filter_map(Weak::upgrade) {
                    peer.notified(&notification);
                }
            }
            Message::Response(response) => {
                if let Some(peer) = self.session.get() {
                    peer.answered(response);
                }
            }
        }
    }

    /// Takes the messages of a batch. Their responses are a batch as well.
    async fn take_batch(
        &mut self,
        batch: Vec<Result<Message, InvalidMessage>>,
        batches: &mpsc::Sender<Vec<Response>>,
        tasks: &mut JoinSet<()>,
    ) {
        let (responses, mut collected) = mpsc::channel(batch.len());
        for message in batch {
            match message.and_then(Message::in_batch) {
                Ok(message) => self.take(message, &responses, tasks).await,
                Err(InvalidMessage(response)) => drop(responses.send(*response).await),
            }
        }
        drop(responses);
        let batches = batches.clone();
        tasks.spawn(async move {
            let mut responses = Vec::new();
            while let Some(response) = collected.recv().await {
                responses.push(response);
            }
            if !responses.is_empty() {
                let _ = batches.send(responses).await;
            }
        });
    }
}

/// The client of a request: that of its metadata, or that of the session.
fn client(request: &Request, session: Option<&Arc<Peer>>) -> Result<Arc<Peer>, RpcError> {
    match session {
        Some(peer) if !request.is_stateless() => Ok(peer.clone()),
        None if !request.is_stateless() && request.method == "ping" => {
            Err(RpcError::new(INVALID_REQUEST, "Invalid request: send initialize first"))
        }
        _ => Server::stateless_peer(request),
    }
}

/// Writes messages, and responses after the messages that belong to them.
async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Message>,
    mut responses: mpsc::Receiver<Response>,
    mut batches: mpsc::Receiver<Vec<Response>>,
) -> io::Result<()> {
    loop {
        let mut line = tokio::select! {
            biased;
            Some(message) = messages.recv() => message.compact(),
            Some(response) = responses.recv() => Message::Response(response).compact(),
            Some(batch) = batches.recv() => Response::compact_batch(batch),
            else => return Ok(()),
        };
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
}
