//! Reads the body of a request, within size and time limits: into memory with at most one copy, or
//! chunk by chunk, such as into a file.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header;
use http::request::Parts;
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout_at};
use toolwright_core::json::weigh_at_most;
use toolwright_core::{Fault, FaultClass};

use super::budget::Share;
use super::connection::ConnectionContext;
use super::unread::UnreadBody;

/// Maximum number of bytes that are allocated for an announced body before it arrives.
const MAX_PREALLOCATED: usize = 1 << 20;

/// Minimum average rate of a body in bytes per second. A slow drip without long pauses would
/// otherwise hold a request open for days.
const MIN_BYTES_PER_SECOND: u64 = 1 << 10;

/// The body of a request, not read yet.
pub struct RequestBody {
    body: UnreadBody,
    context: Arc<ConnectionContext>,
    encoded: bool,
}

impl RequestBody {
    pub(super) fn new(
        body: Incoming,
        head: &Parts,
        context: Arc<ConnectionContext>,
    ) -> RequestBody {
        let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        let encoded = !head.headers.get_all(header::CONTENT_ENCODING).iter().all(plain);
        context.watchdog.set_unread(!body.is_end_stream());
        let body = UnreadBody::new(body, head.version);
        RequestBody { body, context, encoded }
    }

    /// Reads the body to its end. The bytes count against the memory budget until their last clone
    /// is dropped.
    pub async fn read(self) -> Result<Bytes, Fault> {
        if self.body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let share = self.context.budget.share();
        let max = self.context.settings.limits.body;
        self.chunks(max as u64)?.collect(share, max).await
    }

    /// Reads a body that is to be parsed as JSON, with a share of the memory budget for its tree. A document whose
    /// tree exceeds the budget is refused, however few bytes it has.
    pub async fn read_document(self) -> Result<(Bytes, Share), Fault> {
        let mut share = self.context.budget.share();
        let body = self.read().await?;
        share.resize(weigh_at_most(&body)).await?;
        Ok((body, share))
    }

    /// Returns the body chunk by chunk. Its size is limited to `max` bytes in place of the limit for
    /// bodies in memory.
    pub fn chunks(self, max: u64) -> Result<BodyChunks, Fault> {
        let RequestBody { body, context, encoded } = self;
        let announced = body.size_hint().exact();
        if encoded && !body.is_end_stream() {
            return Err(encoded_body());
        }
        if announced.is_some_and(|size| size > max) {
            return Err(too_large(max));
        }
        Ok(BodyChunks { body, context, max, announced, started: Instant::now(), size: 0 })
    }

    /// Writes the body to a file as it arrives, at most `max` bytes, and returns its size. Memory use
    /// does not depend on the size. On failure the file has a part of the body.
    pub async fn save(self, file: &mut File, max: u64) -> Result<u64, Fault> {
        let mut chunks = self.chunks(max)?;
        while let Some(chunk) = chunks.next().await? {
            file.write_all(&chunk).await.map_err(|error| unwritable(&error))?;
        }
        file.flush().await.map_err(|error| unwritable(&error))?;
        Ok(chunks.size)
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({:?})", self.body.size_hint())
    }
}

/// The chunks of a body, as they arrive.
pub struct BodyChunks {
    body: UnreadBody,
    context: Arc<ConnectionContext>,
    max: u64,
    announced: Option<u64>,
    started: Instant,
    /// Number of bytes that have arrived
    size: u64,
}

impl BodyChunks {
    /// Returns the next chunk, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let patience = self.context.settings.limits.body_timeout;
        loop {
            let earned = Duration::from_secs(self.size / MIN_BYTES_PER_SECOND);
            let deadline = (Instant::now() + patience).min(self.started + patience + earned);
            let frame = match timeout_at(deadline, self.body.frame()).await {
                Err(_) => return Err(too_slow(patience)),
                Ok(None) => {
                    self.context.watchdog.set_unread(false);
                    return Ok(None);
                }
                Ok(Some(Err(_))) => return Err(cut_off()),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(chunk) = frame.into_data() else { continue };
            self.size += chunk.len() as u64;
            if self.size > self.max {
                return Err(too_large(self.max));
            }
            return Ok(Some(chunk));
        }
    }

    /// Reads all chunks into memory: at most `max` bytes, which the share reserves.
    async fn collect(mut self, mut share: Share, max: usize) -> Result<Bytes, Fault> {
        let expected = self.announced.and_then(|size| usize::try_from(size).ok()).unwrap_or(max);
        let first = self.next().await?.unwrap_or_default();
        share.reach(first.len(), expected).await?;
        // Most bodies arrive in one frame, which is returned without a copy.
        if self.body.is_end_stream() || self.announced == Some(first.len() as u64) {
            self.context.watchdog.set_unread(false);
            return Ok(share.hold(first));
        }
        let mut whole = BytesMut::with_capacity(expected.min(MAX_PREALLOCATED).max(first.len()));
        whole.extend_from_slice(&first);
        drop(first);
        while let Some(chunk) = self.next().await? {
            share.reach(whole.len() + chunk.len(), expected).await?;
            append(&mut whole, &chunk, expected);
        }
        Ok(share.hold(whole.freeze()))
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

fn too_large(most: u64) -> Fault {
    let message = format!(
        "The body of the request is larger than the {most} bytes that are accepted here. Send \
         less, or raise the limit in the gateway's configuration (limits.body for requests to a \
         model)."
    );
    fault(FaultClass::TooLarge, 413, message)
}

fn too_slow(patience: Duration) -> Fault {
    let message = format!(
        "The body of the request came too slowly: it stopped for more than {patience:?}, or came at \
         less than {MIN_BYTES_PER_SECOND} bytes a second. Send it again."
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

fn unwritable(error: &std::io::Error) -> Fault {
    tracing::warn!("the body of a request cannot be written to its file: {error}");
    let message = "The gateway cannot store the body of the request now. Its log says why.";
    let is_full = error.kind() == std::io::ErrorKind::StorageFull;
    fault(FaultClass::Internal, if is_full { 507 } else { 500 }, message.to_owned())
}
