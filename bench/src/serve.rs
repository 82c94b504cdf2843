//! A plain hyper server on loopback, shared by mock and bare proxy: HTTP/1, no Nagle, one task for
//! each connection.

use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::failure::Outcome;

/// Makes a connection end with a reset instead of an orderly close.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reset(Arc<AtomicBool>);

impl Reset {
    /// Makes the connection end with a reset.
    pub(crate) fn arm(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An error that closes the connection without a reply.
#[derive(Debug)]
pub(crate) struct Hangup;

impl std::fmt::Display for Hangup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("hung up")
    }
}

impl std::error::Error for Hangup {}

/// Listens, prints the address and serves until the process ends.
pub(crate) fn forever<F, R, B>(address: &str, answer: F) -> Outcome
where
    F: Fn(Request<Incoming>, Reset) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Response<B>, Hangup>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served: Outcome<Infallible> = runtime.block_on(async move {
        let listener = TcpListener::bind(address).await?;
        println!("{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            stream.set_nodelay(true)?;
            let answer = answer.clone();
            tokio::spawn(async move {
                let reset = Reset::default();
                let line = Line { io: TokioIo::new(stream), reset: reset.clone() };
                let service = service_fn(move |request| answer(request, reset.clone()));
                // A client that disconnects is not an error.
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(line, service)
                    .await;
            });
        }
    });
    served.map(|never| match never {})
}

/// A connection that can end with a reset.
struct Line {
    io: TokioIo<TcpStream>,
    reset: Reset,
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.reset.0.load(Ordering::Relaxed) {
            let _ = self.io.inner().set_zero_linger();
        }
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        // An orderly close would be sent here, before the reset.
        if self.reset.0.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, buffers)
    }
}
