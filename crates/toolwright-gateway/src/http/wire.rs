//! The byte stream of a connection, between the socket and HTTP. Reads and writes update the
//! watchdog.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::sniff::HttpVersion;
use super::watchdog::Watchdog;

/// A socket whose first bytes may have been read already.
#[derive(Debug)]
pub(super) struct Wire<I> {
    io: I,
    first: Bytes,
    watchdog: Arc<Watchdog>,
    version: HttpVersion,
    closed: bool,
}

impl<I> Wire<I> {
    pub(super) fn new(
        io: I,
        first: Bytes,
        watchdog: Arc<Watchdog>,
        version: HttpVersion,
    ) -> Wire<I> {
        Wire { io, first, watchdog, version, closed: false }
    }

    fn noted<T>(&self, polled: Poll<T>) -> Poll<T> {
        match &polled {
            Poll::Ready(_) => self.watchdog.sent(),
            Poll::Pending => self.watchdog.blocked(),
        }
        polled
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Wire<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.first.is_empty() {
            let size = this.first.len().min(buf.remaining());
            buf.put_slice(&this.first[..size]);
            this.first.advance(size);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            this.watchdog.heard();
        }
        polled
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_write(cx, buf);
        this.noted(polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_write_vectored(cx, bufs);
        this.noted(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_flush(cx);
        this.noted(polled)
    }

    /// Closes. If the client is still sending, its bytes are read and discarded for a limited time:
    /// closing a socket with unread bytes sends a reset, which destroys the reply in transit.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.closed {
            ready!(Pin::new(&mut this.io).poll_shutdown(cx))?;
            this.closed = true;
            // HTTP/2 ends streams individually and sends GOAWAY before it closes.
            if this.version == HttpVersion::Http2 || !this.watchdog.has_unread_input() {
                return Poll::Ready(Ok(()));
            }
            this.watchdog.linger();
        }
        let mut unheard = [0; 8 << 10];
        loop {
            let mut buf = ReadBuf::new(&mut unheard);
            ready!(Pin::new(&mut this.io).poll_read(cx, &mut buf))?;
            if buf.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
