//! Vendors over HTTP.
//!
//! A [`Remote`] is the codec, the address and the credential of a vendor over an
//! [`HttpClient`](toolwright_transport::HttpClient): it sends bytes and receives bytes. `auth` holds the
//! credentials. `respond` and `stream` encode canonical requests with the
//! codec of the vendor and decode its replies, `embed` does so for embeddings; all three send through
//! `attempt`, which retries by [`retry`]. [`providers`] is the table of vendors that need no
//! configuration but a key in the environment.

mod address;
mod attempt;
pub(crate) mod auth;
mod embed;
mod error;
mod fault;
mod loss_policy;
mod outgoing;
pub mod providers;
mod remote;
mod respond;
pub mod retry;
mod send;
mod stream;

pub use auth::{AwsKeys, AwsProfile, ClientCredential, Credential, ProfileError, REGIONS};
pub use auth::{X_API_KEY, X_GOOG_API_KEY};
pub use error::{ProviderError, RemoteError};
pub use fault::fault_of;
pub use loss_policy::LossPolicy;
pub use outgoing::Outgoing;
pub use providers::{Provider, discover};
pub use remote::Remote;
pub use toolwright_dialects::embed::{EmbedKind, EmbedRequest, Embeddings};

pub use toolwright_transport::environment::{Environment, process};
pub use toolwright_transport::{Deadlines, Incoming, IncomingBody, Proxy, Trust};
