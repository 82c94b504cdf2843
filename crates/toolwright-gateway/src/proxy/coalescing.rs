//! The body of an upstream's reply that coalesces chunks which arrived together.
//!
//! Hyper yields a body chunk by chunk as the upstream sent it, each after the task that reads the
//! connection was polled. Forwarded like that, a reply takes one write for each chunk, even if they
//! arrived in a single read. The body never waits for data that has not arrived.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use toolwright_core::Fault;
use toolwright_runtime::upstream::{IncomingBody, fault_of};

/// Size in bytes at which a frame is forwarded without looking for more.
const FRAME_SIZE: usize = 8 << 10;

/// Number of times that the body yields to other tasks before it forwards what it has. Hyper polls a body
/// twice before it lets other tasks run.
const MAX_YIELDS: u8 = 2;

/// A body whose frames are everything that has arrived.
pub struct CoalescingBody {
    body: IncomingBody,
    held: Vec<Bytes>,
    /// The trailers, error or end that follow the held chunks
    next: Option<Result<Frame<Bytes>, Fault>>,
    /// Whether a frame was forwarded. The first is not delayed, so that it leaves with the head of the reply
    begun: bool,
    /// Number of yields since the last chunk
    yields: u8,
}

impl CoalescingBody {
    /// Creates a coalescing body.
    pub fn new(body: IncomingBody) -> CoalescingBody {
        CoalescingBody { body, held: Vec::new(), next: None, begun: false, yields: 0 }
    }

    fn is_full(&self) -> bool {
        let size: usize = self.held.iter().map(Bytes::len).sum();
        size >= if self.begun { FRAME_SIZE } else { 1 }
    }

    /// Yields to the task that reads the connection, so that it can deliver more. Returns false after the
    /// maximum number of yields.
    fn try_yield(&mut self, context: &Context<'_>) -> bool {
        let may_yield = self.yields < MAX_YIELDS;
        if may_yield {
            self.yields += 1;
            context.waker().wake_by_ref();
        }
        may_yield
    }

    /// Takes everything that is held.
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

impl Body for CoalescingBody {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let this = self.get_mut();
        if let Some(next) = this.next.take() {
            return Poll::Ready(Some(next));
        }
        while !this.is_full() {
            match Pin::new(&mut this.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        this.held.push(data);
                        this.yields = 0;
                    }
                    Err(trailers) => {
                        this.next = Some(Ok(trailers));
                        break;
                    }
                },
                Poll::Ready(end) => {
                    this.next = end.map(|end| end.map_err(fault_of));
                    break;
                }
                Poll::Pending if this.held.is_empty() || this.try_yield(context) => {
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        if this.held.is_empty() {
            return Poll::Ready(this.next.take());
        }
        Poll::Ready(Some(Ok(Frame::data(this.take()))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.next.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.held.is_empty() { self.body.size_hint() } else { SizeHint::default() }
    }
}
