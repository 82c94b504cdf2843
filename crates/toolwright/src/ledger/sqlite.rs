//! A ledger in a file: one chain over restarts, and for all processes that have the file open.
//!
//! Entries are written by a thread of their own, many at a time. A kill of the process loses those
//! that are not written yet; [`SqliteLedger::flush`] waits until all are, and a ledger that is
//! dropped writes the rest. If the file cannot be written, entries stay in memory and are tried
//! again with the next one. When too many wait, [`room`](Ledger::room) makes new calls wait.

mod rows;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use super::admit::Data;
use super::chain::{Broken, Head, Verified};
use super::query::Query;
use super::{Entry, Ledger, Recorded, Room};
use crate::store::{self, Desk, StoreError, Urgency, Writer};
use rows::Row;

/// A ledger in a SQLite file.
#[derive(Debug)]
pub struct SqliteLedger {
    writer: Writer,
    backlog: Arc<Backlog>,
    path: PathBuf,
    data: Data,
    limit: usize,
}

/// Why a ledger cannot be read, or must not be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Somebody changed it
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The file failed
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many entries may wait for the disk before new calls do.
const LIMIT: usize = 10_000;
/// How long to wait before the disk is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// Entries that are not in the file yet.
#[derive(Debug, Default)]
struct Backlog {
    fresh: Mutex<Fresh>,
    /// On their way into the file; only the thread that writes looks at them
    leaving: Mutex<Vec<Row>>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Fresh {
    entries: Vec<Entry>,
    /// Whether the thread that writes knows of them
    posted: bool,
}

impl SqliteLedger {
    /// Opens a ledger without data, or creates one that only its owner may read. The folder must
    /// exist.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteLedger, StoreError> {
        let path = path.as_ref().to_owned();
        let connection = store::open(&path, &rows::LEDGER)?;
        let writer = Writer::start(connection, path.clone())?;
        Ok(SqliteLedger { writer, backlog: Arc::default(), path, data: Data::Off, limit: LIMIT })
    }

    /// With arguments and outcomes, secrets redacted.
    #[must_use]
    pub fn with_data(mut self) -> SqliteLedger {
        self.data = Data::On;
        self
    }

    /// With another number of entries that may wait for the disk before new calls do.
    #[must_use]
    pub fn with_backlog(mut self, entries: usize) -> SqliteLedger {
        self.limit = entries;
        self
    }

    /// How many entries wait for the disk.
    pub fn backlog(&self) -> usize {
        self.backlog.waiting.load(Ordering::Relaxed)
    }

    /// Waits until everything that was recorded is in the file. If that fails, nothing is lost, and
    /// it may be tried again.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let written = self.backlog.write(self.writer.desk()?, self.data, Urgency::Now);
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// The end of the chain. Keep it elsewhere, and the ledger can be
    /// [verified against it](SqliteLedger::verify_against) later.
    pub async fn head(&self) -> Result<Head, StoreError> {
        self.flush().await?;
        self.read(rows::head).await
    }

    /// The entries that are asked for.
    pub async fn entries(&self, query: &Query) -> Result<Vec<Recorded>, LedgerError> {
        self.flush().await?;
        let query = query.clone();
        Ok(self.read(move |connection| rows::find(connection, &query)).await??)
    }

    /// Follows the chain over all entries. Each must be as it was written and where it was
    /// written, up to the head that the file itself has: a cut-off end that took the head along
    /// can only be seen [against a head](SqliteLedger::verify_against) that was kept elsewhere.
    pub async fn verify(&self) -> Result<Verified, LedgerError> {
        self.follow(None).await
    }

    /// Follows the chain, which must run through a head that was kept elsewhere.
    pub async fn verify_against(&self, kept: &Head) -> Result<Verified, LedgerError> {
        self.follow(Some(*kept)).await
    }

    async fn follow(&self, kept: Option<Head>) -> Result<Verified, LedgerError> {
        self.flush().await?;
        Ok(self.read(move |connection| rows::verify(connection, kept)).await??)
    }

    /// Reads with a connection of its own, beside the thread that writes and off the runtime.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let read = move || {
            let mut connection = store::reopen(&path, &rows::LEDGER)?;
            let look = connection.transaction();
            let read = look.and_then(|look| read(&look));
            read.map_err(|error| StoreError::of(&path, &error))
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| StoreError::Closed)?
    }
}

impl Ledger for SqliteLedger {
    fn record(&self, entry: Entry) {
        self.backlog.waiting.fetch_add(1, Ordering::Relaxed);
        let mut fresh = lock(&self.backlog.fresh);
        fresh.entries.push(entry);
        if std::mem::replace(&mut fresh.posted, true) {
            return;
        }
        drop(fresh);
        if let Ok(desk) = self.writer.desk() {
            drop(self.backlog.write(desk, self.data, Urgency::Soon));
        }
    }

    fn wants_data(&self) -> bool {
        self.data == Data::On
    }

    fn room(&self) -> Option<Room> {
        if self.backlog() < self.limit {
            return None;
        }
        let (desk, backlog) = (Arc::downgrade(self.writer.desk().ok()?), self.backlog.clone());
        Some(Room::new(drained(desk, backlog, self.data, self.limit)))
    }
}

/// Ready when less than the limit waits, or the ledger is gone.
async fn drained(desk: Weak<Desk>, backlog: Arc<Backlog>, data: Data, limit: usize) {
    while backlog.waiting.load(Ordering::Relaxed) >= limit {
        let Some(written) = desk.upgrade().map(|desk| backlog.write(&desk, data, Urgency::Now))
        else {
            return;
        };
        if !matches!(written.await, Ok(Ok(()))) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Backlog {
    /// Has everything written that waits, and tells when it is.
    fn write(
        self: &Arc<Backlog>,
        desk: &Desk,
        data: Data,
        urgency: Urgency,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let (ack, written) = oneshot::channel();
        let (own, back) = (self.clone(), self.clone());
        let apply = move |change: &rusqlite::Transaction<'_>| {
            let mut fresh = lock(&own.fresh);
            let entries = std::mem::take(&mut fresh.entries);
            fresh.posted = false;
            drop(fresh);
            let mut leaving = lock(&own.leaving);
            leaving.extend(entries.into_iter().map(|entry| Row::new(data.admit(entry))));
            rows::append(change, &mut leaving)
        };
        let done = move |committed: Result<(), StoreError>| {
            if committed.is_ok() {
                // All that left is in the file: what was added since is in no row yet.
                let left = std::mem::take(&mut *lock(&back.leaving)).len();
                back.waiting.fetch_sub(left, Ordering::Relaxed);
            }
            // Most callers do not wait.
            drop(ack.send(committed));
        };
        desk.post(urgency, apply, done);
        written
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
