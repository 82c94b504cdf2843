//! An answer that passes as it is: the client gets the vendor's bytes, and what they say is read
//! beside, for the ledger and the metrics.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use toolwright::upstream::IncomingBody;
use toolwright_core::dialect::{ChatCodec, WireReply};
use toolwright_core::event::Event;
use toolwright_core::event::watch::Watch;
use toolwright_core::translate::{Options, StreamReader, Translator};
use toolwright_core::{Fault, Json};

use super::close::Close;

/// The body of an answer that passes untouched.
pub struct Pass {
    body: IncomingBody,
    tap: Tap,
    close: Option<Close>,
    /// Whether a fault was the last word
    over: bool,
}

/// How a passing answer is read.
pub enum Tap {
    /// As a stream, frame by frame
    Stream(&'static dyn ChatCodec, StreamReader, Vec<Event>, Watch),
    /// As a whole, at its end
    Whole(&'static dyn ChatCodec, Vec<Bytes>, usize),
    /// No longer: it could not be read any further
    Seen(Watch),
    /// Not at all: it is too long
    Off,
}

/// The longest whole answer that is read for what it says; a longer one passes unread.
const LONGEST: usize = 4 << 20;

impl Tap {
    /// For a stream in a dialect.
    pub fn stream(codec: &'static dyn ChatCodec) -> Tap {
        Tap::Stream(codec, StreamReader::new(codec), Vec::new(), Watch::default())
    }

    /// For a whole answer in a dialect.
    pub fn whole(codec: &'static dyn ChatCodec) -> Tap {
        Tap::Whole(codec, Vec::new(), 0)
    }

    fn take(&mut self, bytes: &Bytes) {
        match self {
            Tap::Stream(_, reader, events, watch) => {
                let read = reader.push(bytes, events);
                events.drain(..).for_each(|event| watch.see(&event));
                if read.is_err() {
                    *self = Tap::Seen(std::mem::take(watch));
                }
            }
            Tap::Whole(_, chunks, size) => {
                *size += bytes.len();
                chunks.push(bytes.clone());
                if *size > LONGEST {
                    *self = Tap::Off;
                }
            }
            Tap::Seen(_) | Tap::Off => {}
        }
    }

    /// How a stream that breaks off tells it to the client, in its own dialect. After half a frame
    /// nothing can be said.
    fn last_words(&self, fault: &Fault) -> Option<Bytes> {
        let Tap::Stream(codec, reader, _, watch) = self else { return None };
        if watch.is_over() || !reader.is_between() {
            return None;
        }
        let options = Options::default();
        let mut out = Vec::new();
        let mut writer = Translator::new(*codec, *codec, &options).writer();
        writer.write([Event::Fault(fault.clone())], &mut out);
        Some(Bytes::from(out))
    }

    /// What was seen of a stream so far.
    fn seen(self) -> Option<Watch> {
        match self {
            Tap::Stream(_, _, _, watch) | Tap::Seen(watch) => Some(watch),
            Tap::Whole(..) | Tap::Off => None,
        }
    }

    /// What was seen, when all has passed.
    fn end(self) -> Option<Watch> {
        match self {
            Tap::Stream(_, mut reader, mut events, mut watch) => {
                // A stream that cannot be read to its end was seen as far as it could be.
                let _ = reader.finish(&mut events);
                for event in &events {
                    watch.see(event);
                }
                Some(watch)
            }
            Tap::Whole(codec, chunks, size) => {
                let body = match chunks.as_slice() {
                    [one] => one.clone(),
                    _ => chunks.iter().fold(BytesMut::with_capacity(size), join).freeze(),
                };
                let body = Json::parse_bytes(&body).ok()?;
                let response = codec.decode_response(WireReply::ok(body)).ok()?;
                Some(Watch::of(&response))
            }
            Tap::Seen(watch) => Some(watch),
            Tap::Off => None,
        }
    }
}

fn join(mut whole: BytesMut, chunk: &Bytes) -> BytesMut {
    whole.extend_from_slice(chunk);
    whole
}

impl Pass {
    /// A vendor's body on its way to the client.
    pub fn new(body: IncomingBody, tap: Tap, close: Close) -> Pass {
        Pass { body, tap, close: Some(close), over: false }
    }

    fn end(&mut self) {
        let Some(mut close) = self.close.take() else { return };
        if let Some(watch) = std::mem::replace(&mut self.tap, Tap::Off).end() {
            close.note.saw(watch);
        }
        close.done();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let seen = std::mem::replace(&mut self.tap, Tap::Off).seen();
        if let Some(mut close) = self.close.take() {
            if let Some(watch) = seen {
                close.note.saw(watch);
            }
            close.left();
        }
    }
}

impl Body for Pass {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let pass = self.get_mut();
        if pass.over {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut pass.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some(bytes), Some(close)) = (frame.data_ref(), &mut pass.close) {
                    close.note.sent(bytes);
                    pass.tap.take(bytes);
                }
                if pass.body.is_end_stream() {
                    pass.end();
                }
            }
            Some(Err(fault)) => {
                let last = pass.tap.last_words(fault);
                if let Some(close) = &mut pass.close {
                    close.note.fault = Some(fault.class);
                }
                pass.end();
                if let Some(last) = last {
                    pass.over = true;
                    return Poll::Ready(Some(Ok(Frame::data(last))));
                }
            }
            None => pass.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
