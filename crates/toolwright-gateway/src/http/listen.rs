//! Binds the address of the server, with hints for failures.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, lookup_host};

/// Minimum backlog of connections. The kernel has its own maximum.
const MIN_BACKLOG: u32 = 1024;

/// The address cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {reason}")]
pub struct ListenError {
    address: String,
    reason: String,
    hint: &'static str,
}

impl ListenError {
    /// Returns the remedy.
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
                "this is not an address".to_owned(),
                "an address has a host and a port, such as 127.0.0.1:8000 or [::1]:8000",
            ),
            _ => (error.to_string(), "choose another address, such as --listen 127.0.0.1:8000"),
        };
        ListenError { address: address.to_owned(), reason, hint }
    }
}

/// Listens with a backlog for `connections`. A name may resolve to several addresses; the first one that
/// can be bound is used.
pub(super) async fn listen(
    address: &str,
    connections: usize,
) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |error: io::Error| ListenError::new(address, &error);
    let mut bound = Err(io::Error::from(io::ErrorKind::InvalidInput));
    for address in lookup(address).await.map_err(failed)? {
        bound = bind(address, backlog(connections));
        if bound.is_ok() {
            break;
        }
    }
    let listener = bound.map_err(failed)?;
    let real = listener.local_addr().map_err(failed)?;
    Ok((listener, real))
}

fn bind(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A port that was just released can be bound again.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Returns the backlog: all allowed connections may arrive at once.
fn backlog(connections: usize) -> u32 {
    u32::try_from(connections).unwrap_or(u32::MAX).max(MIN_BACKLOG)
}

async fn lookup(address: &str) -> io::Result<Vec<SocketAddr>> {
    match address.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => Ok(lookup_host(address).await?.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::backlog;

    #[test]
    fn the_backlog_follows_the_limit_on_connections() {
        assert_eq!([1, 1024, 10_000].map(backlog), [1024, 1024, 10_000]);
        assert_eq!(backlog(usize::MAX), u32::MAX);
    }
}
