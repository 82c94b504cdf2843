//! `listen`: the address of the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::config::{ConfigError, Result};

/// The default address.
pub const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8000);

/// Parses an address with a port; `localhost` is 127.0.0.1.
pub fn parse(text: &str) -> Result<SocketAddr> {
    let text = text.trim();
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let local = local.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    local.or_else(|| text.parse().ok()).ok_or_else(|| {
        ConfigError::new("listen", "this is not an address with a port")
            .with_hint("write 127.0.0.1:8000, or 0.0.0.0:8000 for every network of this machine")
    })
}

/// Whether an address is reachable from this machine only.
pub fn is_loopback(address: SocketAddr) -> bool {
    // An IPv4-mapped IPv6 address counts as its IPv4 address.
    address.ip().to_canonical().is_loopback()
}
