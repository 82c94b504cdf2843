//! Who called what, when, with what outcome: append-only, each entry chained to the one before.
//!
//! The last step of a call, and of an exchange with a model through the gateway. Both stand in one
//! chain. An entry is a JSON document. Of a call:
//!
//! | field | what it says |
//! |---|---|
//! | `time` | when the call came, by RFC 3339, to the microsecond |
//! | `run`, `caller`, `tenant` | for whom |
//! | `call_id`, `tool` | which call of which tool |
//! | `key` | the idempotency key, if it came so far |
//! | `outcome` | `ok`, `failed`, or `waiting` for a person |
//! | `error` | the kind of failure, if it failed |
//! | `source` | `executed`, `cached`, `journal`, `duplicate` or `refused` |
//! | `attempts`, `duration_us` | how often it was tried and how long it took |
//! | `changes` | what was changed in the arguments: `{path, op}`, with `from` and `to` if data is on |
//! | `losses` | what could not be said in a dialect: `{path, what, why, severity}` |
//! | `data` | the arguments and the outcome, secrets redacted, if data is on |
//!
//! Of an exchange, with `kind` in front, which a call does not have:
//!
//! | field | what it says |
//! |---|---|
//! | `kind` | `exchange` |
//! | `time`, `run`, `caller`, `tenant` | as above; `run` is the request's id, which calls that were made within it have too |
//! | `dialect`, `endpoint`, `model` | how and what the client asked |
//! | `upstream`, `upstream_dialect` | who answered, or was asked last |
//! | `answered`, `answer_id` | the model that answered, and the upstream's id of the answer |
//! | `stream`, `untouched` | whether it was a stream; whether bytes passed as they were |
//! | `status`, `error`, `left` | the HTTP status, the class of the fault, whether the client left |
//! | `attempts` | every attempt at an upstream: `{upstream, error, duration_us}` |
//! | `duration_us`, `first_byte_us`, `added_us` | how long it took, and what the gateway added |
//! | `usage`, `stop` | what the answer cost and why it ended |
//! | `calls`, `ran` | tools that the model called; tools that the gateway ran: `{tool, error, duration_us}` |
//! | `bytes_in`, `bytes_out` | the sizes of the two bodies |
//! | `losses`, `response_losses`, `more_losses` | what was lost on both ways, and how many more were |
//! | `data` | the bodies, secrets redacted, if data is on |
//!
//! Data is off unless a ledger is told to take it: then no argument and no result is in it.

mod admit;
mod chain;
mod document;
mod entry;
mod exchange;
mod memory;
mod query;
#[cfg(feature = "sqlite")]
mod sqlite;
mod time;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use chain::{Broken, Damage, Head, Link, Verified};
pub use entry::{CallEntry, Entry, Kind, ResultSource};
pub use exchange::{ExchangeEntry, Tried};
pub use memory::MemoryLedger;
pub use query::{Order, Query};
#[cfg(feature = "sqlite")]
pub use sqlite::{Gap, LedgerError, LedgerFile, Overflow, SqliteLedger};

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its place, from 1
    pub sequence: u64,
    /// What chains it to the one before
    pub link: Link,
    /// The entry
    pub entry: Entry,
}

/// Where entries go. Recording never waits and never fails a call.
pub trait Ledger: Send + Sync + 'static {
    /// Appends an entry. Whatever it holds, a ledger that is not to have data takes none.
    fn record(&self, entry: Entry);

    /// Whether arguments and outcomes shall be recorded too. Whoever makes the entry redacts them
    /// by the tool's schema; the ledger does so again by name and look.
    fn wants_data(&self) -> bool {
        false
    }

    /// What a new call must wait for, if entries arrive faster than they are written. Entries are never
    /// dropped: new calls wait, never one that has had its effect.
    fn backpressure(&self) -> Option<Backpressure> {
        None
    }
}

/// A future that is ready when a ledger accepts entries again.
pub struct Backpressure(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Backpressure {
    /// Wraps a future.
    pub fn new(ready: impl Future<Output = ()> + Send + 'static) -> Backpressure {
        Backpressure(Box::pin(ready))
    }
}

impl Future for Backpressure {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Backpressure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Backpressure(…)")
    }
}
