//! Opens the connection below TLS: to the upstream, or to its proxy and through it.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::proxy::{Proxy, ProxyProtocol, ProxyTarget};
use super::tunnel::{self, ProxyError};

type BoxError = Box<dyn Error + Send + Sync>;

/// The stream below the TLS of the upstream. If the proxy is reached by https, it is a TLS stream itself.
pub(crate) type TransportStream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections, directly or through a proxy.
#[derive(Clone)]
pub(crate) struct ProxyConnector {
    tcp: HttpConnector,
    proxy: Arc<Proxy>,
    /// The TLS configuration for the proxy; `None` if there is no proxy
    tls: Option<Arc<ClientConfig>>,
}

impl ProxyConnector {
    pub(crate) fn new(tcp: HttpConnector, tls: &ClientConfig, proxy: Arc<Proxy>) -> ProxyConnector {
        let tls = (!proxy.is_none()).then(|| {
            let mut tls = tls.clone();
            // `CONNECT` is sent as HTTP/1.1.
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(tls)
        });
        ProxyConnector { tcp, proxy, tls }
    }
}

impl Service<Uri> for ProxyConnector {
    type Response = TransportStream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TransportStream, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        if let (Some(tls), Some(target)) = (&self.tls, self.proxy.target_for(&destination)) {
            let opening = open(target.clone(), Arc::clone(tls), self.tcp.clone(), destination);
            return Box::pin(async move { Ok(opening.await?) });
        }
        let connecting = self.tcp.call(destination);
        Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
    }
}

/// Opens a connection through a proxy.
async fn open(
    target: ProxyTarget,
    tls: Arc<ClientConfig>,
    tcp: HttpConnector,
    destination: Uri,
) -> Result<TransportStream, ProxyError> {
    let forwards = target.forwards(&destination);
    let scheme = destination.scheme().cloned().unwrap_or(Scheme::HTTPS);
    let usual = if scheme == Scheme::HTTPS { 443 } else { 80 };
    let port = destination.port_u16().unwrap_or(usual);
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
