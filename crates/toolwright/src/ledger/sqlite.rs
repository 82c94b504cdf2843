//! A ledger in a file: one chain over restarts, and for all processes that have the file open.
//!
//! Entries are written by a thread of their own, many at a time. A kill of the process loses those
//! that are not written yet, which the next [`SqliteLedger::gaps`] show; [`SqliteLedger::flush`]
//! waits until all are written, and a ledger that is dropped writes the rest. If the file cannot be
//! written ([`SqliteLedger::failure`]), entries stay in memory and are tried again with the next
//! one. When too many wait, [`backpressure`](Ledger::backpressure) makes new calls wait, or entries
//! are dropped and counted: see [`Overflow`].

mod file;
mod health;
mod rows;
mod session;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use super::admit::Data;
use super::chain::{Broken, Head, Verified};
use super::query::Query;
use super::{Backpressure, Entry, Ledger, Recorded};
use crate::store::{self, Desk, StoreError, Urgency, Writer};
pub use file::LedgerFile;
use health::Health;
use rows::Row;
pub use session::Gap;

/// A ledger in a SQLite file.
#[derive(Debug)]
pub struct SqliteLedger {
    writer: Writer,
    backlog: Arc<Backlog>,
    data: Data,
    limit: usize,
    overflow: Overflow,
}

/// What happens when more entries wait for the disk than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// New calls wait for [`backpressure`](Ledger::backpressure)
    #[default]
    Wait,
    /// New entries are dropped and counted, and the ledger has a [`Gap`] once it can be written
    Drop,
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
#[derive(Debug)]
struct Backlog {
    path: PathBuf,
    session: i64,
    health: Health,
    fresh: Mutex<Fresh>,
    /// On their way into the file; only the thread that writes looks at them
    leaving: Mutex<Vec<Row>>,
    waiting: AtomicUsize,
    /// Entries that were dropped: in all, and since the last write
    dropped: AtomicU64,
    unreported: AtomicU64,
}

#[derive(Debug, Default)]
struct Fresh {
    entries: Vec<Entry>,
    /// Whether the thread that writes knows of them
    posted: bool,
}

impl SqliteLedger {
    /// Opens a ledger without data, or creates one that only its owner may read. The folder must
    /// exist. A file whose pages are damaged is refused; they are looked at if it has at most
    /// 64 MiB.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteLedger, StoreError> {
        let path = path.as_ref().to_owned();
        let mut connection = store::open(&path, &rows::LEDGER)?;
        health::check_pages(&path, &connection)?;
        let session =
            session::open(&mut connection).map_err(|error| StoreError::of(&path, &error))?;
        let writer = Writer::start(connection, path.clone())?;
        let backlog = Arc::new(Backlog::new(path, session));
        Ok(SqliteLedger {
            writer,
            backlog,
            data: Data::Off,
            limit: LIMIT,
            overflow: Overflow::default(),
        })
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

    /// With another way to deal with too many entries that wait.
    #[must_use]
    pub fn with_overflow(mut self, overflow: Overflow) -> SqliteLedger {
        self.overflow = overflow;
        self
    }

    /// What happens when more entries wait for the disk than may.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// With a function that is called when writing begins to fail, with the error, and when it
    /// works again, without one. It is called on the thread that writes.
    #[must_use]
    pub fn with_observer(
        self,
        observer: impl Fn(Option<&StoreError>) + Send + Sync + 'static,
    ) -> SqliteLedger {
        self.backlog.health.observe(Box::new(observer));
        self
    }

    /// Why the last write failed; none if it did not.
    pub fn failure(&self) -> Option<StoreError> {
        self.backlog.health.failure()
    }

    /// How many writes have failed since the ledger was opened.
    pub fn failures(&self) -> u64 {
        self.backlog.health.failures()
    }

    /// How many entries were dropped since the ledger was opened, by [`Overflow::Drop`].
    pub fn dropped(&self) -> u64 {
        self.backlog.dropped.load(Ordering::Relaxed)
    }

    /// The places where entries may be missing: a process ended without closing the ledger, or
    /// entries were dropped.
    pub async fn gaps(&self) -> Result<Vec<Gap>, StoreError> {
        self.flush().await?;
        self.read(session::gaps).await
    }

    /// A quick look at the file: its pages if it has at most 64 MiB, and the chain over its last 1000
    /// entries.
    pub async fn inspect(&self) -> Result<(), LedgerError> {
        self.flush().await?;
        let path = self.backlog.path.clone();
        let look = move || health::inspect(&path, &mut store::reopen(&path, &rows::LEDGER)?);
        tokio::task::spawn_blocking(look).await.map_err(|_| StoreError::Closed)?
    }

    /// How many entries wait for the disk.
    pub fn backlog(&self) -> usize {
        self.backlog.waiting.load(Ordering::Relaxed)
    }

