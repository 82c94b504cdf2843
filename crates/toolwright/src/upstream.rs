//! Vendors over HTTP: where they are, who we are to them, and what is sent.
//!
//! The way of a request, a file each:
//!
//! ```text
//! outgoing → permit → credential (sigv4) → address → connect (trust) → deadline → incoming
//! ```
//!
//! A [`Remote`] sends bytes and gives bytes back. What they say is its codec's matter.

mod address;
mod connect;
mod credential;
mod deadline;
mod error;
mod fault;
mod incoming;
mod outgoing;
mod permit;
mod remote;
mod sigv4;
mod trust;

pub use credential::{AwsKeys, ClientCredential, Credential};
pub use deadline::Deadlines;
pub use error::RemoteError;
pub use incoming::{Incoming, IncomingBody};
pub use outgoing::Outgoing;
pub use remote::Remote;
pub use trust::Trust;
