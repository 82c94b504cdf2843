//! Who called what, when, with what outcome: append-only, each entry chained to the one before.
//!
//! The last step of a call. An entry is a JSON document:
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
//! Data is off unless a ledger is told to take it: then no argument and no result is in it.

mod admit;
mod chain;
mod document;
mod memory;
mod query;
pub mod redact;
#[cfg(feature = "sqlite")]
mod sqlite;
mod time;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use toolwright_core::Json;
use toolwright_core::args::Change;
use toolwright_core::fit::Loss;

use crate::call::Source;
use crate::error::CallErrorKind;
use crate::session::Caller;

pub use chain::{Broken, Damage, Head, Link, Verified};
pub use document::NotAnEntry;
pub use memory::MemoryLedger;
pub use query::{Order, Query};
#[cfg(feature = "sqlite")]
pub use sqlite::{LedgerError, SqliteLedger};

/// One call, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When the call came
    pub time: SystemTime,
    /// The run that it belongs to
    pub run: Arc<str>,
    /// Who called
    pub caller: Caller,
    /// The call's id
    pub call_id: Arc<str>,
    /// The tool's name, as it was called
    pub tool: Arc<str>,
    /// The idempotency key, if it came so far
    pub key: Option<Arc<str>>,
    /// Why it failed, if it did
    pub error: Option<CallErrorKind>,
    /// Where the result is from; none while it waits for a person
    pub source: Option<Source>,
    /// How often it was tried
    pub attempts: u32,
    /// How long it took
    pub duration: Duration,
    /// What was changed in the arguments, values left out unless data is switched on
    pub changes: Vec<Change>,
    /// What could not be said in a dialect
    pub losses: Vec<Loss>,
    /// The arguments and the outcome, secrets redacted, if data is switched on
    pub data: Option<Json>,
}

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

    /// What to wait for before the next call begins, if entries come faster than they are written.
    /// No entry is dropped: it is new calls that wait, never one that has had its effect.
    fn room(&self) -> Option<Room> {
        None
    }
}

/// Ready when a ledger has room again.
pub struct Room(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Room {
    /// Ready when a future is.
    pub fn new(ready: impl Future<Output = ()> + Send + 'static) -> Room {
        Room(Box::pin(ready))
    }
}

impl Future for Room {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Room(…)")
    }
}
