//! Replies to requests: one message, or server-sent events.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt, stream};
use http::HeaderValue;
use tokio::sync::mpsc;
use toolwright_mcp::{Message, Response};

use super::{accepted, message_reply, status_of};
use crate::http::{Reply, event_reply};

/// Messages before a response.
pub(super) type Messages = mpsc::Receiver<Message>;

/// Interval of the comments in a stream, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Serving {
    /// The request, until it is answered
    running: Option<BoxFuture<'static, Option<Response>>>,
    messages: Messages,
    /// The next message
    next: Option<Message>,
    /// The response, which follows all messages
    response: Option<Response>,
}

/// Replies with one message if the response is the first one, else with a stream. Dropping the reply cancels the
/// request.
pub(super) async fn reply(
    mut running: BoxFuture<'static, Option<Response>>,
    mut messages: Messages,
) -> Reply {
    let mut serving = tokio::select! {
        biased;
        Some(first) = messages.recv() => {
            Serving { running: Some(running), messages, next: Some(first), response: None }
        }
        response = &mut running => {
            // Messages may have been sent just before.
            let next = messages.try_recv().ok();
            Serving { running: None, messages, next, response }
        }
    };
    if serving.next.is_none() {
        return match serving.response.take() {
            Some(response) => message_reply(status_of(&response), response),
            None => accepted(),
        };
    }
    let events = stream::unfold(serving, Serving::next);
    events_reply(events.map(|message| event(None, &message.compact())))
}

impl Serving {
    async fn next(mut self) -> Option<(Message, Serving)> {
        if let Some(message) = self.next.take() {
            return Some((message, self));
        }
        if let Some(running) = &mut self.running {
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => return Some((message, self)),
                response = running => {
                    self.running = None;
                    self.response = response;
                }
            }
        }
        if let Ok(message) = self.messages.try_recv() {
            return Some((message, self));
        }
        let response = self.response.take()?;
        Some((Message::Response(response), self))
    }
}

/// Writes an event, with its id if the stream can be continued.
pub(super) fn event(id: Option<&str>, data: &str) -> String {
    match id {
        Some(id) => format!("id: {id}\ndata: {data}\n\n"),
        None => format!("event: message\ndata: {data}\n\n"),
    }
}

/// A reply of server-sent events, with comments while there are none.
pub(super) fn events_reply(events: impl Stream<Item = String> + Send + 'static) -> Reply {
    let events = stream::unfold(Box::pin(events), |mut events| async move {
        match tokio::time::timeout(KEEP_ALIVE, events.next()).await {
            Ok(Some(event)) => Some((event, events)),
            Ok(None) => None,
            Err(_) => Some((":\n\n".to_owned(), events)),
        }
    });
    let mut reply = event_reply(events);
    reply.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}
