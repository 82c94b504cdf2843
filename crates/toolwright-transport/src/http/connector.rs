//! Opens the connection below TLS: to the upstream, or to its proxy and through it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::policy::{self, AddressPolicy, HostDecision};
use super::pool::{KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT};
use super::proxy::{Proxy, ProxyProtocol, ProxyTarget};
use super::resolver::{BoxError, CheckedResolver, Resolve};
use super::tunnel::{self, ProxyError};

/// The stream below the TLS of the upstream. If the proxy is reached by https, it is a TLS stream itself.
pub(crate) type TransportStream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections, directly or through a proxy.
#[derive(Clone)]
pub(crate) struct ProxyConnector {
    tcp: TcpConnector,
    policy: Arc<AddressPolicy>,
    proxy: Arc<Proxy>,
    /// The TLS configuration for the proxy; `None` if there is no proxy
    tls: Option<Arc<ClientConfig>>,
}

impl ProxyConnector {
    pub(crate) fn new(
        tcp: TcpConnector,
        tls: &ClientConfig,
        policy: Arc<AddressPolicy>,
        proxy: Arc<Proxy>,
    ) -> ProxyConnector {
        let tls = (!proxy.is_none()).then(|| {
            let mut tls = tls.clone();
            // `CONNECT` is sent as HTTP/1.1.
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(tls)
        });
        ProxyConnector { tcp, policy, proxy, tls }
    }
}

impl Service<Uri> for ProxyConnector {
    type Response = TransportStream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TransportStream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let proxy = self.proxy.target_for(&destination);
        let decision = match self.policy.check_host(&destination, proxy.is_some()) {
            Ok(decision) => decision,
            Err(refused) => return Box::pin(std::future::ready(Err(refused.into()))),
        };
        if let (Some(tls), Some(target)) = (&self.tls, proxy) {
            let tcp = self.tcp.unchecked();
            let opening = open(target.clone(), Arc::clone(tls), tcp, destination);
            return Box::pin(async move { Ok(opening.await?) });
        }
        let mut tcp = match decision {
            HostDecision::Allowed => self.tcp.unchecked(),
            HostDecision::CheckAddresses => {
                self.tcp.checked(Arc::clone(&self.policy), policy::port(&destination))
            }
        };
        let connecting = tcp.call(destination);
        Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
    }
}

/// Opens TCP connections.
#[derive(Clone)]
pub(super) struct TcpConnector {
    pub(super) deadline: Duration,
    /// In place of the system's resolver
    pub(super) resolver: Option<Arc<dyn Resolve>>,
}

impl TcpConnector {
    /// A connector to any address.
    fn unchecked(&self) -> HttpConnector<CheckedResolver> {
        self.checked(Arc::new(AddressPolicy::any()), 0)
    }

    /// A connector that checks the addresses of a name, for one port.
    fn checked(&self, policy: Arc<AddressPolicy>, port: u16) -> HttpConnector<CheckedResolver> {
        let resolver = CheckedResolver { custom: self.resolver.clone(), policy, port };
        let mut http = HttpConnector::new_with_resolver(resolver);
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEP_ALIVE_INTERVAL));
        http.set_keepalive_interval(Some(KEEP_ALIVE_TIMEOUT));
        http.set_keepalive_retries(Some(3));
        // Shared among the addresses of the host, so that a dead one does not consume it all.
        http.set_connect_timeout(Some(self.deadline));
        http
    }
}

/// Opens a connection through a proxy.
async fn open(
    target: ProxyTarget,
    tls: Arc<ClientConfig>,
    tcp: HttpConnector<CheckedResolver>,
    destination: Uri,
) -> Result<TransportStream, ProxyError> {
    let forwards = target.forwards(&destination);
    let scheme = destination.scheme().cloned().unwrap_or(Scheme::HTTPS);
    let port = policy::port(&destination);
    let destination = format!("{}:{port}", destination.host().unwrap_or_default());
    match &target.kind {
        ProxyProtocol::Socks(user) => {
            let mut socks = SocksV5::new(target.uri.clone(), tcp);
            if let Some((user, word)) = user {
                socks = socks.with_auth(user.clone(), word.expose().clone());
            }
            let destination =
                Uri::builder().scheme(scheme).authority(destination).path_and_query("/");
            let destination = destination.build().map_err(|_| ProxyError::Socks)?;
            let opened = socks.call(destination).await;
            opened.map(MaybeHttpsStream::Http).map_err(|_| ProxyError::Socks)
        }
        ProxyProtocol::Http(credential) => {
            let mut connector = HttpsConnector::from((tcp, tls));
            let opened = connector.call(target.uri.clone()).await;
            let stream = opened.map_err(ProxyError::Unreachable)?;
            if forwards {
                return Ok(stream);
            }
            tunnel::open(stream, &destination, credential.as_ref()).await
        }
    }
}
