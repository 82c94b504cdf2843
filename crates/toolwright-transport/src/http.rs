//! HTTP connections: proxies, TLS, deadlines, limits and bodies.
//!
//! An [`HttpClient`] sends requests to one host or to many. `pool` keeps connections, which `connector`
//! opens directly or through a [`Proxy`], to addresses that an [`AddressPolicy`] allows; `redirect` follows
//! redirects; `permit` limits concurrent requests; [`Incoming`] is a response whose body arrives within the
//! [`Deadlines`]. `fault` writes the errors of all of them.

mod address_class;
mod body;
mod client;
mod connector;
mod coop;
mod deadline;
mod error;
pub mod fault;
mod header;
mod incoming;
mod informational;
mod permit;
mod policy;
mod pool;
mod proxy;
mod redirect;
mod resolver;
mod tls;
mod tunnel;

pub use client::{AGENT, HttpClient, IDENTITY};
pub use deadline::Deadlines;
pub use error::TransportError;
pub use fault::{HttpFault, HttpFaultKind};
pub use header::{FRAMING, remove_connection_headers, sensitive};
pub use incoming::{BodyObserver, Incoming, IncomingBody, begins_with};
pub use policy::AddressPolicy;
pub use proxy::Proxy;
pub use redirect::resolve as resolve_reference;
pub use resolver::{Addresses, Resolve};
pub use tls::Trust;
