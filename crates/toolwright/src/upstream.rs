//! Vendors over HTTP.
//!
//! A [`Remote`] sends bytes and receives bytes: `transport` holds connections, proxies, TLS and
//! deadlines, `auth` the credentials. `respond` and `stream` encode canonical requests with the
//! codec of the vendor and decode its replies, `embed` does so for embeddings; all three send through
//! `attempt`, which retries by [`retry`]. [`providers`] is the table of vendors that need no
//! configuration but a key in the environment.

mod attempt;
pub(crate) mod auth;
mod embed;
pub(crate) mod environment;
mod error;
mod loss_policy;
pub mod providers;
mod remote;
mod respond;
pub mod retry;
mod send;
mod stream;
pub(crate) mod transport;

pub use auth::{AwsKeys, AwsProfile, ClientCredential, Credential, ProfileError, REGIONS};
pub use environment::{Environment, process};
pub use error::{ProviderError, RemoteError};
pub use loss_policy::LossPolicy;
pub use providers::{Provider, discover};
pub use remote::Remote;
pub use toolwright_core::embed::{EmbedKind, EmbedRequest, Embeddings};
pub use transport::{Deadlines, Incoming, IncomingBody, Outgoing, Proxy, Trust};
