//! The body of a reply: prepared events, each flushed separately, and an end that may be abrupt.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::Sleep;

use crate::serve::Hangup;

/// What follows the last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Orderly,
    Closed,
    Silent,
}

/// The frames of one reply.
pub(crate) struct Frames {
    events: Arc<[Bytes]>,
    /// The event with the nonce, which replaces the prepared one
    own: (usize, Bytes),
    next: usize,
    until: usize,
    end: End,
    gap: Duration,
    /// Whether the previous event was not flushed yet
    unflushed: bool,
    pause: Option<Pin<Box<Sleep>>>,
    size: Option<u64>,
}

impl Frames {
    /// A body of one piece, with a content length.
    pub(crate) fn whole(body: Bytes) -> Frames {
        let size = Some(body.len() as u64);
        Frames { size, ..Frames::each(Arc::from([Bytes::new()]), (0, body)) }
    }

    /// Events one by one, one of them replaced.
    pub(crate) fn each(events: Arc<[Bytes]>, own: (usize, Bytes)) -> Frames {
        Frames {
            until: events.len(),
            events,
            own,
            next: 0,
            end: End::Orderly,
            gap: Duration::ZERO,
            unflushed: false,
            pause: None,
            size: None,
        }
    }

    /// Waits before each event except the first.
    pub(crate) fn with_gap(self, gap: Duration) -> Frames {
        Frames { gap, ..self }
    }

    /// Sends half of it, then closes the connection.
    pub(crate) fn cut(self) -> Frames {
        Frames { end: End::Closed, ..self.half() }
    }

    /// Sends half of it, then nothing.
    pub(crate) fn hang(self) -> Frames {
        Frames { end: End::Silent, ..self.half() }
    }

    fn half(mut self) -> Frames {
        if let [_] = *self.events {
            let middle = self.own.1.len() / 2;
            self.own.1.truncate(middle);
        } else {
            self.until = self.events.len() / 2;
        }
        self
    }

    /// Hyper gathers frames until the body has none ready, and then flushes.
    fn poll_flushed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.unflushed {
            self.unflushed = false;
            if self.gap.is_zero() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.pause = Some(Box::pin(tokio::time::sleep(self.gap)));
        }
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Poll::Ready(())
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Hangup;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Hangup>>> {
        std::task::ready!(self.poll_flushed(context));
        if self.next == self.until {
            return match self.end {
                End::Orderly => Poll::Ready(None),
                End::Closed => Poll::Ready(Some(Err(Hangup))),
                End::Silent => Poll::Pending,
            };
        }
        let event = if self.next == self.own.0 {
            self.own.1.clone()
        } else {
            self.events[self.next].clone()
        };
        self.next += 1;
        self.unflushed = !self.is_end_stream();
        Poll::Ready(Some(Ok(Frame::data(event))))
    }

    fn is_end_stream(&self) -> bool {
        self.next == self.until && self.end == End::Orderly
    }

    fn size_hint(&self) -> SizeHint {
        self.size.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
