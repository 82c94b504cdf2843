//! SQLite files, each written by one thread.
//!
//! The journal and the ledger have a file each. `file` opens it, `writer` writes to it for callers
//! that must not block. Several processes may have the same file open. [`ExpiringStore`] stores
//! other data of clients: bounded, expiring, in memory or in a file.

pub mod expiring;
mod file;
mod writer;

use std::path::{Path, PathBuf};

pub use expiring::ExpiringStore;
pub(crate) use file::FileId;
pub use file::check_file;
pub use file::{Kind, Safety, check_pages, open, reopen};
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

impl StoreError {
    /// Converts an error of SQLite.
    pub fn of(path: &Path, error: &rusqlite::Error) -> StoreError {
        use rusqlite::{Error, ErrorCode as Code};
        let (path, why) = (path.to_owned(), error.to_string());
        match (error.sqlite_error_code(), error) {
            (Some(Code::DatabaseBusy | Code::DatabaseLocked), _) => StoreError::Busy { path },
            (Some(Code::CannotOpen), _) => StoreError::Unavailable { path, why },
            // The second pattern: a column has another type than the one that was written.
            (Some(Code::DatabaseCorrupt), _)
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
