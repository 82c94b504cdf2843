//! A ledger's file, to be read only: by a command, beside the process that writes it.

use std::path::{Path, PathBuf};

use super::{LedgerError, rows, session};
use crate::ledger::chain::{Head, Verified};
use crate::ledger::query::Query;
use crate::ledger::{Gap, Recorded};
use crate::store::{self, StoreError};

/// The file of a ledger. Reading blocks; nothing is written to it.
#[derive(Debug, Clone)]
pub struct LedgerFile {
    path: PathBuf,
}

impl LedgerFile {
    /// A file that must be there and be a ledger.
    pub fn open(path: impl Into<PathBuf>) -> Result<LedgerFile, StoreError> {
        let path = path.into();
        read(&path, |_| Ok(()))?;
        Ok(LedgerFile { path })
    }

    /// The entries that are asked for.
    pub fn entries(&self, query: &Query) -> Result<Vec<Recorded>, LedgerError> {
        Ok(read(&self.path, |look| rows::find(look, query))??)
    }

    /// Follows the chain over all entries, and through a head that was kept elsewhere.
    pub fn verify(&self, kept: Option<Head>) -> Result<Verified, LedgerError> {
        Ok(read(&self.path, |look| rows::verify(look, kept))??)
    }

    /// The places where entries may be missing.
    pub fn gaps(&self) -> Result<Vec<Gap>, StoreError> {
        read(&self.path, session::gaps)
    }
}

/// Reads a file with a connection of its own, in one transaction.
pub(super) fn read<T>(
    path: &Path,
    read: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let mut connection = store::reopen(path, &rows::LEDGER)?;
    let look = connection.transaction();
    look.and_then(|look| read(&look)).map_err(|error| StoreError::of(path, &error))
}
