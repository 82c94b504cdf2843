//! Bodies of requests that are answered before they were read to the end.
//!
//! HTTP/2 resets the stream of such a request when its body is dropped. Some clients (curl 7.88) then lose the
//! answer that they have received. So the body is read for a while, in which the client receives the answer and stops
//! by itself.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How long a body is kept after it was dropped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of bytes that are read of it.
const MAX_BYTES: usize = 1 << 20;

/// The body of a request.
pub(super) struct UnreadBody {
    /// Taken when it is dropped
    body: Option<Incoming>,
    version: Version,
}

impl UnreadBody {
    pub(super) fn new(body: Incoming, version: Version) -> UnreadBody {
        UnreadBody { body: Some(body), version }
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|body| !body.is_end_stream());
        if let (Version::HTTP_2, Some(body), Ok(runtime)) =
            (self.version, unread, Handle::try_current())
        {
            runtime.spawn(discard(body));
        }
    }
}

/// Reads and drops a body, within limits.
async fn discard(mut body: Incoming) {
    let (end, mut size) = (Instant::now() + PATIENCE, 0);
    while size < MAX_BYTES {
        match timeout_at(end, body.frame()).await {
            Ok(Some(Ok(frame))) => size += frame.data_ref().map_or(0, Bytes::len),
            // It has ended, the client has reset it, or it takes too long.
            _ => return,
        }
    }
    sleep_until(end).await;
}

impl Body for UnreadBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}
