//! The body of a reply that passes through unchanged. An observer decodes the bytes beside, for the ledger
//! and the metrics.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body::{Body, Frame, SizeHint};
use toolwright_core::{Event, Fault, FaultClass};
use toolwright_dialects::dialect::{ChatCodec, ResponseSummary};
use toolwright_dialects::frame::{FrameWriter, Framing};
use toolwright_dialects::translate::{Options, StreamReader, Translator};
use toolwright_runtime::upstream::IncomingBody;

use super::capture::PassingCapture;
use super::coalescing::CoalescingBody;
use super::finalizer::Finalizer;
use super::translating::MAX_CALLS;
use super::weight::{UNWEIGHED_BYTES, weight};
use crate::http::Share;

/// The body of a reply that passes through unchanged.
pub struct PassthroughBody {
    body: CoalescingBody,
    observer: Observer,
    /// Stores the ids in the reply, if the client may refer to them later
    ids: Option<Box<dyn PassingCapture>>,
    finalizer: Option<Finalizer>,
    /// Whether the body has ended
    over: bool,
    /// The fault to fail the connection with, if the stream cannot carry it
    broken: Option<Fault>,
}

/// Reads a reply that passes through.
pub enum Observer {
    /// Reads a stream, frame by frame
    Stream(&'static dyn ChatCodec, Box<StreamReader>, Vec<Event>, ResponseSummary),
    /// Reads a whole reply, at its end
    Whole(&'static dyn ChatCodec, Vec<Bytes>, usize, Share),
    /// Has stopped at a frame that could not be read
    Seen(ResponseSummary),
    /// Reads nothing, because the reply is too long or there is no memory for it
    Off,
}

/// The codec of a stream, and the writer at its position.
type StreamEnd = (&'static dyn ChatCodec, FrameWriter);

/// Maximum size in bytes of a whole reply that is observed. A longer one passes unread.
const MAX_OBSERVED_BODY: usize = 4 << 20;

impl Observer {
    /// Creates an observer of a stream.
    pub fn of_stream(codec: &'static dyn ChatCodec, framing: Framing) -> Observer {
        let reader = Box::new(StreamReader::summarizing(codec).framed(framing));
        Observer::Stream(codec, reader, Vec::new(), ResponseSummary::default())
    }

    /// Creates an observer of a complete body.
    pub fn of_body(codec: &'static dyn ChatCodec, share: Share) -> Observer {
        Observer::Whole(codec, Vec::new(), 0, share)
    }

    fn take(&mut self, bytes: &Bytes) {
        match self {
            Observer::Stream(_, reader, events, watch) => {
                let read = reader.push(bytes, events);
                events.drain(..).for_each(|event| watch.update(&event));
                if read.is_err() || watch.calls.len() > MAX_CALLS {
                    *self = Observer::Seen(std::mem::take(watch));
                }
            }
            Observer::Whole(_, chunks, size, share) => {
                *size += bytes.len();
                chunks.push(bytes.clone());
                if *size > MAX_OBSERVED_BODY || !share.try_resize(*size) {
                    *self = Observer::Off;
                }
            }
            Observer::Seen(_) | Observer::Off => {}
        }
    }

    /// The end of a stream to which an event can be added: none within a frame.
    fn stream_end(&self) -> Option<StreamEnd> {
        match self {
            Observer::Stream(codec, reader, _, watch)
                if !watch.is_over() && reader.is_between() =>
            {
                Some((*codec, reader.framer()))
            }
            _ => None,
        }
    }

    fn is_of_stream(&self) -> bool {
        matches!(self, Observer::Stream(..) | Observer::Seen(_))
    }

    /// Whether this is a stream that has not ended.
    fn is_open(&self) -> bool {
        matches!(self, Observer::Stream(_, _, _, watch) if !watch.is_over())
    }

    /// The summary of a stream so far.
    fn seen(self) -> Option<ResponseSummary> {
        match self {
            Observer::Stream(_, _, _, watch) | Observer::Seen(watch) => Some(watch),
            Observer::Whole(..) | Observer::Off => None,
        }
    }

    /// The summary of the reply, after its last byte.
    fn end(self, ids: Option<&dyn PassingCapture>) -> Option<ResponseSummary> {
        match self {
            Observer::Stream(_, mut reader, mut events, mut watch) => {
                // An unreadable stream was observed up to the error.
                let _ = reader.finish(&mut events);
                for event in &events {
                    watch.update(event);
                }
                Some(watch)
            }
            Observer::Whole(codec, chunks, size, mut share) => {
                let body = match chunks.as_slice() {
                    [one] => one.clone(),
                    _ => chunks.iter().fold(BytesMut::with_capacity(size), join).freeze(),
                };
                if let Some(ids) = ids {
                    ids.observe_response(&body);
                }
                if size > UNWEIGHED_BYTES && !share.try_resize(2 * size + weight(&body)) {
                    return None;
                }
                // The client gets the bytes unchanged, but the exchange is recorded as failed.
                Some(
                    ResponseSummary::from_bytes(codec, &body)
                        .unwrap_or_else(ResponseSummary::unreadable),
                )
            }
            Observer::Seen(watch) => Some(watch),
            Observer::Off => None,
        }
    }
}

fn join(mut whole: BytesMut, chunk: &Bytes) -> BytesMut {
    whole.extend_from_slice(chunk);
    whole
}

impl PassthroughBody {
    /// Creates the body of a reply.
    pub fn new(
        body: IncomingBody,
        observer: Observer,
        ids: Option<Box<dyn PassingCapture>>,
        finalizer: Finalizer,
    ) -> PassthroughBody {
        let (body, finalizer) = (CoalescingBody::new(body), Some(finalizer));
        PassthroughBody { body, observer, ids, finalizer, over: false, broken: None }
    }

    /// Whether a fault may be added: a stream that breaks off ends with one.
    fn may_grow(&self) -> bool {
        self.observer.is_of_stream()
    }

    /// Ends the body after the last byte of the upstream. Returns the fault frame if the stream broke off.
    fn end(
        &mut self,
        broken: Option<Fault>,
        context: &Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        self.over = true;
        let observer = std::mem::replace(&mut self.observer, Observer::Off);
        let (open, stream_end) = (observer.is_open(), observer.stream_end());
        let watch = observer.end(self.ids.as_deref());
        let complete = watch.as_ref().is_some_and(ResponseSummary::is_complete);
        let fault = broken.or_else(|| (open && !complete).then(cut_off));
        let Some(mut finalizer) = self.finalizer.take() else { return Poll::Ready(None) };
        let record = &mut finalizer.recorder.record;
        record.fault = fault.as_ref().map(|fault| fault.class);
        if let Some(watch) = watch {
            record.add_reply(watch);
        }
        // The observer reads an open stream as one that its upstream cut off.
        if let Some(fault) = fault.as_ref().filter(|_| open) {
            record.fault = Some(fault.class);
        }
        finalizer.done();
        match (fault, stream_end) {
            (None, _) => Poll::Ready(None),
            (Some(fault), Some(stream_end)) => {
                Poll::Ready(Some(Ok(Frame::data(fault_frame(stream_end, fault)))))
            }
            (Some(fault), None) => {
                // Earlier frames are flushed first, because a failing connection drops them.
                self.broken = Some(fault);
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// The frame that ends a stream which broke off.
fn fault_frame((codec, framer): StreamEnd, fault: Fault) -> Bytes {
    let options = Options::default();
    let mut out = Vec::new();
    let mut stream = Translator::new(codec, codec, &options).stream().with_framer(framer);
    stream.fail(fault, &mut out);
    Bytes::from(out)
}

fn cut_off() -> Fault {
    let message = "The upstream ended its stream before the answer was complete. Try again.";
    Fault { status: Some(502), ..Fault::new(FaultClass::Internal, message) }
}

impl Drop for PassthroughBody {
    fn drop(&mut self) {
        let seen = std::mem::replace(&mut self.observer, Observer::Off).seen();
        if let (Some(mut finalizer), Some(watch)) = (self.finalizer.take(), seen) {
            finalizer.recorder.record.add_reply(watch);
        }
    }
}

impl Body for PassthroughBody {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(this.broken.take().map(Err));
        }
        let finalizer = this.finalizer.as_mut().filter(|_| this.observer.is_of_stream());
        if let Some(finalizer) = finalizer
            && let Poll::Ready(fault) = finalizer.removal.poll_unpin(context)
        {
            return this.end(Some(fault), context);
        }
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(fault)) => return this.end(Some(fault), context),
            None => return this.end(None, context),
        };
        if let (Some(bytes), Some(finalizer)) = (frame.data_ref(), &mut this.finalizer) {
            finalizer.recorder.add_sent(bytes);
            this.observer.take(bytes);
            if let Observer::Stream(_, reader, ..) = &this.observer {
                finalizer.recorder.output_tokens = Some(reader.tokens());
            }
            if let Some(ids) =
                this.ids.as_mut().filter(|_| matches!(this.observer, Observer::Stream(..)))
            {
                ids.observe_chunk(bytes);
            }
        }
        // Hyper does not poll again after this.
        if this.is_end_stream() {
            let _told: Poll<_> = this.end(None, context);
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
