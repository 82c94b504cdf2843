//! What a service answers: a head, and a body that is whole or still being made.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

use super::budget::Share;

/// An answer.
pub type Reply = http::Response<ReplyBody>;

/// The body of an answer.
pub struct ReplyBody(Kind);

enum Kind {
    Full(Bytes),
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = BrokenOff> + Send>>),
}

/// An answer that could not be finished: the client sees that it ends too early. Why is a matter for
/// the log, not for the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer broke off")]
pub struct BrokenOff;

impl ReplyBody {
    /// A body that is there.
    pub fn full(bytes: impl Into<Bytes>) -> ReplyBody {
        ReplyBody(Kind::Full(bytes.into()))
    }

    /// A body that is there gets its room from a share.
    #[must_use]
    pub fn held(self, share: Share) -> ReplyBody {
        match self.0 {
            Kind::Full(bytes) => ReplyBody(Kind::Full(share.hold(bytes))),
            stream @ Kind::Stream(_) => ReplyBody(stream),
        }
    }

    /// What is there already: all of a full body, nothing of one that is being made.
    pub fn whole(&self) -> &[u8] {
        match &self.0 {
            Kind::Full(bytes) => bytes,
            Kind::Stream(_) => &[],
        }
    }

    /// No body.
    pub fn empty() -> ReplyBody {
        ReplyBody(Kind::Full(Bytes::new()))
    }

    /// A body that is being made. The client gets each frame as soon as it is there, and takes the
    /// next when it has room; if the body fails, the answer breaks off.
    pub fn stream(body: impl Body<Data = Bytes> + Send + 'static) -> ReplyBody {
        ReplyBody(Kind::Stream(Box::pin(body.map_err(|_| BrokenOff))))
    }
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
