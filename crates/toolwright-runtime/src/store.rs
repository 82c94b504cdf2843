//! SQLite files, each written by one thread.
//!
//! The journal and the ledger have a file each. `file` opens it, `writer` writes to it for callers
//! that must not block. Several processes may have the same file open. [`ExpiringStore`] stores
//! other data of clients: bounded, expiring, in memory or in a file.

pub mod expiring;
mod file;
mod writer;

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

pub use expiring::ExpiringStore;
pub(crate) use file::FileId;
pub use file::{Kind, Safety, check_file, check_pages, open, reopen};
pub(crate) use writer::Turns;
pub use writer::{JobSender, Urgency, Writer};

/// Why a file could not be opened, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened
    #[error("{} cannot be opened: {why}", path.display())]
    Unavailable {
        /// The file
        path: PathBuf,
        /// The system's error
        why: String,
    },
    /// The file has another format
    #[error("{} is not a {kind} of Toolwright; it was not changed", path.display())]
    Foreign {
        /// The file
        path: PathBuf,
        /// The expected format
        kind: &'static str,
    },
    /// The file was written by a newer version
    #[error(
        "{} is a {kind} of version {found}, and this program supports versions up to {known}; use \
         a newer program or another file",
        path.display()
    )]
    Newer {
        /// The file
        path: PathBuf,
        /// The format
        kind: &'static str,
        /// The version of the file
        found: i64,
        /// The newest supported version
        known: i64,
    },
    /// The content of the file is damaged
    #[error("{} is damaged ({why}); restore it from a copy or start with another file", path.display())]
    Damaged {
        /// The file
        path: PathBuf,
        /// What is wrong
        why: String,
    },
    /// Another process holds a lock for too long
    #[error("{} is in use by another process", path.display())]
    Busy {
        /// The file
        path: PathBuf,
    },
    /// Reading or writing failed, for example because the disk is full
    #[error("{}: {why}", path.display())]
    Failed {
        /// The file
        path: PathBuf,
        /// The system's error
        why: String,
    },
    /// Too much data waits to be written
    #[error("{}: too much is waiting to be written", path.display())]
    Backlogged {
        /// The file
        path: PathBuf,
    },
    /// The writer thread has ended
    #[error("the store is closed")]
    Closed,
}

/// The damaged files that this process has found, in the order in which they were found.
static DAMAGED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Returns the damaged files that this process has found, the first one first, until they are opened anew.
pub fn damaged() -> Vec<PathBuf> {
    DAMAGED.lock().clone()
}

/// Records whether a file is damaged, for [`damaged`].
fn set_damaged(path: &Path, is_damaged: bool) {
    let mut damaged = DAMAGED.lock();
    match damaged.iter().position(|known| known == path) {
        None if is_damaged => damaged.push(path.to_owned()),
        Some(index) if !is_damaged => drop(damaged.remove(index)),
        _ => {}
    }
}

impl StoreError {
    /// Converts an error of SQLite. A damaged file is recorded for [`damaged`].
    pub fn of(path: &Path, error: &rusqlite::Error) -> StoreError {
        let error = StoreError::from_sqlite(path.to_owned(), error);
        if matches!(error, StoreError::Damaged { .. }) {
            set_damaged(path, true);
        }
        error
    }

    fn from_sqlite(path: PathBuf, error: &rusqlite::Error) -> StoreError {
        use rusqlite::{Error, ErrorCode as Code};
        let why = error.to_string();
        match (error.sqlite_error_code(), error) {
            (Some(Code::DatabaseBusy | Code::DatabaseLocked), _) => StoreError::Busy { path },
            (Some(Code::CannotOpen), _) => StoreError::Unavailable { path, why },
            // The last pattern: a column has another type than the one that was written.
            (Some(Code::DatabaseCorrupt | Code::NotADatabase), _)
            | (
                _,
                Error::FromSqlConversionFailure(..)
                | Error::IntegralValueOutOfRange(..)
                | Error::InvalidColumnType(..),
            ) => StoreError::Damaged { path, why },
            _ => StoreError::Failed { path, why },
        }
    }
}
