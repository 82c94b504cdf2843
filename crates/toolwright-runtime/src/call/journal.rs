//! The write-ahead record of effects: an effect is recorded before it happens, so that a retry or a
//! restart does not repeat it unnoticed.
//!
//! | state in the journal | tool with idempotency keys | other tool with effects |
//! |---|---|---|
//! | no record | runs | runs |
//! | begun, not finished | runs again with the same key | does not run: the effect is uncertain |
//! | finished | the recorded outcome; a retry of the call, or of one around it, runs again after a failure | the recorded outcome |
//! | failed, with another version of the tool | runs | runs |
//! | succeeded or unfinished, with another version of the tool | does not run, no outcome | does not run, no outcome |

mod memory;
pub(crate) mod record;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use toolwright_core::Json;

pub use memory::MemoryJournal;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteJournal, Unfinished};

/// A call with effects that is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The idempotency key: tenant, run, turn, call, tool, canonical arguments and the tool's digest,
    /// hashed
    pub key: Arc<str>,
    /// The idempotency key without the tool's digest, which earlier versions of the tool share
    pub unversioned_key: Arc<str>,
    /// The run
    pub run: Arc<str>,
    /// The tool
    pub tool: Arc<str>,
    /// The call
    pub call_id: Arc<str>,
}

/// The state of an intent before it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Not recorded before: run the call
    New,
    /// Begun this many times before and never finished
    Unfinished(u32),
    /// Finished with this record
    Finished(Json),
    /// Not recorded before, but the same call was begun with another version of the tool; with the
    /// record of the latest one if it finished. Withdraw the intent unless the call runs
    ToolChanged(Option<Json>),
}

/// The journal could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("journal: {0}")]
pub struct JournalError(pub String);

impl JournalError {
    fn never_begun() -> JournalError {
        JournalError("an effect was finished that was never begun".to_owned())
    }

    fn record_changed() -> JournalError {
        JournalError("the effect no longer has the record that was to be replaced".to_owned())
    }
}

#[cfg(feature = "sqlite")]
impl From<crate::store::StoreError> for JournalError {
    fn from(error: crate::store::StoreError) -> JournalError {
        JournalError(error.to_string())
    }
}

/// Records effects before they happen. A record is durable when the method returns.
pub trait Journal: Send + Sync + 'static {
    /// Records an intent and returns its previous state.
    fn begin(&self, intent: &Intent) -> impl Future<Output = Result<Begun, JournalError>> + Send;

    /// Records the result. A second record for the same key is ignored, unless it is [reopened](Journal::reopen)
    /// before.
    fn finish(
        &self,
        key: &str,
        record: &Json,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Records that this attempt had no effect, so that the call may run again. Earlier unfinished
    /// attempts stay recorded.
    fn withdraw(&self, key: &str) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Removes the record that [`begin`](Journal::begin) returned, and records that the call has begun again, as its
    /// only unfinished attempt. Fails if the call has another record by now, or none.
    fn reopen(
        &self,
        intent: &Intent,
        record: &Json,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;
}

type Written<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// The object-safe form of [`Journal`].
trait AnyJournal: Send + Sync {
    fn begin<'a>(&'a self, intent: &'a Intent) -> Written<'a, Begun>;
    fn finish<'a>(&'a self, key: &'a str, record: &'a Json) -> Written<'a, ()>;
    fn withdraw<'a>(&'a self, key: &'a str) -> Written<'a, ()>;
    fn reopen<'a>(&'a self, intent: &'a Intent, record: &'a Json) -> Written<'a, ()>;
}

impl<J: Journal> AnyJournal for J {
    fn begin<'a>(&'a self, intent: &'a Intent) -> Written<'a, Begun> {
        Box::pin(Journal::begin(self, intent))
    }

    fn finish<'a>(&'a self, key: &'a str, record: &'a Json) -> Written<'a, ()> {
        Box::pin(Journal::finish(self, key, record))
    }

    fn withdraw<'a>(&'a self, key: &'a str) -> Written<'a, ()> {
        Box::pin(Journal::withdraw(self, key))
    }

    fn reopen<'a>(&'a self, intent: &'a Intent, record: &'a Json) -> Written<'a, ()> {
        Box::pin(Journal::reopen(self, intent, record))
    }
}

/// A shared journal of any type.
#[derive(Clone)]
pub struct SharedJournal(Arc<dyn AnyJournal>);

impl SharedJournal {
    /// Wraps a journal.
    pub fn new(journal: impl Journal) -> SharedJournal {
        SharedJournal::of(Arc::new(journal))
    }

    /// Shares a journal that has other owners.
    pub fn of(journal: Arc<impl Journal>) -> SharedJournal {
        SharedJournal(journal)
    }

    /// See [`Journal::begin`].
    pub async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        self.0.begin(intent).await
    }

    /// See [`Journal::finish`].
    pub async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        self.0.finish(key, record).await
    }

    /// See [`Journal::withdraw`].
    pub async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        self.0.withdraw(key).await
    }

    /// See [`Journal::reopen`].
    pub async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
        self.0.reopen(intent, record).await
    }
}
