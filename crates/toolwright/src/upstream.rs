//! Vendors over HTTP: where they are, who we are to them, and what is sent.
//!
//! The way of a request, a file each:
//!
//! ```text
//! outgoing → permit → credential (sigv4) → address → connect (line, trust) → deadline → incoming
//! ```
//!
//! A [`Remote`] sends bytes and gives bytes back. What they say is its codec's matter: `respond` and
//! `stream` ask in canonical words, `embed` for vectors, both through `ask`, which tries again by
//! [`retry`]. Which upstreams there are without configuration is in [`known`]. A line may lead through a
//! [`Proxy`], by a `tunnel` if need be; keys of AWS may be in a `profile`, whose owner may `renew` them.

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
mod line;
mod losses;
mod outgoing;
mod permit;
mod preamble;
mod profile;
mod proxy;
mod remote;
mod renew;
mod respond;
pub mod retry;
mod send;
mod sigv4;
mod stream;
mod trust;
mod tunnel;

pub use credential::{AwsKeys, ClientCredential, Credential};
pub use deadline::Deadlines;
pub use error::RemoteError;
pub use incoming::{Incoming, IncomingBody};
pub use known::{Known, KnownError, discover};
pub use losses::Losses;
pub use outgoing::Outgoing;
pub use profile::{AwsProfile, ProfileError};
pub use proxy::Proxy;
pub use remote::Remote;
pub use toolwright_core::embed::{EmbedKind, EmbedRequest, Embeddings};
pub use trust::Trust;
