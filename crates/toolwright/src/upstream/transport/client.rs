//! Connections: opened within a deadline, kept for the next request.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tower_service::Service;

use super::connector::{Line, Wire};
use super::coop::Fair;
use super::outgoing::OutgoingBody;
use super::proxy::Hop;

type BoxError = Box<dyn Error + Send + Sync>;

/// Vendors close connections that nobody uses; closing them first avoids the race.
const POOL_IDLE: Duration = Duration::from_secs(50);
/// A connection that a firewall has forgotten is found out before a request waits on it.
const PROBE_EVERY: Duration = Duration::from_secs(20);
const PROBE_PATIENCE: Duration = Duration::from_secs(10);
/// How far HTTP/1 may run ahead of a slow reader, and the most bytes of a head.
const READ_AHEAD: usize = 128 << 10;
/// How far HTTP/2 may run ahead of a slow reader. All streams of a connection share a second
/// window, which must have room for each of them, or one slow reader would stop the others.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// The deadline for connecting has passed.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(crate) struct TooSlow;

/// Opens connections.
#[derive(Clone)]
pub(crate) struct Connector {
    https: HttpsConnector<Line>,
    deadline: Duration,
    /// Whether a proxy forwards requests that are not encrypted
    forwarded: bool,
}

impl Connector {
    fn new(tls: Arc<ClientConfig>, deadline: Duration, way: Way) -> Connector {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(PROBE_EVERY));
        http.set_keepalive_interval(Some(PROBE_PATIENCE));
        http.set_keepalive_retries(Some(3));
        // It is shared out among the host's addresses, so that one that is dead does not take it
        // all.
        http.set_connect_timeout(Some(deadline));
        let forwarded = way.is_forwarded();
        let line = Line::new(http, &tls, way.hop);
        Connector { https: HttpsConnector::from((line, tls)), deadline, forwarded }
    }
}

/// Where connections lead, and through whom.
pub(crate) struct Way {
    pub(crate) scheme: Scheme,
    pub(crate) hop: Option<Hop>,
}

impl Way {
    fn is_forwarded(&self) -> bool {
        self.hop.as_ref().is_some_and(|hop| hop.forwards(&self.scheme))
    }
}

/// Opens a pool of connections.
pub(crate) fn client(
    tls: Arc<ClientConfig>,
    deadline: Duration,
    concurrency: usize,
    way: Way,
) -> Client<Connector, OutgoingBody> {
    let connector = Connector::new(tls, deadline, way);
    let streams = u32::try_from(concurrency).unwrap_or(u32::MAX);
    let window = STREAM_WINDOW.saturating_mul(streams).clamp(STREAM_WINDOW, CONNECTION_WINDOW);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE)
        .http1_max_buf_size(READ_AHEAD)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(window)
        .http2_keep_alive_interval(PROBE_EVERY)
        .http2_keep_alive_timeout(PROBE_PATIENCE)
        .build(connector)
}

impl Service<Uri> for Connector {
    type Response = Fair<MaybeHttpsStream<Wire>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, deadline, forwarded) =
            (self.https.call(uri), self.deadline, self.forwarded);
        Box::pin(async move {
            match tokio::time::timeout(deadline, connecting).await {
                Ok(connected) => connected.map(|io| Fair::new(io).forwarded(forwarded)),
                Err(_) => Err(TooSlow.into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::upstream::Trust;

    #[tokio::test]
    async fn small_writes_are_not_held_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let tls = Trust::public().config().unwrap();
        let way = Way { scheme: Scheme::HTTP, hop: None };
        let mut connector = Connector::new(tls, Duration::from_secs(10), way);
        match connector.call(url).await.unwrap().inner() {
            MaybeHttpsStream::Http(MaybeHttpsStream::Http(stream)) => {
                assert!(stream.inner().nodelay().unwrap());
            }
            _ => panic!("no TLS was asked for"),
        }
    }
}
