//! Request bodies: all of the bytes in one frame.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// The instant at which the connection took the request body: the deadline for the response starts then.
#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<OnceLock<Instant>>);

impl Sent {
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.get().copied()
    }
}

/// A request's body: all of it in one frame.
pub(crate) struct OutgoingBody {
    data: Option<Bytes>,
    sent: Sent,
}

impl OutgoingBody {
    pub(crate) fn new(data: Bytes, sent: Sent) -> OutgoingBody {
        OutgoingBody { data: Some(data).filter(|data| !data.is_empty()), sent }
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.sent.0.get_or_init(Instant::now);
        Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        if self.data.is_none() {
            // An empty body is not polled: the connection takes it by this call.
            self.sent.0.get_or_init(Instant::now);
        }
        self.data.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.data.as_ref().map_or(0, Bytes::len) as u64)
    }
}