    /// Waits until everything that was recorded is in the file, which must be in its place. If that
    /// fails, nothing is lost, and it may be tried again.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let written = self.backlog.write(self.writer.desk()?, self.data, Occasion::Flush);
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// The end of the chain. Keep it elsewhere, and the ledger can be
    /// [verified against it](SqliteLedger::verify_against) later.
    pub async fn head(&self) -> Result<Head, StoreError> {
        self.flush().await?;
        self.read(rows::head).await
    }

    /// Whether the chain runs through a head that was kept elsewhere: a quick question, where
    /// [`SqliteLedger::verify_against`] looks at every entry.
    pub async fn holds(&self, kept: &Head) -> Result<bool, StoreError> {
        let kept = *kept;
        self.read(move |look| rows::holds(look, kept)).await
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.backlog.path
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
        let path = self.backlog.path.clone();
        let read = move || file::read(&path, read);
        tokio::task::spawn_blocking(read).await.map_err(|_| StoreError::Closed)?
    }
}

impl Ledger for SqliteLedger {
    fn record(&self, entry: Entry) {
        if self.overflow == Overflow::Drop && self.backlog() >= self.limit {
            self.backlog.dropped.fetch_add(1, Ordering::Relaxed);
            self.backlog.unreported.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.backlog.waiting.fetch_add(1, Ordering::Relaxed);
        let mut fresh = lock(&self.backlog.fresh);
        fresh.entries.push(entry);
        if std::mem::replace(&mut fresh.posted, true) {
            return;
        }
        drop(fresh);
        if let Ok(desk) = self.writer.desk() {
            drop(self.backlog.write(desk, self.data, Occasion::Record));
        }
    }

    fn wants_data(&self) -> bool {
        self.data == Data::On
    }

    fn backpressure(&self) -> Option<Backpressure> {
        if self.backlog() < self.limit || self.overflow == Overflow::Drop {
            return None;
        }
        let (desk, backlog) = (Arc::downgrade(self.writer.desk().ok()?), self.backlog.clone());
        Some(Backpressure::new(drained(desk, backlog, self.data, self.limit)))
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        if let Ok(desk) = self.writer.desk() {
            // The writer does what is asked for before it ends.
            drop(self.backlog.write(desk, self.data, Occasion::Close));
        }
    }
}

/// Ready when less than the limit waits, or the ledger is gone.
async fn drained(desk: Weak<Desk>, backlog: Arc<Backlog>, data: Data, limit: usize) {
    while backlog.waiting.load(Ordering::Relaxed) >= limit {
        let Some(written) = desk.upgrade().map(|desk| backlog.write(&desk, data, Occasion::Flush))
        else {
            return;
        };
        if !matches!(written.await, Ok(Ok(()))) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Why everything that waits is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// An entry was recorded; others may come
    Record,
    /// A caller waits until it is written
    Flush,
    /// Nothing comes after it
    Close,
}

impl Occasion {
    fn urgency(self) -> Urgency {
        if self == Occasion::Record { Urgency::Soon } else { Urgency::Now }
    }
}

impl Backlog {
    fn new(path: PathBuf, session: i64) -> Backlog {
        Backlog {
            health: Health::new(&path),
            path,
            session,
            fresh: Mutex::default(),
            leaving: Mutex::default(),
            waiting: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            unreported: AtomicU64::new(0),
        }
    }

    /// Has everything written that waits, and tells when it is.
    fn write(
        self: &Arc<Backlog>,
        desk: &Desk,
        data: Data,
        occasion: Occasion,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let (ack, written) = oneshot::channel();
        let (own, back) = (self.clone(), self.clone());
        let apply = move |change: &rusqlite::Transaction<'_>| {
            own.health.check(&own.path, change)?;
            let mut fresh = lock(&own.fresh);
            let entries = std::mem::take(&mut fresh.entries);
            fresh.posted = false;
            drop(fresh);
            let mut leaving = lock(&own.leaving);
            leaving.extend(entries.into_iter().map(|entry| Row::new(data.admit(entry))));
            let missing = own.unreported.load(Ordering::Relaxed);
            let head = rows::append(change, &mut leaving)?;
            if missing > 0 || !leaving.is_empty() {
                session::advance(change, own.session, head, missing)?;
            }
            if occasion == Occasion::Close {
                session::close(change, own.session)?;
            }
            Ok((head, missing))
        };
        let done = move |committed: Result<(Head, u64), StoreError>| {
            back.health.written(committed.as_ref().map(|(head, _)| *head));
            if let Ok((_, missing)) = committed {
                back.unreported.fetch_sub(missing, Ordering::Relaxed);
                // All that left is in the file: what was added since is in no row yet.
                let left = std::mem::take(&mut *lock(&back.leaving)).len();
                back.waiting.fetch_sub(left, Ordering::Relaxed);
            }
            // Most callers do not wait.
            drop(ack.send(committed.map(|_| ())));
        };
        desk.post(occasion.urgency(), apply, done);
        written
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
