//! Resolves host names, and checks the addresses that they have.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

use super::policy::AddressPolicy;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The addresses of a host, when they are found.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves host names in place of the system's resolver.
pub trait Resolve: Send + Sync + 'static {
    /// Returns the addresses of a host.
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a>;
}

/// The resolver of one connection.
#[derive(Clone)]
pub(super) struct CheckedResolver {
    /// In place of the system's resolver
    pub(super) custom: Option<Arc<dyn Resolve>>,
    /// Checks every address
    pub(super) policy: Arc<AddressPolicy>,
    /// The port of the connection
    pub(super) port: u16,
}

impl CheckedResolver {
    /// Resolves and checks the host of a URL, unless it is an address.
    pub(super) async fn resolve_host(self, host: &str) -> Result<(), BoxError> {
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return Ok(());
        }
        self.resolve(host.parse::<Name>()?).await.map(drop)
    }

    async fn resolve(self, name: Name) -> Result<std::vec::IntoIter<SocketAddr>, BoxError> {
        let addresses: Vec<SocketAddr> = match &self.custom {
            Some(custom) => {
                let found = custom.resolve(name.as_str()).await?;
                found.into_iter().map(|address| SocketAddr::new(address, 0)).collect()
            }
            None => GaiResolver::new().call(name.clone()).await?.collect(),
        };
        if addresses.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        for address in &addresses {
            self.policy.check_address(name.as_str(), address.ip(), self.port)?;
        }
        Ok(addresses.into_iter())
    }
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.clone().resolve(name))
    }
}
