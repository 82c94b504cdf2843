//! Files that outlive the process: SQLite, opened with care and written by one thread.
//!
//! Journal and ledger have a file each. `file` opens it, `writer` writes to it for callers that must
//! not block. Several processes may have the same file open. [`ExpiringStore`] is for everything else
//! that is kept for a client for some time: bounded, expiring, in memory or in a file.

pub mod expiring;
mod file;
mod writer;

use std::path::{Path, PathBuf};

pub use expiring::ExpiringStore;
pub(crate) use file::{FileId, Kind, Safety, open, reopen};
pub(crate) use writer::{Desk, Urgency, Writer};

/// A file could not be opened, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened at all
    #[error("{} cannot be opened: {why}", path.display())]
    Unavailable {
        /// The file
        path: PathBuf,
        /// What the system says
        why: String,
    },
    /// The file is something else
    #[error("{} is not a {kind} of Toolwright; it was left as it is", path.display())]
    Foreign {
        /// The file
        path: PathBuf,
        /// What it should be
        kind: &'static str,
    },
    /// The file was written by a newer version
    #[error(
        "{} is a {kind} of version {found}, and this program knows versions up to {known}; use a newer program or another file",
        path.display()
    )]
    Newer {
        /// The file
        path: PathBuf,
        /// What it is
        kind: &'static str,
        /// Its version
        found: i64,
        /// The newest version that is known
        known: i64,
    },
    /// The file is not what was written to it
    #[error("{} is damaged ({why}); restore it from a copy or start with another file", path.display())]
    Damaged {
        /// The file
        path: PathBuf,
        /// How it shows
        why: String,
    },
    /// Another process holds the file for too long
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
        /// What the system says
        why: String,
    },
    /// More is written than the disk takes
    #[error("{}: too much is waiting to be written", path.display())]
    Backlogged {
        /// The file
        path: PathBuf,
    },
    /// The thread that writes has ended
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// What SQLite says about a file.
    pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> StoreError {
        use rusqlite::{Error, ErrorCode as Code};
        let (path, why) = (path.to_owned(), error.to_string());
        match (error.sqlite_error_code(), error) {
            (Some(Code::DatabaseBusy | Code::DatabaseLocked), _) => StoreError::Busy { path },
            (Some(Code::CannotOpen), _) => StoreError::Unavailable { path, why },
            // The second kind: a column has something else than was written to it.
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
