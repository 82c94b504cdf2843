//! The body of a reply. The request counts as in flight until it is dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};

use super::reply::{BrokenOff, ReplyBody};
use super::watchdog::Busy;
use super::write_stall::WriteStall;

/// Maximum number of bytes that are given to an HTTP/2 stream at once, because the connection
/// buffers bytes that the client does not read.
const PIECE: usize = 64 << 10;

/// A body that records whether it is read.
pub(super) struct Answer {
    body: ReplyBody,
    /// The remainder of a frame that is sent in pieces
    rest: Bytes,
    stall: Option<Arc<WriteStall>>,
    _busy: Busy,
}

type Given = Option<Result<Frame<Bytes>, BrokenOff>>;

impl Answer {
    pub(super) fn new(body: ReplyBody, busy: Busy) -> Answer {
        let stall = WriteStall::of_this_stream();
        if let Some(stall) = &stall {
            stall.give();
        }
        Answer { body, rest: Bytes::new(), stall, _busy: busy }
    }
}

/// Returns a frame, or the first piece of a long one.
fn piece(frame: Frame<Bytes>, rest: &mut Bytes) -> Frame<Bytes> {
    match frame.into_data() {
        Ok(bytes) if bytes.len() > PIECE => {
            *rest = bytes;
            next_piece(rest)
        }
        Ok(bytes) => Frame::data(bytes),
        Err(other) => other,
    }
}

/// A copy, so that a piece that stays buffered does not retain the whole frame.
fn next_piece(rest: &mut Bytes) -> Frame<Bytes> {
    let piece = Bytes::copy_from_slice(&rest[..rest.len().min(PIECE)]);
    rest.advance(piece.len());
    Frame::data(piece)
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Given> {
        let this = self.get_mut();
        let Some(stall) = &this.stall else {
            return Pin::new(&mut this.body).poll_frame(context);
        };
        stall.ask();
        let given = if this.rest.is_empty() {
            ready!(Pin::new(&mut this.body).poll_frame(context))
        } else {
            Some(Ok(next_piece(&mut this.rest)))
        };
        stall.give();
        Poll::Ready(given.map(|given| given.map(|frame| piece(frame, &mut this.rest))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let own = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(own.lower() + self.rest.len() as u64);
        if let Some(upper) = own.upper() {
            hint.set_upper(upper + self.rest.len() as u64);
        }
        hint
    }
}
