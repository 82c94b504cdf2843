//! The bytes of a connection, a few at a time: one that always has more must let others have the
//! thread now and then, whatever is made of its bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

/// How often in a row there may be something to read.
const TURN: u8 = 8;

/// A connection that gives way.
#[derive(Debug)]
pub(crate) struct Fair<I> {
    io: I,
    reads: u8,
    forwarded: bool,
}

impl<I> Fair<I> {
    pub(crate) fn new(io: I) -> Fair<I> {
        Fair { io, reads: 0, forwarded: false }
    }

    /// With somebody at the other end who forwards requests, and is told whole addresses.
    pub(crate) fn forwarded(self, forwarded: bool) -> Fair<I> {
        Fair { forwarded, ..self }
    }

    #[cfg(test)]
    pub(crate) fn inner(&self) -> &I {
        &self.io
    }
}

impl<I: Read + Unpin> Read for Fair<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.reads == TURN {
            self.reads = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Poll::Ready(read) = Pin::new(&mut self.io).poll_read(context, buffer) else {
            self.reads = 0;
            return Poll::Pending;
        };
        self.reads += 1;
        Poll::Ready(read)
    }
}

impl<I: Write + Unpin> Write for Fair<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, bytes)
    }
}

impl<I: Connection> Connection for Fair<I> {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.forwarded)
    }
}
