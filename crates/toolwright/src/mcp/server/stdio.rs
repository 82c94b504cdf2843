//! A server on stdin and stdout: one message on each line.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolwright_core::frame::MAX_FRAME;

use super::{Exchange, Outbox, Peer, Server};
use crate::mcp::message::{InvalidMessage, Message, Request, Response, RpcError};
use crate::mcp::protocol::{INITIALIZE, INVALID_REQUEST};

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
    let writing = tokio::spawn(write(output, messages, written));
    let session: OnceLock<Arc<Peer>> = OnceLock::new();
    // Clients of requests without a session, which can be cancelled.
    let mut peers: Vec<Weak<Peer>> = Vec::new();
    let mut tasks = JoinSet::new();
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
        let message = match Message::parse(line.trim_ascii()) {
            Ok(message) => message,
            Err(InvalidMessage(response)) => {
                let _ = responses.send(*response).await;
                continue;
            }
        };
        while tasks.try_join_next().is_some() {}
        match message {
            Message::Request(request) if request.method == INITIALIZE => {
                let (new, result) = server.initialize(&request.params, &exchange(outbox.clone()));
                let _ = session.set(new);
                let _ = responses.send(Response { id: Some(request.id), result: Ok(result) }).await;
            }
            Message::Request(request) => {
                let client = if tasks.len() < MAX_CONCURRENT {
                    client(&request, session.get())
                } else {
                    let message = format!("more than {MAX_CONCURRENT} requests are in progress");
                    Err(RpcError::internal(message))
                };
                let client = match client {
                    Ok(client) => client,
                    Err(error) => {
                        let id = Some(request.id);
                        let _ = responses.send(Response { id, result: Err(error) }).await;
                        continue;
                    }
                };
                peers.retain(|peer| peer.strong_count() > 0);
                if !peers.iter().any(|peer| peer.as_ptr() == Arc::as_ptr(&client)) {
                    peers.push(Arc::downgrade(&client));
                }
                let exchange = exchange(outbox.clone());
                let (server, responses) = (server.clone(), responses.clone());
                tasks.spawn(async move {
                    if let Some(response) = server.serve(request, &client, exchange).await {
                        let _ = responses.send(response).await;
                    }
                });
            }
            Message::Notification(notification) => {
                for peer in peers.iter().filter_map(Weak::upgrade) {
                    peer.notified(&notification);
                }
            }
            Message::Response(response) => {
                if let Some(peer) = session.get() {
                    peer.answered(response);
                }
            }
        }
    }
    // The session sends messages, too.
    drop((outbox, responses, session));
    let finishing = async { while tasks.join_next().await.is_some() {} };
    let _ = timeout(GRACE, finishing).await;
    tasks.shutdown().await;
    // A request that waits for input keeps the channel of messages open.
    timeout(GRACE, writing).await.map_or(Ok(()), |written| written.unwrap_or(Ok(())))
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
) -> io::Result<()> {
    loop {
        let message = tokio::select! {
            biased;
            Some(message) = messages.recv() => message,
            Some(response) = responses.recv() => Message::Response(response),
            else => return Ok(()),
        };
        let mut line = message.compact();
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
}
