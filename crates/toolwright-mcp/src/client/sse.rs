//! A server of the first transport over HTTP (2024-11-05): a GET opens the stream of all messages of the server,
//! and its first event names the address for messages to the server.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method};
use tokio::time::timeout;
use toolwright_transport::resolve_reference;

use super::READ_DEADLINE;
use super::error::ClientError;
use super::http::{Http, STREAM, ServerUrl, Stream, is_stream};
use super::inbox::Inbox;
use crate::message::Message;

/// A connection to a server.
pub(super) struct Sse {
    pub(super) sender: Arc<Sender>,
    reading: tokio::task::JoinHandle<()>,
}

/// Sends messages to the server. Answers that are being sent hold it, and not the connection, which ends however many
/// there are.
pub(super) struct Sender {
    post: Http,
    inbox: Arc<Inbox>,
}

impl Sse {
    /// Opens the stream. Its messages arrive in the inbox.
    pub(super) async fn open(
        address: &ServerUrl,
        inbox: Arc<Inbox>,
    ) -> Result<Arc<Sse>, ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, STREAM);
        let get = Http::new(address.clone(), inbox.clone());
        let incoming = get.send(Method::GET, &headers, Bytes::new()).await?;
        if !incoming.status.is_success() || !is_stream(&incoming.headers) {
            let reason = format!("no MCP server answers at its URL (status {})", incoming.status);
            return Err(inbox.unreachable(reason));
        }
        let mut stream = Stream::new(incoming.body);
        let first = stream.next().await.and_then(Result::ok);
        let target = first.filter(|frame| frame.name.as_deref() == Some("endpoint"));
        let target = target.and_then(|frame| resolve_reference(&address.url, &frame.data));
        let is_same = |target: &http::Uri| {
            let origin = |url: &http::Uri| (url.scheme().cloned(), url.authority().cloned());
            origin(target) == origin(&address.url)
        };
        let Some(url) = target.filter(is_same) else {
            let reason = "the first event of its stream names no address on its own server";
            return Err(inbox.broken(reason.to_owned()));
        };
        let mut address = address.clone();
        address.url = url;
        let post = Http::new(address, inbox.clone());
        let sender = Arc::new(Sender { post, inbox: inbox.clone() });
        let answering = sender.clone();
        let reading = tokio::spawn(async move {
            while let Some(Ok(frame)) = stream.next().await {
                for message in inbox.read(frame.data.as_bytes()) {
                    let Some(request) = inbox.deliver(message, None) else { continue };
                    let sender = answering.clone();
                    let send = |answer| async move { sender.notify(&answer).await };
                    inbox.spawn_answer(request, None, send).await;
                }
            }
            inbox.end("its stream has ended", None);
        });
        Ok(Arc::new(Sse { sender, reading }))
    }
}

impl Sender {
    /// Sends a message that no caller waits for.
    pub(super) async fn notify(&self, message: &Message) {
        let _ = timeout(READ_DEADLINE, self.send(message)).await;
    }

    pub(super) async fn send(&self, message: &Message) -> Result<(), ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let incoming =
            self.post.send(Method::POST, &headers, Bytes::from(message.compact())).await?;
        if incoming.status.is_success() {
            return Ok(());
        }
        Err(self.inbox.broken(format!("refused a message with status {}", incoming.status)))
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
