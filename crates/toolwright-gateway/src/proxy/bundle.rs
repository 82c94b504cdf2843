//! The body of a vendor's reply on its way to the client, where what arrived together goes on
//! together.
//!
//! Hyper hands a body over piece by piece as its vendor cut it, each piece after the task that reads
//! the connection had its turn. Passed on like that, an answer takes as many writes as it has
//! pieces, even if one read brought them all. Nothing waits for what has not arrived.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use toolwright::upstream::IncomingBody;
use toolwright_core::Fault;

/// How much goes on at once.
const FULL: usize = 8 << 10;

/// How often in a row it gives way before what it holds goes on: hyper asks a body twice before it
/// lets other tasks have their turn.
const TURNS: u8 = 2;

/// A body whose frames are what has arrived.
pub struct Bundle {
    body: IncomingBody,
    held: Vec<Bytes>,
    /// What came after what is held and is no data
    next: Option<Result<Frame<Bytes>, Fault>>,
    /// Whether something went on: what comes first goes along with the head of the reply
    begun: bool,
    /// How often it gave way since something came
    given: u8,
}

impl Bundle {
    /// Of a body.
    pub fn new(body: IncomingBody) -> Bundle {
        Bundle { body, held: Vec::new(), next: None, begun: false, given: 0 }
    }

    fn is_full(&self) -> bool {
        let size: usize = self.held.iter().map(Bytes::len).sum();
        size >= if self.begun { FULL } else { 1 }
    }

    /// Lets the task that reads the connection have its turn, so that what it has can follow;
    /// whether there was still one to give.
    fn gives_way(&mut self, context: &Context<'_>) -> bool {
        let gives = self.given < TURNS;
        if gives {
            self.given += 1;
            context.waker().wake_by_ref();
        }
        gives
    }

    /// All that is held.
    fn take(&mut self) -> Bytes {
        self.begun = true;
        if let [_] = *self.held {
            return self.held.pop().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(self.held.iter().map(Bytes::len).sum());
        self.held.drain(..).for_each(|piece| whole.extend_from_slice(&piece));
        whole.freeze()
    }
}

impl Body for Bundle {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let bundle = self.get_mut();
        if let Some(next) = bundle.next.take() {
            return Poll::Ready(Some(next));
        }
        while !bundle.is_full() {
            match Pin::new(&mut bundle.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        bundle.held.push(data);
                        bundle.given = 0;
                    }
                    Err(trailers) => {
                        bundle.next = Some(Ok(trailers));
                        break;
                    }
                },
                Poll::Ready(end) => {
                    bundle.next = end;
                    break;
                }
                Poll::Pending if bundle.held.is_empty() || bundle.gives_way(context) => {
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        if bundle.held.is_empty() {
            return Poll::Ready(bundle.next.take());
        }
        Poll::Ready(Some(Ok(Frame::data(bundle.take()))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.next.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.held.is_empty() { self.body.size_hint() } else { SizeHint::default() }
    }
}
