//! The port. A connection becomes requests, each of them an [`HttpRequest`] that a [`Service`] answers
//! with a [`Reply`].
//!
//! ```text
//! listen → accept → (tls) → sniff → connection → request → body ─► service ─► reply
//!        watchdog checks each connection, write_stall each stream of HTTP/2; drain and signal end them
//! ```
//!
//! Nothing before the service knows what is asked: paths, dialects and keys are the concern of the
//! [`Router`]. What is decided before it is how much one client may take: bytes, headers, connections, time ([`Limits`]).

mod accept;
mod answer;
mod body;
mod browser;
mod budget;
mod connection;
mod drain;
mod limits;
mod listen;
mod models;
pub mod openapi;
mod reply;
mod request;
mod router;
mod settings;
mod signal;
mod sniff;
mod tls;
mod watchdog;
mod wire;
mod write_stall;

pub use accept::Server;
pub use body::RequestBody;
pub(crate) use body::append;
pub use budget::{Budget, Full, Share};
pub use drain::{Control, Ended, Health};
pub use limits::Limits;
pub use listen::ListenError;
pub use models::{Description, Listing};
pub use reply::{BrokenOff, Reply, ReplyBody};
pub use request::{HttpRequest, Service};
pub use router::Router;
pub use signal::{Reload, Renewal, Signals};
pub use tls::{Tls, TlsError};
