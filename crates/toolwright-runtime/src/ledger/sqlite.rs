//! A ledger in a SQLite file: one chain across restarts and for all processes that have the file
//! open.
//!
//! A thread writes entries in batches. If the process is killed, unwritten entries are lost, and
//! the next [`SqliteLedger::gaps`] report it; [`SqliteLedger::flush`] waits until all are written,
//! and dropping the ledger writes them. If the file cannot be written ([`SqliteLedger::failure`]),
//! entries stay in memory and are retried with the next one. If too many wait,
//! [`backpressure`](Ledger::backpressure) delays new calls, or entries are dropped and counted: see
//! [`Overflow`].

mod checkpoint;
mod file;
mod health;
mod rows;
mod session;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::admit::Data;
use super::chain::{Broken, Head, Verified};
use super::query::Query;
use super::{Backpressure, Entry, Ledger, Recorded};
use crate::store::{self, JobSender, StoreError, Turns, Urgency, Writer};
pub use file::LedgerFile;
use health::Health;
use rows::{Row, separate};
pub use session::Gap;

/// A ledger in a SQLite file.
#[must_use]
#[derive(Debug)]
pub struct SqliteLedger {
    writer: Writer,
    backlog: Arc<Backlog>,
    data: Data,
    limit: usize,
    overflow: Overflow,
}

/// What happens when too many entries wait to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// New calls wait for [`backpressure`](Ledger::backpressure)
    #[default]
    Wait,
    /// New entries are dropped and counted, and the file gets a [`Gap`] once it can be written
    Drop,
}

/// Why a ledger cannot be read, or is not intact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The chain is damaged
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The file failed
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Default number of unwritten entries at which new calls wait.
const LIMIT: usize = 10_000;
/// Wait before a failed write is retried.
const PAUSE: Duration = Duration::from_millis(100);

/// Entries that are not written yet.
#[derive(Debug)]
struct Backlog {
    path: PathBuf,
    session: i64,
    health: Health,
    fresh: Mutex<Fresh>,
    /// Entries that are being written; only the writer thread uses them
    leaving: Mutex<Vec<Row>>,
    waiting: AtomicUsize,
    /// Number of dropped entries: in total, and since the last write
    dropped: AtomicU64,
    unreported: AtomicU64,
}

#[derive(Debug, Default)]
struct Fresh {
    entries: Vec<Entry>,
    /// Whether the writer thread was notified
    posted: bool,
}

impl SqliteLedger {
    /// Opens a ledger that records no data, or creates one that only its owner may read. The folder
    /// must exist. A file with damaged pages is refused; pages are checked in files of up to 64
    /// MiB.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteLedger, StoreError> {
        let path = path.as_ref().to_owned();
        let mut connection = store::open(&path, &rows::LEDGER)?;
        store::check_pages(&path, &connection)?;
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

    /// Records arguments and outcomes, with secrets redacted.
    pub fn with_data(mut self) -> SqliteLedger {
        self.data = Data::On;
        self
    }

    /// Sets the number of unwritten entries at which new calls wait.
    pub fn with_backlog(mut self, entries: usize) -> SqliteLedger {
        self.limit = entries;
        self
    }

    /// Sets what happens when too many entries wait to be written.
    pub fn with_overflow(mut self, overflow: Overflow) -> SqliteLedger {
        self.overflow = overflow;
        self
    }

    /// Returns what happens when too many entries wait to be written.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Sets a function that is called on the writer thread with the error when writing starts to
    /// fail, and with `None` when it works again.
    pub fn with_observer(
        self,
        observer: impl Fn(Option<&StoreError>) + Send + Sync + 'static,
    ) -> SqliteLedger {
        self.backlog.health.observe(Box::new(observer));
        self
    }

    /// Returns the error of the last write, if it failed.
    pub fn failure(&self) -> Option<StoreError> {
        self.backlog.health.failure()
    }

    /// Returns the number of failed writes since the ledger was opened.
    pub fn failures(&self) -> u64 {
        self.backlog.health.failures()
    }

    /// Returns the number of entries dropped by [`Overflow::Drop`] since the ledger was opened.
    pub fn dropped(&self) -> u64 {
        self.backlog.dropped.load(Ordering::Relaxed)
    }

    /// Returns the positions at which entries may be missing, because a process ended without
    /// closing the ledger or entries were dropped.
    pub async fn gaps(&self) -> Result<Vec<Gap>, StoreError> {
        self.flush().await?;
        self.read(session::gaps).await
    }

    /// Checks the pages of a file of up to 64 MiB, and the chain over the last 1000 entries.
    pub async fn inspect(&self) -> Result<(), LedgerError> {
        self.flush().await?;
        let path = self.backlog.path.clone();
        let look = move || health::inspect(&path, &mut store::reopen(&path, &rows::LEDGER)?);
        tokio::task::spawn_blocking(look).await.map_err(|_| StoreError::Closed)?
    }

    /// Returns the number of unwritten entries.
    pub fn backlog(&self) -> usize {
        self.backlog.waiting.load(Ordering::Relaxed)
    }

