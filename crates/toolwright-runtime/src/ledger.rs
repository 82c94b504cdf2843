//! The audit record of calls and exchanges: append-only, each entry chained to the one before.
//!
//! Calls of tools, exchanges with models through the gateway, and answers to approvals are in one chain. An entry is a
//! JSON document. The fields of a call:
//!
//! | field | meaning |
//! |---|---|
//! | `time` | start of the call (RFC 3339, microseconds) |
//! | `run`, `caller`, `tenant` | the run, and who made the call |
//! | `call_id`, `tool` | the call and its tool |
//! | `key` | the idempotency key, if it was computed |
//! | `outcome` | `ok`, `failed`, or `waiting` (for approval) |
//! | `error` | the kind of failure, if it failed |
//! | `source` | `executed`, `cached`, `journal`, `duplicate` or `refused` |
//! | `attempts`, `duration_us` | number of attempts, and duration |
//! | `changes` | changes of the arguments: `{path, op}` |
//! | `losses` | losses of translation: `{path, what, why, severity}` |
//! | `data` | the arguments, the outcome, and the changes with `from` and `to`, secrets redacted, if data is recorded |
//!
//! The fields of an exchange, which begins with `kind`:
//!
//! | field | meaning |
//! |---|---|
//! | `kind` | `exchange` |
//! | `time`, `run`, `caller`, `tenant` | as above; `run` is the request id, which calls within the exchange also have |
//! | `conversation` | the conversation, if the exchange belongs to one |
//! | `dialect`, `endpoint`, `model` | the client's dialect, endpoint and model |
//! | `upstream`, `upstream_dialect` | the upstream that answered, or the last one tried |
//! | `answered`, `answer_id` | the model that answered, and the upstream's id of the response |
//! | `stream`, `untouched` | whether it was a stream; whether the bytes were passed through |
//! | `status`, `error`, `left` | the HTTP status, the class of the fault, whether the client disconnected |
//! | `attempts` | the attempts at upstreams: `{upstream, error, duration_us}` |
//! | `duration_us`, `first_byte_us`, `added_us` | total, time to the first byte, and time spent in the gateway |
//! | `usage`, `stop` | usage and stop reason |
//! | `calls`, `ran` | tools that the model called; tools that the gateway ran: `{tool, error, duration_us}` |
//! | `bytes_in`, `bytes_out` | the sizes of the two bodies |
//! | `losses`, `response_losses`, `more_losses` | losses of the request and of the response, and the number of further losses |
//! | `count` | the number of equal requests that the entry stands for, if it is more than 1 |
//! | `data` | the bodies between client and gateway (`request`, `response`) and between gateway and upstreams (`upstreams`), secrets redacted, if data is recorded |
//!
//! The fields of an answer to a call that waited for approval, which also begins with `kind`:
//!
//! | field | meaning |
//! |---|---|
//! | `kind` | `approval` |
//! | `time`, `run` | time of the answer; the run of the call |
//! | `caller`, `tenant` | who answered, for which tenant |
//! | `approval`, `tool`, `conversation` | the id of the approval, the tool, the conversation |
//! | `approved` | whether the call may run |
//!
//! By default a ledger records no data: it contains no argument and no result. A ledger in a file stores data beside
//! the chain, which has its digest (`data_digest`): data can be removed, and the chain can still be verified.

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
use std::sync::Arc;
use std::task::{Context, Poll};

pub use chain::{Broken, Checkpoint, Damage, Head, Link, Verified};
pub use entry::{ApprovalEntry, CallEntry, Entry, Kind, ResultSource};
pub use exchange::{ExchangeEntry, Tried};
pub use memory::MemoryLedger;
pub use query::{Order, Query};
#[cfg(feature = "sqlite")]
pub use sqlite::{Gap, LedgerError, LedgerFile, Overflow, SqliteLedger};

/// An entry at its position in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Its position, from 1
    pub sequence: u64,
    /// The link that chains it to the entry before
    pub link: Link,
    /// The digest of its data, if the data is beside the chain or was removed
    pub data_digest: Option<Arc<str>>,
    /// The entry
    pub entry: Entry,
}

/// Records entries. Recording does not wait and does not fail a call.
pub trait Ledger: Send + Sync + 'static {
    /// Appends an entry. A ledger that does not record data removes it from the entry.
    fn record(&self, entry: Entry);

    /// Whether arguments and outcomes are recorded. The caller redacts them by the tool's schema;
    /// the ledger redacts them again by name and pattern.
    fn wants_data(&self) -> bool {
        false
    }

    /// Returns what a new call must wait for if entries arrive faster than they are written. A call
    /// whose tool has run never waits, so no entry is lost.
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
