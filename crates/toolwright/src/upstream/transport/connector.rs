//! A line to an upstream, before TLS: a connection to it, or to its proxy and through that.

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

use super::proxy::{Hop, Kind};
use super::tunnel::{self, ProxyError};

type BoxError = Box<dyn Error + Send + Sync>;

/// What a line is made of: TLS only where a proxy speaks it.
pub(crate) type Wire = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens lines.
#[derive(Clone)]
pub(crate) struct Line {
    tcp: HttpConnector,
    through: Option<Arc<Through>>,
}

/// A proxy, and how TLS is spoken with it.
struct Through {
    hop: Hop,
    tls: Arc<ClientConfig>,
}

impl Line {
    pub(crate) fn new(tcp: HttpConnector, tls: &ClientConfig, hop: Option<Hop>) -> Line {
        let through = hop.map(|hop| {
            let mut tls = tls.clone();
            // `CONNECT` is written in the first version of HTTP.
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(Through { hop, tls: Arc::new(tls) })
        });
        Line { tcp, through }
    }
}

impl Service<Uri> for Line {
    type Response = Wire;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, place: Uri) -> Self::Future {
        match &self.through {
            None => {
                let connecting = self.tcp.call(place);
                Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
            }
            Some(through) => {
                let (through, tcp) = (Arc::clone(through), self.tcp.clone());
                Box::pin(async move { Ok(through.open(tcp, place).await?) })
            }
        }
    }
}

impl Through {
    async fn open(&self, tcp: HttpConnector, place: Uri) -> Result<Wire, ProxyError> {
        let scheme = place.scheme().cloned().unwrap_or(Scheme::HTTPS);
        let usual = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let port = place.port_u16().unwrap_or(usual);
        let place = format!("{}:{port}", place.host().unwrap_or_default());
        let hop = &self.hop;
        match &hop.kind {
            Kind::Socks(user) => {
                let mut socks = SocksV5::new(hop.uri.clone(), tcp);
                if let Some((user, word)) = user {
                    socks = socks.with_auth(user.clone(), word.expose().clone());
                }
                let place = Uri::builder().scheme(scheme).authority(place).path_and_query("/");
                let place = place.build().map_err(|_| ProxyError::Socks)?;
                let opened = socks.call(place).await;
                opened.map(MaybeHttpsStream::Http).map_err(|_| ProxyError::Socks)
            }
            Kind::Http(credential) => {
                let mut connector = HttpsConnector::from((tcp, Arc::clone(&self.tls)));
                let opened = connector.call(hop.uri.clone()).await;
                let stream = opened.map_err(ProxyError::Unreachable)?;
                if hop.forwards(&scheme) {
                    return Ok(stream);
                }
                tunnel::open(stream, &place, credential.as_ref()).await
            }
        }
    }
}
