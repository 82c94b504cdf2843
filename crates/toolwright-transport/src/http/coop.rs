//! Cooperative reads: a connection that always has data yields to other tasks from time to time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

/// Maximum number of consecutive successful reads.
const MAX_CONSECUTIVE_READS: u8 = 8;

/// A connection that yields after some reads.
#[derive(Debug)]
pub(crate) struct CoopStream<I> {
    io: I,
    reads: u8,
    /// Whether it leads to a proxy that forwards requests and needs absolute URIs
    forwarded: bool,
}

impl<I> CoopStream<I> {
    pub(crate) fn new(io: I, forwarded: bool) -> CoopStream<I> {
        CoopStream { io, reads: 0, forwarded }
    }

    #[cfg(test)]
    pub(crate) fn inner(&self) -> &I {
        &self.io
    }
}

impl<I: Read + Unpin> Read for CoopStream<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.reads == MAX_CONSECUTIVE_READS {
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

impl<I: Write + Unpin> Write for CoopStream<I> {
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

impl<I: Connection> Connection for CoopStream<I> {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.forwarded)
    }
}
