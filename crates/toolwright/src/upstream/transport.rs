//! HTTP connections to upstreams: addresses, proxies, TLS, deadlines and bodies.

mod address;
pub(crate) mod client;
mod connector;
mod coop;
pub(crate) mod deadline;
pub(crate) mod fault;
pub(crate) mod incoming;
pub(crate) mod informational;
pub(crate) mod outgoing;
pub(crate) mod permit;
mod proxy;
mod tls;
mod tunnel;

pub(crate) use address::Address;
pub use deadline::Deadlines;
pub use incoming::{Incoming, IncomingBody};
pub use outgoing::Outgoing;
pub use proxy::Proxy;
pub(crate) use proxy::ProxyTarget;
pub use tls::Trust;
pub(crate) use tunnel::ProxyError;
