//! The HTTP server. A connection yields requests, each an [`HttpRequest`] that a [`Service`]
//! answers with a [`Reply`].
//!
//! ```text
//! listen → accept → (tls) → sniff → connection → request → body ─► service ─► reply
//!        watchdog checks each connection, write_stall each stream of HTTP/2; drain and signal end them
//! ```
//!
//! The server does not interpret requests: paths, dialects and keys belong to the service. It
//! limits what one client may use: bytes, headers, connections, time
//! ([`Limits`](self::config::Limits)).

mod accept;
pub mod address;
mod answer;
mod body;
pub mod browser;
mod budget;
pub mod config;
mod connection;
mod drain;
mod listen;
mod multipart;
mod reply;
mod request;
mod settings;
mod signal;
mod sniff;
mod tls;
mod unread;
mod watchdog;
mod wire;
mod write_stall;

pub use accept::Server;
pub(crate) use body::append;
pub use body::{BodyChunks, RequestBody};
pub use budget::{Budget, Full, Share};
pub use drain::{Control, Ended, Health};
pub use listen::ListenError;
pub use multipart::{Form, FormItem, PartHead};
pub use reply::{BrokenOff, Reply, ReplyBody, event_reply, typed_reply};
pub use request::{HttpRequest, Service};
pub use signal::{Reload, Renewal, Signals};
pub use tls::{Tls, TlsError};
