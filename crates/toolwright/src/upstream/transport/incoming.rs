//! Responses: the head, then the body frame by frame.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use toolwright_core::fault::Fault;

use super::deadline::Timer;
use super::fault;
use super::permit::Permit;

/// A response whose head has arrived.
pub struct Incoming {
    /// The status: a success or a fault of the vendor
    pub status: StatusCode,
    /// The headers
    pub headers: HeaderMap,
    /// The body, as it arrives
    pub body: IncomingBody,
}

impl Incoming {
    /// Accepts a response, unless no API sends such a one.
    pub(crate) fn accept(
        response: Response<hyper::body::Incoming>,
        meta: BodyContext,
    ) -> Result<Incoming, Fault> {
        let (head, body) = response.into_parts();
        if let Some(what) = rejection(head.status, &head.headers) {
            return Err(fault::answer(&meta.id, &what));
        }
        if head.status.is_success() && body.is_end_stream() {
            return Err(fault::answer(&meta.id, "sent a response without content"));
        }
        let announced = body.size_hint().exact();
        let body = IncomingBody { inner: Some(body), meta, announced, waiting: false };
        Ok(Incoming { status: head.status, headers: head.headers, body })
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Incoming").field("status", &self.status).finish_non_exhaustive()
    }
}

/// What is wrong with a response that no API sends.
fn rejection(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    if status.is_redirection() || status.is_informational() {
        let what = "which is not followed; set its base_url to where the API is";
        return Some(format!("answered with status {}, {what}", status.as_u16()));
    }
    if status.as_u16() >= 600 {
        return Some(format!("sent the invalid status {}", status.as_u16()));
    }
    let is = |name, text: &str| {
        let value = headers.get(name).map(http::HeaderValue::as_bytes).unwrap_or_default();
        value.len() >= text.len() && value[..text.len()].eq_ignore_ascii_case(text.as_bytes())
    };
    if headers.contains_key(CONTENT_ENCODING) && !is(CONTENT_ENCODING, "identity") {
        return Some("sent a compressed response, which it was asked not to".to_owned());
    }
    // An error may be the page of a proxy; its status is enough.
    if status.is_success() && is(CONTENT_TYPE, "text/html") {
        return Some("answered with a web page; check the path of its base_url".to_owned());
    }
    None
}

/// The upstream, the timer and the permit of a response body.
pub(crate) struct BodyContext {
    pub(crate) id: Arc<str>,
    pub(crate) timer: Timer,
    pub(crate) idle: Duration,
    /// Held until the body has ended
    pub(crate) permit: Option<Permit>,
}

/// A response body. Each frame must arrive within the idle deadline. Dropping it cancels the request.
pub struct IncomingBody {
    /// `None` once it has ended or failed
    inner: Option<hyper::body::Incoming>,
    meta: BodyContext,
    announced: Option<u64>,
    /// Whether the timer is set for the next frame
    waiting: bool,
}

impl IncomingBody {
    /// The length that the upstream announced.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    /// The next bytes, or none at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, Fault>> {
        loop {
            let frame = std::future::poll_fn(|context| Pin::new(&mut *self).poll_frame(context));
            match frame.await? {
                // No dialect uses trailers.
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
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, Fault> {
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

    fn too_large(&self, limit: usize) -> Fault {
        let what = format!("sent a response of more than the maximum of {limit} bytes");
        fault::answer(&self.meta.id, &what)
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let meta = &mut this.meta;
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.waiting = false;
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let fault = fault::broken_off(&meta.id, &error, this.announced);
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
                let fault = fault::no_frame(&meta.id, meta.idle);
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
