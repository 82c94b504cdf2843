//! Responses: the head, then the body frame by frame.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderName};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::deadline::Timer;
use super::fault::{self, HttpFault};
use super::permit::Permit;

/// A response whose head has arrived.
pub struct Incoming {
    /// The status
    pub status: StatusCode,
    /// The headers
    pub headers: HeaderMap,
    /// The body, as it arrives
    pub body: IncomingBody,
}

impl Incoming {
    /// Accepts a response that is valid HTTP and not compressed.
    pub(super) fn accept(
        response: Response<hyper::body::Incoming>,
        meta: BodyContext,
    ) -> Result<Incoming, HttpFault> {
        let (head, body) = response.into_parts();
        if head.status.is_informational() || head.status.as_u16() >= 600 {
            let what = format!("sent the invalid status {}", head.status.as_u16());
            return Err(fault::answer(&meta.label, &what));
        }
        if head.headers.contains_key(CONTENT_ENCODING)
            && !begins_with(&head.headers, &CONTENT_ENCODING, "identity")
        {
            let what = "sent a compressed response, which it was asked not to";
            return Err(fault::answer(&meta.label, what));
        }
        let announced = body.size_hint().exact();
        let body = IncomingBody { inner: Some(body), meta, announced, arrived: 0, waiting: false };
        Ok(Incoming { status: head.status, headers: head.headers, body })
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Incoming").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Whether the value of a header begins with a text, in any case.
pub fn begins_with(headers: &HeaderMap, name: &HeaderName, text: &str) -> bool {
    let value = headers.get(name).map(http::HeaderValue::as_bytes).unwrap_or_default();
    value.len() >= text.len() && value[..text.len()].eq_ignore_ascii_case(text.as_bytes())
}

/// The label of the peer, the timer, the limit and the permit of a response body.
pub(super) struct BodyContext {
    pub(super) label: Arc<str>,
    pub(super) timer: Timer,
    pub(super) idle: Duration,
    /// Whether a repeated request is harmless
    pub(super) is_repeatable: bool,
    /// Maximum number of bytes
    pub(super) limit: usize,
    /// Held until the body has ended
    pub(super) permit: Option<Permit>,
    /// Called with the bytes as they are read
    pub(super) observer: Option<BodyObserver>,
}

/// A function that is called with the bytes of a response body as they are read.
pub type BodyObserver = Box<dyn FnMut(&[u8]) + Send + Sync>;

/// A response body. Each frame must arrive within the idle deadline. Dropping it cancels the request.
pub struct IncomingBody {
    /// `None` once it has ended or failed
    inner: Option<hyper::body::Incoming>,
    meta: BodyContext,
    announced: Option<u64>,
    /// Number of bytes that have arrived
    arrived: usize,
    /// Whether the timer is set for the next frame
    waiting: bool,
}

impl IncomingBody {
    /// Sets a function that is called with the bytes as they are read.
    pub fn observe(&mut self, observer: BodyObserver) {
        self.meta.observer = Some(observer);
    }

    /// The length that the peer announced.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    /// The next bytes, or none at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, HttpFault>> {
        loop {
            let frame = std::future::poll_fn(|context| Pin::new(&mut *self).poll_frame(context));
            match frame.await? {
                // Trailers are skipped.
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(fault) => return Some(Err(fault)),
            }
        }
    }

    /// The complete body, up to a limit in bytes.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, HttpFault> {
        let announced = usize::try_from(self.announced.unwrap_or(0)).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(self.too_large(limit));
        }
        let Some(first) = self.next().await.transpose()? else { return Ok(Bytes::new()) };
        if first.len() > limit {
            return Err(self.too_large(limit));
        }
        if self.is_end_stream() {
            return Ok(first);
        }
        let Some(second) = self.next().await.transpose()? else { return Ok(first) };
        // Do not allocate the announced length before the bytes arrive.
        let capacity = announced.min(4 * (first.len() + second.len()));
        let mut whole = BytesMut::with_capacity(capacity.max(first.len() + second.len()));
        whole.extend_from_slice(&first);
        let mut next = Some(second);
        while let Some(data) = next {
            if whole.len() + data.len() > limit {
                return Err(self.too_large(limit));
            }
            whole.extend_from_slice(&data);
            next = self.next().await.transpose()?;
        }
        Ok(whole.freeze())
    }

    /// Releases the connection and the permit.
    fn end(&mut self) {
        self.inner = None;
        self.meta.permit = None;
    }

    /// Returns the fault of a body that is larger than a limit.
    pub fn too_large(&self, limit: usize) -> HttpFault {
        let what = format!("sent a response of more than the maximum of {limit} bytes");
        fault::answer(&self.meta.label, &what)
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = HttpFault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFault>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let meta = &mut this.meta;
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.waiting = false;
                this.arrived += frame.data_ref().map_or(0, Bytes::len);
                if this.arrived > meta.limit {
                    let fault = this.too_large(this.meta.limit);
                    this.end();
                    return Poll::Ready(Some(Err(fault)));
                }
                if let (Some(observer), Some(data)) = (&mut this.meta.observer, frame.data_ref()) {
                    observer(data);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let fault =
                    fault::broken_off(&meta.label, &error, this.announced, meta.is_repeatable);
                this.end();
                Poll::Ready(Some(Err(fault)))
            }
            Poll::Ready(None) => {
                this.end();
                Poll::Ready(None)
            }
            Poll::Pending => {
                // The timer is set once for each frame that is not there yet.
                if !this.waiting {
                    this.waiting = true;
                    meta.timer.set_after(meta.idle);
                }
                ready!(meta.timer.poll(context));
                let fault = fault::no_frame(&meta.label, meta.idle, meta.is_repeatable);
                this.end();
                Poll::Ready(Some(Err(fault)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl fmt::Debug for IncomingBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("IncomingBody")
            .field("announced", &self.announced)
            .finish_non_exhaustive()
    }
}
