//! An answer that passes as it is: the client gets the vendor's bytes, and what they say is read
//! beside, for the ledger and the metrics.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use toolwright::upstream::IncomingBody;
use toolwright_core::dialect::ChatCodec;
use toolwright_core::event::Event;
use toolwright_core::event::watch::Watch;
use toolwright_core::frame::{FrameWriter, Framing};
use toolwright_core::translate::{Options, StreamReader, Translator};
use toolwright_core::{Fault, FaultClass};

use super::bundle::Bundle;
use super::close::Close;
use super::relay::CALLS;
use super::responses::capture::PassedAnswer;
use super::weight::{SMALL, weight};
use crate::http::Share;

/// The body of an answer that passes untouched.
pub struct Pass {
    body: Bundle,
    tap: Tap,
    /// Stores whose answer this is, if the client may refer to it later
    ids: Option<PassedAnswer>,
    close: Option<Close>,
    /// Whether all was said
    over: bool,
    /// How it broke off, if nothing can be said of it
    broken: Option<Fault>,
}

/// How a passing answer is read.
pub enum Tap {
    /// As a stream, frame by frame
    Stream(&'static dyn ChatCodec, Box<StreamReader>, Vec<Event>, Watch),
    /// As a whole, at its end
    Whole(&'static dyn ChatCodec, Vec<Bytes>, usize, Share),
    /// No longer: it could not be read any further
    Seen(Watch),
    /// Not at all: it is too long, or there is no room
    Off,
}

/// Whose words a stream is in, and where it is.
type Speaker = (&'static dyn ChatCodec, FrameWriter);

/// The longest whole answer that is read for what it says; a longer one passes unread.
const LONGEST: usize = 4 << 20;

impl Tap {
    /// For a stream in a dialect.
    pub fn stream(codec: &'static dyn ChatCodec, framing: Framing) -> Tap {
        let reader = Box::new(StreamReader::watching(codec).framed(framing));
        Tap::Stream(codec, reader, Vec::new(), Watch::default())
    }

    /// For a whole answer in a dialect.
    pub fn whole(codec: &'static dyn ChatCodec, share: Share) -> Tap {
        Tap::Whole(codec, Vec::new(), 0, share)
    }

    fn take(&mut self, bytes: &Bytes) {
        match self {
            Tap::Stream(_, reader, events, watch) => {
                let read = reader.push(bytes, events);
                events.drain(..).for_each(|event| watch.see(&event));
                if read.is_err() || watch.calls.len() > CALLS {
                    *self = Tap::Seen(std::mem::take(watch));
                }
            }
            Tap::Whole(_, chunks, size, share) => {
                *size += bytes.len();
                chunks.push(bytes.clone());
                if *size > LONGEST || !share.try_resize(*size) {
                    *self = Tap::Off;
                }
            }
            Tap::Seen(_) | Tap::Off => {}
        }
    }

    /// Who could add to a stream, in its own dialect: nobody after half a frame.
    fn speaker(&self) -> Option<Speaker> {
        match self {
            Tap::Stream(codec, reader, _, watch) if !watch.is_over() && reader.is_between() => {
                Some((*codec, reader.framer()))
            }
            _ => None,
        }
    }

    /// Whether this is a stream that has not come to its end.
    fn is_open(&self) -> bool {
        matches!(self, Tap::Stream(_, _, _, watch) if !watch.is_over())
    }

    /// What was seen of a stream so far.
    fn seen(self) -> Option<Watch> {
        match self {
            Tap::Stream(_, _, _, watch) | Tap::Seen(watch) => Some(watch),
            Tap::Whole(..) | Tap::Off => None,
        }
    }

    /// What was seen, when all has passed.
    fn end(self, ids: Option<&PassedAnswer>) -> Option<Watch> {
        match self {
            Tap::Stream(_, mut reader, mut events, mut watch) => {
                // A stream that cannot be read to its end was seen as far as it could be.
                let _ = reader.finish(&mut events);
                for event in &events {
                    watch.see(event);
                }
                Some(watch)
            }
            Tap::Whole(codec, chunks, size, mut share) => {
                let body = match chunks.as_slice() {
                    [one] => one.clone(),
                    _ => chunks.iter().fold(BytesMut::with_capacity(size), join).freeze(),
                };
                if let Some(ids) = ids {
                    ids.whole(&body);
                }
                if size > SMALL && !share.try_resize(2 * size + weight(&body)) {
                    return None;
                }
                // The client gets the bytes as they are; they still are no success.
                Some(Watch::of_bytes(codec, &body).unwrap_or_else(Watch::unreadable))
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
        let (body, close) = (Bundle::new(body), Some(close));
        Pass { body, tap, ids: None, close, over: false, broken: None }
    }

    /// Watches the answer for ids that the client may refer to later.
    #[must_use]
    pub fn with_ids(mut self, ids: Option<PassedAnswer>) -> Pass {
        self.ids = ids;
        self
    }

    /// Whether more may be said than the vendor does: a stream that is cut off is told to be.
    fn may_grow(&self) -> bool {
        matches!(self.tap, Tap::Stream(..) | Tap::Seen(_))
    }

    /// The vendor has no more to say, or broke off. Gives what the client is to be told of that.
    fn end(
        &mut self,
        broken: Option<Fault>,
        context: &Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        self.over = true;
        let tap = std::mem::replace(&mut self.tap, Tap::Off);
        let (open, speaker) = (tap.is_open(), tap.speaker());
        let watch = tap.end(self.ids.as_ref());
        let complete = watch.as_ref().is_some_and(Watch::is_complete);
        let fault = broken.or_else(|| (open && !complete).then(cut_off));
        let Some(mut close) = self.close.take() else { return Poll::Ready(None) };
        close.recorder.set_fault(fault.as_ref().map(|fault| fault.class));
        if let Some(watch) = watch {
            close.recorder.add_reply(watch);
        }
        close.done();
        match (fault, speaker) {
            (None, _) => Poll::Ready(None),
            (Some(fault), Some(speaker)) => {
                Poll::Ready(Some(Ok(Frame::data(last_words(speaker, fault)))))
            }
            (Some(fault), None) => {
                // What came before goes out first: a connection that fails takes it along.
                self.broken = Some(fault);
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// How a stream that breaks off tells it to the client.
fn last_words((codec, framer): Speaker, fault: Fault) -> Bytes {
    let options = Options::default();
    let mut out = Vec::new();
    let mut writer = Translator::new(codec, codec, &options).writer().with_framer(framer);
    writer.write([Event::Fault(fault)], &mut out);
    Bytes::from(out)
}

fn cut_off() -> Fault {
    let message = "The upstream ended its stream before the answer was complete. Try again.";
    Fault { status: Some(502), ..Fault::new(FaultClass::Internal, message) }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let seen = std::mem::replace(&mut self.tap, Tap::Off).seen();
        if let (Some(mut close), Some(watch)) = (self.close.take(), seen) {
            close.recorder.add_reply(watch);
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
            return Poll::Ready(pass.broken.take().map(Err));
        }
        let frame = match ready!(Pin::new(&mut pass.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(fault)) => return pass.end(Some(fault), context),
            None => return pass.end(None, context),
        };
        if let (Some(bytes), Some(close)) = (frame.data_ref(), &mut pass.close) {
            close.recorder.add_sent(bytes);
            pass.tap.take(bytes);
            if let Tap::Stream(_, reader, ..) = &pass.tap {
                close.recorder.set_output_tokens(reader.tokens());
            }
            if let Some(ids) = pass.ids.as_mut().filter(|_| matches!(pass.tap, Tap::Stream(..))) {
                ids.stream(bytes);
            }
        }
        // Nobody asks for more after this.
        if pass.is_end_stream() {
            let _told: Poll<_> = pass.end(None, context);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        if self.over {
            return self.broken.is_none();
        }
        !self.may_grow() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.may_grow() { SizeHint::default() } else { self.body.size_hint() }
    }
}
