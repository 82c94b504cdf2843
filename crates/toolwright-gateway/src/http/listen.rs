//! Listening at an address, and what to do where that fails.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, lookup_host};

/// The address cannot be listened at.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {reason}")]
pub struct ListenError {
    address: String,
    reason: String,
    hint: &'static str,
}

impl ListenError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        self.hint
    }

    fn new(address: &str, error: &io::Error) -> ListenError {
        use io::ErrorKind::{AddrInUse, AddrNotAvailable, InvalidInput, PermissionDenied};
        let (reason, hint) = match error.kind() {
            AddrInUse => (
                "the port is in use".to_owned(),
                "another server runs there: stop it, or choose another port with --listen \
                 127.0.0.1:8001 (port 0 takes any free one)",
            ),
            PermissionDenied => (
                "ports below 1024 are for privileged users".to_owned(),
                "choose a port above 1023, such as --listen 127.0.0.1:8000",
            ),
            AddrNotAvailable => (
                "this machine has no such address".to_owned(),
                "127.0.0.1 is this machine alone, 0.0.0.0 all of its addresses",
            ),
            InvalidInput => (
                "that is no address".to_owned(),
                "an address has a host and a port, such as 127.0.0.1:8000 or [::1]:8000",
            ),
            _ => (error.to_string(), "choose another address, such as --listen 127.0.0.1:8000"),
        };
        ListenError { address: address.to_owned(), reason, hint }
    }
}

/// Listens. A name may mean several addresses; the first that works is taken.
pub(super) async fn listen(address: &str) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |error: io::Error| ListenError::new(address, &error);
    let listener = TcpListener::bind(lookup(address).await.map_err(failed)?.as_slice()).await;
    let listener = listener.map_err(failed)?;
    let real = listener.local_addr().map_err(failed)?;
    Ok((listener, real))
}

async fn lookup(address: &str) -> io::Result<Vec<SocketAddr>> {
    match address.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => Ok(lookup_host(address).await?.collect()),
    }
}
