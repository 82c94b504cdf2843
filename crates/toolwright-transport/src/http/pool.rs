//! The pool of connections: each is opened within a deadline and kept for later requests.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tower_service::Service;

use super::body::OutgoingBody;
use super::connector::{ProxyConnector, TcpConnector, TransportStream};
use super::coop::CoopStream;
use super::policy::AddressPolicy;
use super::proxy::Proxy;
use super::resolver::{BoxError, Resolve};

/// Vendors close idle connections; closing them first avoids a race with a new request.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(50);
/// Keep-alive probes detect a connection that a firewall dropped before a request waits for it.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);
pub(super) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes that HTTP/1 buffers for a slow reader, and of a response head.
const HTTP1_BUFFER_BYTES: usize = 128 << 10;
/// HTTP/2 flow-control windows, in bytes. The streams of a connection share its window, which must hold
/// the window of each, or one slow reader would stall the others.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// The connect deadline has passed.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(crate) struct ConnectTimeout;

/// Opens connections.
#[derive(Clone)]
pub(crate) struct Connector {
    https: HttpsConnector<ProxyConnector>,
    deadline: Duration,
    proxy: Arc<Proxy>,
}

impl Connector {
    fn new(tls: Arc<ClientConfig>, deadline: Duration, route: Route) -> Connector {
        let Route { policy, proxy, resolver } = route;
        let tcp = TcpConnector { deadline, resolver };
        let proxy = Arc::new(proxy);
        let below = ProxyConnector::new(tcp, &tls, Arc::new(policy), Arc::clone(&proxy));
        Connector { https: HttpsConnector::from((below, tls)), deadline, proxy }
    }
}

/// Which addresses are connected to, and how.
pub(super) struct Route {
    pub(super) policy: AddressPolicy,
    pub(super) proxy: Proxy,
    pub(super) resolver: Option<Arc<dyn Resolve>>,
}

/// Creates a pool of connections.
pub(super) fn client(
    tls: Arc<ClientConfig>,
    deadline: Duration,
    concurrency: usize,
    route: Route,
) -> Client<Connector, OutgoingBody> {
    let connector = Connector::new(tls, deadline, route);
    let streams = u32::try_from(concurrency).unwrap_or(u32::MAX);
    let window = STREAM_WINDOW.saturating_mul(streams).clamp(STREAM_WINDOW, CONNECTION_WINDOW);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .http1_max_buf_size(HTTP1_BUFFER_BYTES)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(window)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .http2_keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .build(connector)
}

impl Service<Uri> for Connector {
    type Response = CoopStream<MaybeHttpsStream<TransportStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let forwarded = self.proxy.target_for(&uri).is_some_and(|target| target.forwards(&uri));
        let (connecting, deadline) = (self.https.call(uri), self.deadline);
        Box::pin(async move {
            match tokio::time::timeout(deadline, connecting).await {
                Ok(connected) => connected.map(|io| CoopStream::new(io, forwarded)),
                Err(_) => Err(ConnectTimeout.into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::http::Trust;

    #[tokio::test]
    async fn small_writes_are_not_held_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let tls = Trust::public().config().unwrap();
        let route = Route { policy: AddressPolicy::any(), proxy: Proxy::none(), resolver: None };
        let mut connector = Connector::new(tls, Duration::from_secs(10), route);
        match connector.call(url).await.unwrap().inner() {
            MaybeHttpsStream::Http(MaybeHttpsStream::Http(stream)) => {
                assert!(stream.inner().nodelay().unwrap());
            }
            _ => panic!("no TLS was asked for"),
        }
    }
}
