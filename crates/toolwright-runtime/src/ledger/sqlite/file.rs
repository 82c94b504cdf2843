//! Read-only access to a ledger file, for commands beside the process that writes it.

use std::path::{Path, PathBuf};

use super::{LedgerError, rows, session};
use crate::ledger::chain::{Head, Verified};
use crate::ledger::query::Query;
use crate::ledger::{Gap, Recorded};
use crate::store::{self, StoreError};

/// A ledger file for reading. Its methods block.
#[derive(Debug, Clone)]
pub struct LedgerFile {
    path: PathBuf,
}

impl LedgerFile {
    /// Opens an existing ledger file.
    pub fn open(path: impl Into<PathBuf>) -> Result<LedgerFile, StoreError> {
        let path = path.into();
        read(&path, |_| Ok(()))?;
        Ok(LedgerFile { path })
    }

    /// Returns the entries that match a query.
    pub fn entries(&self, query: &Query) -> Result<Vec<Recorded>, LedgerError> {
        Ok(read(&self.path, |look| rows::separate(rows::find(look, query)))??)
    }

    /// Verifies the chain over all entries, and that it contains a head that was stored elsewhere.
    pub fn verify(&self, kept: Option<Head>) -> Result<Verified, LedgerError> {
        Ok(read(&self.path, |look| rows::separate(rows::verify(look, None, kept)))??)
    }

    /// Returns the positions at which entries may be missing.
    pub fn gaps(&self) -> Result<Vec<Gap>, StoreError> {
        read(&self.path, session::gaps)
    }
}

/// Reads a file with a separate connection, in one transaction.
pub(super) fn read<T>(
    path: &Path,
    read: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let mut connection = store::reopen(path, &rows::LEDGER)?;
    let look = connection.transaction();
    look.and_then(|look| read(&look)).map_err(|error| StoreError::of(path, &error))
}
