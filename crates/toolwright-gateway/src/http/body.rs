//! Reads the body of a request: within size and time limits, with at most one copy.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use toolwright_core::{Fault, FaultClass};

use super::budget::Share;
use super::connection::ConnectionContext;

/// Maximum number of bytes that are allocated for an announced body before it arrives.
const TRUSTED: usize = 1 << 20;

/// Minimum average rate of a body in bytes per second. A slow drip without long pauses would
/// otherwise hold a request open for days.
const SLOWEST: u64 = 1 << 10;

/// The body of a request, not read yet.
pub struct RequestBody {
    body: Incoming,
    context: Arc<ConnectionContext>,
    encoded: bool,
}

impl RequestBody {
    pub(super) fn new(
        body: Incoming,
        headers: &HeaderMap,
        context: Arc<ConnectionContext>,
    ) -> RequestBody {
        let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        let encoded = !headers.get_all(header::CONTENT_ENCODING).iter().all(plain);
        context.watchdog.set_unread(!body.is_end_stream());
        RequestBody { body, context, encoded }
    }

    /// Reads the body to its end. The bytes count against the memory budget until their last clone
    /// is dropped.
    pub async fn read(self) -> Result<Bytes, Fault> {
        let RequestBody { body, context, encoded } = self;
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        if encoded {
            return Err(encoded_body());
        }
        let limits = &context.settings.limits;
        let announced = body.size_hint().exact();
        if announced.is_some_and(|size| size > limits.body as u64) {
            return Err(too_large(limits.body));
        }
        let reading = Reading {
            body,
            share: context.budget.share(),
            most: limits.body,
            announced,
            patience: limits.body_timeout,
            started: Instant::now(),
            size: 0,
        };
        let bytes = reading.run().await?;
        context.watchdog.set_unread(false);
        Ok(bytes)
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({:?})", self.body.size_hint())
    }
}

/// A body that is being read.
struct Reading {
    body: Incoming,
    share: Share,
    most: usize,
    announced: Option<u64>,
    patience: Duration,
    started: Instant,
    size: usize,
}

impl Reading {
    async fn run(mut self) -> Result<Bytes, Fault> {
        let first = self.next().await?.unwrap_or_default();
        // Most bodies arrive in one frame, which is returned without a copy.
        if self.body.is_end_stream() || self.announced == Some(first.len() as u64) {
            return Ok(self.share.hold(first));
        }
        let mut whole = BytesMut::with_capacity(self.expected().min(TRUSTED).max(first.len()));
        whole.extend_from_slice(&first);
        drop(first);
        while let Some(piece) = self.next().await? {
            append(&mut whole, &piece, self.expected());
        }
        Ok(self.share.hold(whole.freeze()))
    }

    /// Returns the next bytes, or `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let earned = Duration::from_secs(self.size as u64 / SLOWEST);
            let deadline =
                (Instant::now() + self.patience).min(self.started + self.patience + earned);
            let frame = match timeout_at(deadline, self.body.frame()).await {
                Err(_) => return Err(too_slow(self.patience)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Err(cut_off()),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(piece) = frame.into_data() else { continue };
            self.size += piece.len();
            if self.size > self.most {
                return Err(too_large(self.most));
            }
            self.share.reach(self.size, self.expected()).await?;
            return Ok(Some(piece));
        }
    }

    /// Returns the announced size, or else the maximum.
    fn expected(&self) -> usize {
        self.announced.and_then(|size| usize::try_from(size).ok()).unwrap_or(self.most)
    }
}

/// Appends a frame to a body of at most `most` bytes. If there is no capacity, the body moves once,
/// to the maximum that it can need: untouched memory is not resident, while growing step by step
/// would hold the body twice at each step.
pub(crate) fn append(whole: &mut BytesMut, piece: &Bytes, most: usize) {
    if whole.capacity() - whole.len() < piece.len() {
        whole.reserve(most.saturating_sub(whole.len()).max(piece.len()));
    }
    whole.extend_from_slice(piece);
}

fn fault(class: FaultClass, status: u16, message: String) -> Fault {
    Fault { status: Some(status), ..Fault::new(class, message) }
}

fn too_large(most: usize) -> Fault {
    let message = format!(
        "The body of the request is larger than the {most} bytes that are accepted. Send less, or \
         raise limits.body in the gateway's configuration."
    );
    fault(FaultClass::TooLarge, 413, message)
}

fn too_slow(patience: Duration) -> Fault {
    let message = format!(
        "The body of the request came too slowly: it stopped for more than {patience:?}, or came at \
         less than {SLOWEST} bytes a second. Send it again."
    );
    fault(FaultClass::Timeout, 408, message)
}

fn cut_off() -> Fault {
    let message = "The body of the request broke off or is not framed as its headers say. Send it \
                   again, whole.";
    fault(FaultClass::Invalid, 400, message.to_owned())
}

fn encoded_body() -> Fault {
    let message = "The body of the request is compressed (content-encoding). Send it \
                   uncompressed.";
    fault(FaultClass::Invalid, 415, message.to_owned())
}
