//! A plain hyper server on loopback, shared by mock and bare proxy: HTTP/1, no Nagle, one task for
//! each connection.

use std::convert::Infallible;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

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
                let service = service_fn(|request| answer(request, reset.clone()));
                let mut connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service);
                // A client that disconnects is not an error.
                let _ = (&mut connection).await;
                if reset.0.load(Ordering::Relaxed) {
                    // After a hang-up, hyper has not closed the connection yet.
                    let _ = connection.into_parts().io.inner().set_zero_linger();
                }
            });
        }
    });
    served.map(|never| match never {})
}

/// A reply with a status and a media type.
pub(crate) fn reply<B>(status: u16, kind: &'static str, body: B) -> Response<B> {
    let mut reply = Response::new(body);
    *reply.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}
