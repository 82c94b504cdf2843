//! The write-ahead record of effects: what was begun is known before it happens, so that a retry or
//! a restart never repeats it in silence.
//!
//! | the journal says | a tool that honours keys | a tool that does not |
//! |---|---|---|
//! | nothing | runs | runs |
//! | begun, not finished | runs again with the same key | is not run: nobody knows |
//! | finished | the recorded outcome | the recorded outcome |

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

/// What is about to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The idempotency key: tenant, run, turn, call, tool and canonical arguments, hashed
    pub key: Arc<str>,
    /// The run
    pub run: Arc<str>,
    /// The tool
    pub tool: Arc<str>,
    /// The call
    pub call_id: Arc<str>,
}

/// What the journal knew when an intent was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing: go on
    New,
    /// It was begun so many times before and never finished
    Unfinished(u32),
    /// It was finished with this record
    Finished(Json),
}

/// The journal could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("journal: {0}")]
pub struct JournalError(pub String);

impl JournalError {
    fn never_begun() -> JournalError {
        JournalError("an effect was to be finished that was never begun".to_owned())
    }
}

#[cfg(feature = "sqlite")]
impl From<crate::store::StoreError> for JournalError {
    fn from(error: crate::store::StoreError) -> JournalError {
        JournalError(error.to_string())
    }
}

/// Where effects are recorded before they happen. When a method returns, the record is safe.
pub trait Journal: Send + Sync + 'static {
    /// Records that something is about to happen, and tells what was known before.
    fn begin(&self, intent: &Intent) -> impl Future<Output = Result<Begun, JournalError>> + Send;

    /// Records how it ended. A second record for the same key changes nothing.
    fn finish(
        &self,
        key: &str,
        record: &Json,
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Records that this attempt did nothing, so that it may be made anew. Earlier attempts that
    /// were not finished stay so.
    fn withdraw(&self, key: &str) -> impl Future<Output = Result<(), JournalError>> + Send;
}

impl<J: Journal> Journal for Arc<J> {
    fn begin(&self, intent: &Intent) -> impl Future<Output = Result<Begun, JournalError>> + Send {
        J::begin(self, intent)
    }

    fn finish(
        &self,
        key: &str,
        record: &Json,
    ) -> impl Future<Output = Result<(), JournalError>> + Send {
        J::finish(self, key, record)
    }

    fn withdraw(&self, key: &str) -> impl Future<Output = Result<(), JournalError>> + Send {
        J::withdraw(self, key)
    }
}

type Written<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// [`Journal`] for any type.
trait AnyJournal: Send + Sync {
    fn begin<'a>(&'a self, intent: &'a Intent) -> Written<'a, Begun>;
    fn finish<'a>(&'a self, key: &'a str, record: &'a Json) -> Written<'a, ()>;
    fn withdraw<'a>(&'a self, key: &'a str) -> Written<'a, ()>;
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
}

/// A journal of any kind, shared.
#[derive(Clone)]
pub struct SharedJournal(Arc<dyn AnyJournal>);

impl SharedJournal {
    /// Shares a journal.
    pub fn new(journal: impl Journal) -> SharedJournal {
        SharedJournal(Arc::new(journal))
    }

    /// As [`Journal::begin`].
    pub async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        self.0.begin(intent).await
    }

    /// As [`Journal::finish`].
    pub async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        self.0.finish(key, record).await
    }

    /// As [`Journal::withdraw`].
    pub async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        self.0.withdraw(key).await
    }
}
