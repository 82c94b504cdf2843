//! Replies of a service: a head, and a body that is complete or streaming.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderValue, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, StreamBody};
use toolwright_dialects::frame::Framing;

use super::budget::Share;

/// A reply.
pub type Reply = http::Response<ReplyBody>;

/// The body of a reply.
#[must_use]
pub struct ReplyBody(Kind);

enum Kind {
    Full(Bytes),
    Stream(StreamingBody),
}

type StreamingBody = Pin<Box<dyn Body<Data = Bytes, Error = BrokenOff> + Send>>;

/// A streaming body that ends early when a future is ready.
struct UntilBody {
    body: StreamingBody,
    /// `None` once it is ready
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Body for UntilBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let Some(end) = &mut self.end else {
            let is_cut = self.body.size_hint().exact().is_some_and(|left| left > 0);
            return Poll::Ready(is_cut.then_some(Err(BrokenOff)));
        };
        if end.as_mut().poll(cx).is_ready() {
            // The head and earlier frames are flushed first, because a failing connection drops them.
            self.end = None;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.body.as_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A reply that could not be finished: the connection ends early. The reason is in the log only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer broke off")]
pub struct BrokenOff;

impl ReplyBody {
    /// Creates a complete body.
    pub fn full(bytes: impl Into<Bytes>) -> ReplyBody {
        ReplyBody(Kind::Full(bytes.into()))
    }

    /// Ties a share of the memory budget to a complete body.
    pub fn held(self, share: Share) -> ReplyBody {
        match self.0 {
            Kind::Full(bytes) => ReplyBody(Kind::Full(share.hold(bytes))),
            stream @ Kind::Stream(_) => ReplyBody(stream),
        }
    }

    /// Returns the bytes of a complete body; empty for a stream.
    pub fn full_bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Full(bytes) => bytes,
            Kind::Stream(_) => &[],
        }
    }

    /// Creates an empty body.
    pub fn empty() -> ReplyBody {
        ReplyBody(Kind::Full(Bytes::new()))
    }

    /// Ends a streaming body early, when a future is ready. A body with an announced size then fails.
    pub fn until(self, end: impl Future<Output = ()> + Send + 'static) -> ReplyBody {
        match self.0 {
            Kind::Stream(body) => {
                ReplyBody(Kind::Stream(Box::pin(UntilBody { body, end: Some(Box::pin(end)) })))
            }
            full @ Kind::Full(_) => ReplyBody(full),
        }
    }

    /// Creates a streaming body. Each frame is sent as soon as it is available, with backpressure;
    /// if the body fails, the connection ends early.
    pub fn stream(body: impl Body<Data = Bytes> + Send + 'static) -> ReplyBody {
        ReplyBody(Kind::Stream(Box::pin(body.map_err(|_| BrokenOff))))
    }
}

/// Replies with a whole body of a media type.
pub fn typed_reply(media_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Reply::new(ReplyBody::full(body));
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}

/// Replies with server-sent events.
pub fn event_reply(events: impl Stream<Item = String> + Send + 'static) -> Reply {
    let frames = events.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
    let mut reply = Reply::new(ReplyBody::stream(StreamBody::new(frames)));
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(Framing::Sse.content_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    reply
}

impl std::fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Full(bytes) => write!(f, "ReplyBody({} bytes)", bytes.len()),
            Kind::Stream(_) => f.write_str("ReplyBody(stream)"),
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut self.0 {
            Kind::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}
