//! Vendors over HTTP: where they are, who we are to them, and what is sent.
//!
//! The way of a request, a file each:
//!
//! ```text
//! outgoing → permit → credential (sigv4) → address → connect (trust) → deadline → incoming
//! ```
//!
//! A [`Remote`] sends bytes and gives bytes back. What they say is its codec's matter: `respond` and
//! `stream` ask in canonical words, `embed` for vectors, both through `ask`, which tries again by
//! [`retry`]. Which upstreams there are without configuration is in [`known`].

mod address;
mod ask;
mod connect;
mod credential;
mod deadline;
mod embed;
mod error;
mod fair;
mod fault;
mod incoming;
pub mod known;
mod losses;
mod outgoing;
mod permit;
mod preamble;
mod remote;
mod respond;
pub mod retry;
mod sigv4;
mod stream;
mod trust;

pub use credential::{AwsKeys, ClientCredential, Credential};
pub use deadline::Deadlines;
pub use error::RemoteError;
pub use incoming::{Incoming, IncomingBody};
pub use known::{Known, KnownError, discover};
pub use losses::Losses;
pub use outgoing::Outgoing;
pub use remote::Remote;
pub use toolwright_core::embed::{EmbedKind, EmbedRequest, Embeddings};
pub use trust::Trust;
