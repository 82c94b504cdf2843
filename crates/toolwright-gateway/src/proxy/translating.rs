//! The body of a reply that is translated as it arrives: bytes of an upstream or events of the gateway in,
//! bytes in the client's dialect out, at most one frame behind.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use toolwright::model::EventStream;
use toolwright_core::event::Event;
use toolwright_core::translate::{StreamReader, StreamWriter};
use toolwright_core::{Fault, FaultClass};

use super::coalescing::CoalescingBody;
use super::collect::MAX_REPLY_BYTES;
use super::finalizer::Finalizer;
use crate::http::Full;
use crate::telemetry::{BYTES_PER_TOKEN, BusySpan};

/// The source of the events of a reply.
pub enum Source {
    /// The stream of an upstream
    Bytes(Box<(CoalescingBody, StreamReader)>),
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
    writer: StreamWriter,
    /// Events that were read and not yet written
    events: Vec<Event>,
    out: Vec<u8>,
    /// Bytes that the upstream has sent
    received: usize,
    /// Bytes of text that were read
    words: u64,
    /// Bytes of an incomplete frame
    unread: usize,
    /// Bytes of text that were read and not yet written
    held: usize,
    /// Bytes of memory that are reserved for other purposes
    room: usize,
    strictness: Strictness,
    /// None after the end
    finalizer: Option<Finalizer>,
}

/// Whether a loss ends the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Losses are reported
    Reports,
    /// The first loss ends the reply with a fault
    Refuses,
}

impl TranslatingBody {
    /// Creates the body of a reply.
    pub fn new(
        source: Source,
        writer: StreamWriter,
        strictness: Strictness,
        finalizer: Finalizer,
    ) -> TranslatingBody {
        let (events, out) = (Vec::new(), Vec::new());
        let room = finalizer.share.size();
        TranslatingBody {
            source,
            writer,
            events,
            out,
            received: 0,
            words: 0,
            unread: 0,
            held: 0,
            room,
            strictness,
            finalizer: Some(finalizer),
        }
    }

    /// Reads and writes what has arrived. Returns whether there may be more.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        match &mut self.source {
            Source::Bytes(stream) => {
                let (body, reader) = stream.as_mut();
                let frame = ready!(Pin::new(body).poll_frame(context));
                let span = BusySpan::start();
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                let size = data.map_or(0, Bytes::len);
                self.received += size;
                // Some dialects hold a call back until it is complete, so the size must be bounded.
                let more = if self.received > MAX_REPLY_BYTES
                    || self.writer.summary().calls.len() > MAX_CALLS
                {
                    self.events.push(Event::Fault(too_long()));
                    false
                } else {
                    read(frame, reader, &mut self.events)
                };
                self.unread = if self.events.is_empty() { self.unread + size } else { 0 };
                self.write(span);
                Poll::Ready(more)
            }
            Source::Events(events) => {
                let event = ready!(events.as_mut().poll_next(context));
                let span = BusySpan::start();
                let more = event.is_some();
                self.events.extend(event);
                if !more && !self.writer.summary().is_over() {
                    self.events.push(Event::Fault(broken_off()));
                }
                self.write(span);
                Poll::Ready(more)
            }
            Source::Over => Poll::Ready(false),
        }
    }

    /// Writes what was read, and adds the span to the time that the gateway adds.
    fn write(&mut self, span: BusySpan) {
        for event in self.events.drain(..) {
            let (words, written) = (event.words().len(), self.out.len());
            self.words += words as u64;
            self.writer.write([event], &mut self.out);
            // Written events take more bytes than their text, and held text is written all at once.
            self.held = (self.held + words).saturating_sub(self.out.len() - written);
            // Checked for each event, because the end may arrive in the same frame.
            if self.strictness == Strictness::Refuses && self.writer.is_refused() {
                let message = "Refused: the answer holds something that this dialect cannot say. \
                               Ask without `toolwright-strict` to get the rest of it.";
                let fault = Fault::new(FaultClass::Invalid, message);
                self.writer.write([Event::Fault(fault)], &mut self.out);
            }
        }
        if !self.has_room() && !self.writer.summary().is_over() {
            self.writer.write([Event::Fault(Full::Now.into())], &mut self.out);
        }
        if let Some(finalizer) = &mut self.finalizer {
            finalizer.recorder.set_output_tokens(self.words / BYTES_PER_TOKEN);
            finalizer.recorder.add_busy(span);
        }
    }

    /// Whether there is memory for what is held back. Growing a buffer takes twice its size.
    fn has_room(&mut self) -> bool {
        let size = self.room + 2 * (self.unread + self.held);
        self.finalizer.as_mut().is_none_or(|finalizer| finalizer.share.try_resize(size))
    }

    /// Ends the body after its last event, and drains the rest of the upstream's stream.
    fn end(&mut self, context: &mut Context<'_>) {
        if let Source::Bytes(mut stream) = std::mem::replace(&mut self.source, Source::Over)
            && !matches!(Pin::new(&mut stream.0).poll_frame(context), Poll::Ready(None))
        {
            tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, drain(stream.0)));
        }
        if let Some(finalizer) = self.take_finalizer() {
            finalizer.done();
        }
    }

    /// Takes the finalizer, and records the summary and the losses of the stream.
    fn take_finalizer(&mut self) -> Option<Finalizer> {
        let mut finalizer = self.finalizer.take()?;
        finalizer.recorder.set_response_report(self.writer.report());
        finalizer.recorder.add_reply(self.writer.summary().clone());
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

async fn drain(mut body: CoalescingBody) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// Decodes a frame of an upstream's body into events. Returns whether there may be more.
fn read(
    frame: Option<Result<Frame<Bytes>, Fault>>,
    reader: &mut StreamReader,
    events: &mut Vec<Event>,
) -> bool {
    let read = match frame {
        Some(Ok(frame)) => match frame.into_data() {
            Ok(bytes) => reader.push(&bytes, events),
            Err(_trailers) => return true,
        },
        Some(Err(fault)) => {
            events.push(Event::Fault(fault));
            return false;
        }
        None => {
            if let Err(error) = reader.finish(events) {
                events.push(Event::Fault(damaged(&error)));
            }
            return false;
        }
    };
    if let Err(error) = &read {
        events.push(Event::Fault(damaged(error)));
    }
    read.is_ok()
}

fn damaged(error: &toolwright_core::translate::TranslateError) -> Fault {
    Fault::new(FaultClass::Internal, format!("The upstream's stream is damaged: {error}."))
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
            let more = ready!(this.poll_source(context)) && !this.writer.summary().is_over();
            let bytes = Bytes::from(std::mem::take(&mut this.out));
            if let Some(finalizer) = this.finalizer.as_mut().filter(|_| !bytes.is_empty()) {
                finalizer.recorder.add_sent(&bytes);
            }
            if !more {
                let capture =
                    this.finalizer.as_ref().and_then(|finalizer| finalizer.capture.as_ref());
                if let Some(capture) = capture.filter(|_| this.writer.summary().is_complete()) {
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
