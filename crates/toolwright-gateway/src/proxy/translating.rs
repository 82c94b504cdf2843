//! The body of a reply that is translated as it arrives: bytes of an upstream or events of the gateway in,
//! bytes in the client's dialect out, at most one frame behind.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use toolwright_core::{Fault, FaultClass};
use toolwright_dialects::translate::StreamTranslator;
use toolwright_runtime::model::EventStream;

use super::coalescing::CoalescingBody;
use super::collect::MAX_REPLY_BYTES;
use super::finalizer::Finalizer;
use crate::http::Full;
use crate::telemetry::BusySpan;

/// The source of a reply.
pub enum Source {
    /// The stream of an upstream
    Bytes(Box<CoalescingBody>),
    /// A model or a run of the gateway
    Events(EventStream),
    /// None, after the end
    Over,
}

/// Maximum time for draining a stream after its last event. A stream that is read to its end leaves a
/// connection that can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of calls in one stream. Each may continue until the end, so each fragment is looked up
/// among all of them.
pub(super) const MAX_CALLS: usize = 1024;

/// The body of a reply that is translated as it arrives.
pub struct TranslatingBody {
    source: Source,
    stream: StreamTranslator,
    out: Vec<u8>,
    /// Bytes that the upstream has sent
    received: usize,
    /// Bytes of memory that are reserved for other purposes
    room: usize,
    /// None after the end
    finalizer: Option<Finalizer>,
}

impl TranslatingBody {
    /// Creates the body of a reply.
    pub fn new(source: Source, stream: StreamTranslator, finalizer: Finalizer) -> TranslatingBody {
        let room = finalizer.share.size();
        let finalizer = Some(finalizer);
        TranslatingBody { source, stream, out: Vec::new(), received: 0, room, finalizer }
    }

    /// Translates what has arrived. Returns whether there may be more.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        if let Some(finalizer) = &mut self.finalizer
            && let Poll::Ready(fault) = finalizer.removal.poll_unpin(context)
        {
            self.stream.fail(fault, &mut self.out);
            return Poll::Ready(false);
        }
        let (span, more) = match &mut self.source {
            Source::Bytes(body) => {
                let frame = ready!(Pin::new(body).poll_frame(context));
                (BusySpan::start(), self.translate(frame))
            }
            Source::Events(events) => {
                let event = ready!(events.as_mut().poll_next(context));
                let (span, more) = (BusySpan::start(), event.is_some());
                self.stream.write(event, &mut self.out);
                if !more {
                    self.stream.fail(broken_off(), &mut self.out);
                }
                (span, more)
            }
            Source::Over => return Poll::Ready(false),
        };
        if !self.has_room() {
            self.stream.fail(Full::Now.into(), &mut self.out);
        }
        if let Some(finalizer) = &mut self.finalizer {
            finalizer.recorder.output_tokens = Some(self.stream.tokens());
            finalizer.recorder.add_busy(span);
        }
        Poll::Ready(more && !self.stream.summary().is_over())
    }

    /// Translates a frame of an upstream's body. Returns whether there may be more.
    fn translate(&mut self, frame: Option<Result<Frame<Bytes>, Fault>>) -> bool {
        match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(bytes))) => {
                self.received += bytes.len();
                // Some dialects hold a call back until it is complete, so the size must be bounded.
                if self.received > MAX_REPLY_BYTES || self.stream.summary().calls.len() > MAX_CALLS
                {
                    self.stream.fail(too_long(), &mut self.out);
                    return false;
                }
                self.stream.push(&bytes, &mut self.out).is_ok()
            }
            Some(Ok(Err(_trailers))) => true,
            Some(Err(fault)) => {
                self.stream.fail(fault, &mut self.out);
                false
            }
            None => {
                // An error has become the fault that the client gets.
                let _ = self.stream.finish(&mut self.out);
                false
            }
        }
    }

    /// Whether there is memory for what is held back. Growing a buffer takes twice its size.
    fn has_room(&mut self) -> bool {
        let size = self.room + 2 * self.stream.buffered_bytes();
        self.finalizer.as_mut().is_none_or(|finalizer| finalizer.share.try_resize(size))
    }

    /// Ends the body after its last event, and drains the rest of the upstream's stream.
    fn end(&mut self, context: &mut Context<'_>) {
        if let Source::Bytes(mut body) = std::mem::replace(&mut self.source, Source::Over)
            && !matches!(Pin::new(&mut body).poll_frame(context), Poll::Ready(None))
        {
            tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, drain(body)));
        }
        if let Some(finalizer) = self.take_finalizer() {
            finalizer.done();
        }
    }

    /// Takes the finalizer, and records the summary and the losses of the stream.
    fn take_finalizer(&mut self) -> Option<Finalizer> {
        let mut finalizer = self.finalizer.take()?;
        finalizer.recorder.record.response_report = self.stream.report();
        finalizer.recorder.record.add_reply(self.stream.summary().clone());
        Some(finalizer)
    }
}

impl Drop for TranslatingBody {
    fn drop(&mut self) {
        // Dropping the source first records the calls of a run that are under way.
        self.source = Source::Over;
        drop(self.take_finalizer());
    }
}

async fn drain(mut body: Box<CoalescingBody>) {
    while let Some(Ok(_)) = body.frame().await {}
}

fn too_long() -> Fault {
    let message =
        format!("The answer is longer than {MAX_REPLY_BYTES} bytes, or than {MAX_CALLS} calls.");
    Fault::new(FaultClass::Internal, message)
}

fn broken_off() -> Fault {
    Fault::new(FaultClass::Internal, "The answer broke off.")
}

impl Body for TranslatingBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        loop {
            if this.finalizer.is_none() {
                return Poll::Ready(None);
            }
            let more = ready!(this.poll_source(context));
            let bytes = Bytes::from(std::mem::take(&mut this.out));
            if let Some(finalizer) = this.finalizer.as_mut().filter(|_| !bytes.is_empty()) {
                finalizer.recorder.add_sent(&bytes);
            }
            if !more {
                let capture =
                    this.finalizer.as_ref().and_then(|finalizer| finalizer.capture.as_ref());
                if let Some(capture) = capture.filter(|_| this.stream.summary().is_complete()) {
                    capture.end_of_stream(&bytes);
                }
                this.end(context);
            }
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.finalizer.is_none()
    }
}
