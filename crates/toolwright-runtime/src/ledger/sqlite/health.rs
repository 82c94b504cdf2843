//! Integrity of a ledger file, checked when it is opened and on each write.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, ffi};

use super::{LedgerError, rows};
use crate::ledger::chain::Head;
use crate::store::{FileId, StoreError, check_pages};

/// Number of entries at the end of the chain that a quick check verifies.
const CHECKED_ENTRIES: u64 = 1000;

/// Called with the error when writing starts to fail, and with `None` when it works again.
pub(super) type FailureObserver = Box<dyn Fn(Option<&StoreError>) + Send + Sync>;

/// The state of the file.
#[derive(Default)]
pub(super) struct Health {
    file: Option<FileId>,
    state: Mutex<State>,
    failures: AtomicU64,
    observer: Mutex<Option<FailureObserver>>,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<StoreError>,
    /// The end of the chain after the last write
    head: Option<Head>,
}

impl Health {
    pub(super) fn new(path: &Path) -> Health {
        Health { file: FileId::of(path), ..Health::default() }
    }

    pub(super) fn observe(&self, observer: FailureObserver) {
        *self.observer.lock() = Some(observer);
    }

    /// Returns the error of the last write, if it failed.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.state.lock().failure.clone()
    }

    /// Returns the number of failed writes.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Refuses to write to a file that was moved or replaced, or that lacks entries that were
    /// written.
    pub(super) fn check(&self, path: &Path, change: &Transaction<'_>) -> rusqlite::Result<()> {
        if FileId::of(path) != self.file {
            return Err(failure(ffi::SQLITE_CANTOPEN, "it was deleted or replaced while in use"));
        }
        match self.state.lock().head {
            Some(head) if !rows::holds(change, head)? => {
                Err(failure(ffi::SQLITE_CORRUPT, "an entry that was written is missing"))
            }
            _ => Ok(()),
        }
    }

    /// Records the result of a write, and the new end of the chain.
    pub(super) fn written(&self, outcome: Result<Head, &StoreError>) {
        let mut state = self.state.lock();
        let before = state.failure.is_some();
        match outcome {
            Ok(head) => *state = State { failure: None, head: Some(head) },
            Err(error) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                state.failure = Some(error.clone());
            }
        }
        drop(state);
        if before != outcome.is_err()
            && let Some(observer) = &*self.observer.lock()
        {
            observer(outcome.err());
        }
    }
}

impl std::fmt::Debug for Health {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Health").field("state", &self.state).finish_non_exhaustive()
    }
}

pub(super) fn failure(code: i32, why: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(why.to_owned()))
}

/// Checks the pages of a file and the end of its chain.
pub(super) fn inspect(path: &Path, connection: &mut Connection) -> Result<(), LedgerError> {
    check_pages(path, connection)?;
    let look = connection.transaction();
    let end =
        look.and_then(|look| rows::separate(rows::verify(&look, Some(CHECKED_ENTRIES), None)));
    Ok(end.map_err(|error| StoreError::of(path, &error))?.map(drop)?)
}