    /// Waits until all recorded entries are written. Fails if the file was removed or replaced.
    /// After an error no entry is lost, and `flush` may be called again.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.write(Occasion::Flush).await
    }

    /// Waits until all recorded entries are written, and records that this process has lost none, also if it then
    /// ends without dropping the ledger.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.write(Occasion::Close).await
    }

    async fn write(&self, occasion: Occasion) -> Result<(), StoreError> {
        let written = self.backlog.write(self.writer.sender()?, self.data, occasion);
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// Returns the end of the chain. Store it elsewhere to [verify the ledger against
    /// it](SqliteLedger::verify_against) later.
    pub async fn head(&self) -> Result<Head, StoreError> {
        self.flush().await?;
        self.read(rows::head).await
    }

    /// Whether the chain contains a head. This is a single lookup; [`SqliteLedger::verify_against`]
    /// checks every entry.
    pub async fn holds(&self, kept: &Head) -> Result<bool, StoreError> {
        let kept = *kept;
        self.read(move |look| rows::holds(look, kept)).await
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.backlog.path
    }

    /// Returns the entries that match a query.
    pub async fn entries(&self, query: &Query) -> Result<Vec<Recorded>, LedgerError> {
        self.flush().await?;
        let query = query.clone();
        Ok(self.read(move |look| separate(rows::find(look, &query))).await??)
    }

    /// Verifies the chain over all entries up to the head in the file. A truncation that also
    /// replaced the head is detected only [against a head](SqliteLedger::verify_against) that is
    /// stored elsewhere.
    pub async fn verify(&self) -> Result<Verified, LedgerError> {
        self.follow(None).await
    }

    /// Verifies the chain, which must contain a head that was stored elsewhere.
    pub async fn verify_against(&self, kept: &Head) -> Result<Verified, LedgerError> {
        self.follow(Some(*kept)).await
    }

    async fn follow(&self, kept: Option<Head>) -> Result<Verified, LedgerError> {
        self.flush().await?;
        Ok(self.read(move |look| separate(rows::verify(look, None, kept))).await??)
    }

    /// Removes entries that began before a time, from the oldest to the first that did not, and returns their number. A
    /// signed [`Checkpoint`](super::Checkpoint) stands for them. If one of them is damaged, that is the error, and it
    /// stays with all later ones.
    pub async fn remove_before(&self, time: SystemTime) -> Result<u64, LedgerError> {
        let mut removed = 0;
        let remove = move |change: &rusqlite::Transaction<'_>| {
            separate(checkpoint::remove_before(change, time))
        };
        while let more @ 1.. = self.writer.sender()?.ask(remove).await?? {
            removed += more;
        }
        Ok(removed)
    }

    /// Reads with a separate connection on a blocking thread.
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
        let mut fresh = self.backlog.fresh.lock();
        fresh.entries.push(entry);
        if std::mem::replace(&mut fresh.posted, true) {
            return;
        }
        drop(fresh);
        if let Ok(sender) = self.writer.sender() {
            drop(self.backlog.write(sender, self.data, Occasion::Record));
        }
    }

    fn wants_data(&self) -> bool {
        self.data == Data::On
    }

    fn backpressure(&self) -> Option<Backpressure> {
        if self.backlog() < self.limit || self.overflow == Overflow::Drop {
            return None;
        }
        let (sender, backlog) = (Arc::downgrade(self.writer.sender().ok()?), self.backlog.clone());
        Some(Backpressure::new(drained(sender, backlog, self.data, self.limit)))
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        if let Ok(sender) = self.writer.sender() {
            // The writer completes pending work before it ends.
            drop(self.backlog.write(sender, self.data, Occasion::Close));
        }
    }
}

/// Waits until the backlog is below the limit or the ledger is closed.
async fn drained(sender: Weak<JobSender>, backlog: Arc<Backlog>, data: Data, limit: usize) {
    while backlog.waiting.load(Ordering::Relaxed) >= limit {
        let Some(written) =
            sender.upgrade().map(|sender| backlog.write(&sender, data, Occasion::Flush))
        else {
            return;
        };
        if !matches!(written.await, Ok(Ok(()))) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Why the backlog is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// An entry was recorded; more may follow
    Record,
    /// A caller waits for the write
    Flush,
    /// The ledger is closed
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

    /// Schedules a write of the backlog and returns when it is done.
    fn write(
        self: &Arc<Backlog>,
        sender: &JobSender,
        data: Data,
        occasion: Occasion,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let (ack, written) = oneshot::channel();
        let (own, back) = (self.clone(), self.clone());
        let apply = move |change: &rusqlite::Transaction<'_>| {
            own.health.check(&own.path, change)?;
            let mut fresh = own.fresh.lock();
            let entries = std::mem::take(&mut fresh.entries);
            fresh.posted = false;
            drop(fresh);
            let mut leaving = own.leaving.lock();
            let mut turns = Turns::start();
            leaving.extend(entries.into_iter().map(|entry| {
                turns.pass();
                Row::new(data.admit(entry))
            }));
            let missing = own.unreported.load(Ordering::Relaxed);
            let head = rows::append(change, &mut leaving, &mut turns)?;
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
                // Every entry of this write is in the file; newer ones are not in a row yet.
                let left = std::mem::take(&mut *back.leaving.lock()).len();
                back.waiting.fetch_sub(left, Ordering::Relaxed);
            }
            // Most callers do not wait for the acknowledgement.
            drop(ack.send(committed.map(|_| ())));
        };
        sender.post(occasion.urgency(), apply, done);
        written
    }
}
