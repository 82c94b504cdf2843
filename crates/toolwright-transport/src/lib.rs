//! The client side of HTTP: connections, proxies, TLS, deadlines, limits, an OAuth client, and secrets.
//!
//! - [`HttpClient`] sends requests to one host or to many, through a [`Proxy`] if there is one, to the addresses that
//!   an
//!   [`AddressPolicy`] allows, within [`Deadlines`]. [`Incoming`] is its response.
//! - [`oauth`] gets, stores and refreshes access tokens.
//! - [`Secret`](secret::Secret) is a value that cannot be printed; [`private_file`] writes files that only their
//!   owner may read, and [`key_file`] keeps random keys in such files.
//! - [`environment`] looks variables up by a function, so that a test can replace them.
//!
//! ```
//! use toolwright_transport::secret::SecretString;
//!
//! let token = SecretString::from("hunter2");
//! assert_eq!(format!("{token:?}"), "Secret(…)");
//! assert_eq!(token.expose(), "hunter2");
//! ```
//!
//! The crate knows neither tools nor vendors. It promises no stability of its own: depend on `toolwright`, which
//! exports it.
//!
//! # Features
//!
//! - `http`: the HTTP client
//! - `oauth`: the OAuth client, over the HTTP client

pub mod environment;
#[cfg(feature = "http")]
mod http;
pub mod key_file;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod private_file;
pub mod secret;

#[cfg(feature = "http")]
pub use http::{
    AGENT, AddressPolicy, Addresses, BodyObserver, Deadlines, FRAMING, HttpClient, HttpFault,
    HttpFaultKind, IDENTITY, Incoming, IncomingBody, Proxy, Resolve, TransportError, Trust,
    begins_with, fault, remove_connection_headers, resolve_reference, sensitive,
};
