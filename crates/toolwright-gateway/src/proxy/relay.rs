//! An answer in the client's dialect as it is being made: bytes of a vendor or events of our own in,
//! bytes of the client's dialect out, no more than a frame behind.

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

use super::bundle::Bundle;
use super::close::Close;
use super::collect::LONGEST;
use crate::http::Full;
use crate::telemetry::{BYTES_PER_TOKEN, BusySpan};

/// Where the events of an answer come from.
pub enum Source {
    /// A vendor's stream
    Bytes(Box<(Bundle, StreamReader)>),
    /// A model or a run of our own
    Events(EventStream),
    /// Nowhere: all was said
    Over,
}

/// How long the rest of a vendor's stream may take after its end was said. What is read to its end
/// leaves a connection that can be used again.
const REST: Duration = Duration::from_secs(1);

/// The most calls of one stream. Each may be continued until the end, so a fragment is looked for
/// among all of them.
pub(super) const CALLS: usize = 1024;

/// The body of an answer that is translated as it arrives.
pub struct Relay {
    source: Source,
    writer: StreamWriter,
    /// What was read and not yet written
    events: Vec<Event>,
    out: Vec<u8>,
    /// How many bytes the vendor has sent
    taken: usize,
    /// How many bytes of words were read
    words: u64,
    /// How many bytes have come that are no whole frame yet
    unread: usize,
    /// How many bytes of words were read and not yet written
    held: usize,
    /// How many bytes of memory it has besides
    room: usize,
    strictness: Strictness,
    /// What is left to do at the end; none when it is done
    close: Option<Close>,
}

/// Whether a loss ends an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Losses are reported
    Reports,
    /// The first loss breaks the answer off
    Refuses,
}

impl Relay {
    /// An answer from a source through a writer.
    pub fn new(
        source: Source,
        writer: StreamWriter,
        strictness: Strictness,
        close: Close,
    ) -> Relay {
        let (events, out) = (Vec::new(), Vec::new());
        let room = close.share.size();
        Relay {
            source,
            writer,
            events,
            out,
            taken: 0,
            words: 0,
            unread: 0,
            held: 0,
            room,
            strictness,
            close: Some(close),
        }
    }

    /// Takes what has arrived; whether there may be more.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        match &mut self.source {
            Source::Bytes(stream) => {
                let (body, reader) = stream.as_mut();
                let frame = ready!(Pin::new(body).poll_frame(context));
                let span = BusySpan::start();
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                let size = data.map_or(0, Bytes::len);
                self.taken += size;
                // Some dialects hold a call back until it is whole, so its end must come.
                let more = if self.taken > LONGEST || self.writer.watch().calls.len() > CALLS {
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
                if !more && !self.writer.watch().is_over() {
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
            // What passes takes more bytes than its words, and what was held comes all at once.
            self.held = (self.held + words).saturating_sub(self.out.len() - written);
            // Before the end is said: events may come together.
            if self.strictness == Strictness::Refuses && self.writer.is_refused() {
                let message = "Refused: the answer holds something that this dialect cannot say. \
                               Ask without `toolwright-strict` to get the rest of it.";
                let fault = Fault::new(FaultClass::Invalid, message);
                self.writer.write([Event::Fault(fault)], &mut self.out);
            }
        }
        if !self.has_room() && !self.writer.watch().is_over() {
            self.writer.write([Event::Fault(Full::Now.into())], &mut self.out);
        }
        if let Some(close) = &mut self.close {
            close.recorder.set_output_tokens(self.words / BYTES_PER_TOKEN);
            close.recorder.add_busy(span);
        }
    }

    /// Whether there is room for what is held back. It is there twice while it grows.
    fn has_room(&mut self) -> bool {
        let size = self.room + 2 * (self.unread + self.held);
        self.close.as_mut().is_none_or(|close| close.share.try_resize(size))
    }

    /// All was said to the client; what a vendor still sends is nobody's concern.
    fn end(&mut self, context: &mut Context<'_>) {
        if let Source::Bytes(mut stream) = std::mem::replace(&mut self.source, Source::Over)
            && !matches!(Pin::new(&mut stream.0).poll_frame(context), Poll::Ready(None))
        {
            tokio::spawn(tokio::time::timeout(REST, drain(stream.0)));
        }
        if let Some(close) = self.noted() {
            close.done();
        }
    }

    /// What is left to do, with all that was seen.
    fn noted(&mut self) -> Option<Close> {
        let mut close = self.close.take()?;
        close.recorder.set_response_report(self.writer.report());
        close.recorder.add_reply(self.writer.watch().clone());
        Some(close)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // What is under way is noted when it is given up.
        self.source = Source::Over;
        drop(self.noted());
    }
}

async fn drain(mut body: Bundle) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// Reads a frame of a vendor's body into events; whether there may be more.
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
    let message = format!("The answer is longer than {LONGEST} bytes, or than {CALLS} calls.");
    Fault::new(FaultClass::Internal, message)
}

fn broken_off() -> Fault {
    Fault::new(FaultClass::Internal, "The answer broke off.")
}

impl Body for Relay {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let relay = self.get_mut();
        loop {
            if relay.close.is_none() {
                return Poll::Ready(None);
            }
            let more = ready!(relay.poll_source(context)) && !relay.writer.watch().is_over();
            let bytes = Bytes::from(std::mem::take(&mut relay.out));
            if let Some(close) = relay.close.as_mut().filter(|_| !bytes.is_empty()) {
                close.recorder.add_sent(&bytes);
            }
            if !more {
                let capture = relay.close.as_ref().and_then(|close| close.capture.as_ref());
                if let Some(capture) = capture.filter(|_| relay.writer.watch().is_complete()) {
                    capture.end_of_stream(&bytes);
                }
                relay.end(context);
            }
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.close.is_none()
    }
}
