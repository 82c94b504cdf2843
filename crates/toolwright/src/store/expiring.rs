//! A bounded, expiring key-value store, in memory or in a SQLite file.
//!
//! An entry is bytes under a name. Names are scoped by owner and kind, so no owner can reach the
//! entries of another, and different users of the store (stored responses, saved runs, handles) share
//! one file without sharing names. Besides its name an entry may have aliases, which are removed with
//! it.
//!
//! [`Limits`] hold for each owner and kind: when an owner exceeds them, its own least recently used
//! entries are removed first. An entry expires when nobody has read it for its lifetime. The store
//! does not look into the bytes; the caller versions their format.

mod memory;
mod sqlite;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use memory::Memory;
use tokio::sync::oneshot;

use super::{StoreError, Urgency, Writer};

/// Whose entries, and of which kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The owner, such as a client of the gateway
    pub owner: Arc<str>,
    /// What the entries are, such as `response`
    pub kind: &'static str,
}

/// What is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, unique in its scope
    pub name: String,
    /// More names that lead to this entry
    pub aliases: Vec<String>,
    /// The value
    pub value: Vec<u8>,
}

/// How much one owner may store of one kind, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long an entry is stored after it was last read or written
    pub lifetime: Duration,
    /// The most bytes of an owner
    pub bytes: usize,
    /// The most entries of an owner
    pub entries: usize,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is stored, and has replaced an earlier one of its name
    Stored,
    /// It alone exceeds the limits, so it is not stored
    TooLarge,
}

/// A store of entries that expire.
#[derive(Debug)]
pub struct ExpiringStore(Backend);

#[derive(Debug)]
enum Backend {
    Memory(Memory),
    File { writer: Writer, path: Arc<Path>, pending: Arc<AtomicUsize> },
}

/// The most bytes that may wait for the disk. Beyond that entries are refused, so that a slow disk
/// does not fill the memory.
const MAX_PENDING_BYTES: usize = 64 << 20;

/// What an entry costs besides its bytes: rows, indexes, pointers.
const OVERHEAD_BYTES: usize = 256;

impl ExpiringStore {
    /// Creates a store that lives as long as the process.
    pub fn in_memory() -> ExpiringStore {
        ExpiringStore(Backend::Memory(Memory::default()))
    }

    /// Opens a store in a file, or creates one that only its owner may read. The folder must exist.
    pub fn open(path: impl AsRef<Path>) -> Result<ExpiringStore, StoreError> {
        let path = path.as_ref();
        let connection = super::open(path, &sqlite::STORE)?;
        sqlite::remove_expired(&connection, now()).map_err(|error| StoreError::of(path, &error))?;
        let writer = Writer::start(connection, path.to_owned())?;
        Ok(ExpiringStore(Backend::File { writer, path: path.into(), pending: Arc::default() }))
    }

    /// Stores an entry. It returns at once, and every later [`get`](Self::get) sees the entry; `done`
    /// runs when the entry is committed, or failed to be.
    pub fn put(
        &self,
        scope: &Scope,
        entry: Entry,
        limits: Limits,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) {
        self.post(Urgency::Soon, scope, entry, limits, done);
    }

    /// Stores an entry, and returns when it is committed.
    pub async fn commit(
        &self,
        scope: &Scope,
        entry: Entry,
        limits: Limits,
    ) -> Result<Outcome, StoreError> {
        let (ack, answer) = oneshot::channel();
        // A caller that stopped waiting needs no answer.
        self.post(Urgency::Now, scope, entry, limits, |done| drop(ack.send(done)));
        answer.await.map_err(|_| StoreError::Closed)?
    }

    fn post(
        &self,
        urgency: Urgency,
        scope: &Scope,
        entry: Entry,
        limits: Limits,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) {
        let size = entry.size();
        if size > limits.bytes || limits.entries == 0 {
            return done(Ok(Outcome::TooLarge));
        }
        match &self.0 {
            Backend::Memory(memory) => {
                memory.put(scope, entry, limits, now());
                done(Ok(Outcome::Stored));
            }
            Backend::File { writer, path, pending } => {
                if pending.fetch_add(size, Ordering::Relaxed) > MAX_PENDING_BYTES {
                    pending.fetch_sub(size, Ordering::Relaxed);
                    return done(Err(StoreError::Backlogged { path: path.to_path_buf() }));
                }
                let (scope, pending, now) = (scope.clone(), Arc::clone(pending), now());
                let done = move |put: Result<(), StoreError>| {
                    pending.fetch_sub(size, Ordering::Relaxed);
                    done(put.map(|()| Outcome::Stored));
                };
                match writer.desk() {
                    Ok(desk) => desk.post(
                        urgency,
                        move |change| sqlite::put(change, &scope, &entry, limits, now),
                        done,
                    ),
                    Err(error) => done(Err(error)),
                }
            }
        }
    }

    /// The value of an entry by its name or one of its aliases, if it has not expired. Reading it
    /// begins its lifetime anew.
    pub async fn get(&self, scope: &Scope, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.get(scope, name, now())),
            Backend::File { writer, .. } => {
                let (scope, name, now) = (scope.clone(), name.to_owned(), now());
                writer.desk()?.ask(move |change| sqlite::get(change, &scope, &name, now)).await
            }
        }
    }

    /// The most recently used entries of a kind, of all owners, as owner and value: as many as have
    /// `bytes` together, the least recently used first. Their lifetime goes on.
    pub async fn recent(
        &self,
        kind: &'static str,
        bytes: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.recent(kind, bytes, now())),
            Backend::File { writer, .. } => {
                let now = now();
                writer.desk()?.ask(move |change| sqlite::recent(change, kind, bytes, now)).await
            }
        }
    }

    /// Removes an entry by its name, with its aliases. Returns whether it was there.
    pub async fn remove(&self, scope: &Scope, name: &str) -> Result<bool, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.remove(scope, name, now())),
            Backend::File { writer, .. } => {
                let (scope, name, now) = (scope.clone(), name.to_owned(), now());
                writer.desk()?.ask(move |change| sqlite::remove(change, &scope, &name, now)).await
            }
        }
    }

    /// Waits until everything that was put is committed.
    pub async fn flush(&self) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Memory(_) => Ok(()),
            Backend::File { writer, .. } => writer.desk()?.ask(|_| Ok(())).await,
        }
    }
}

impl Entry {
    /// How many bytes it counts for.
    fn size(&self) -> usize {
        let aliases: usize = self.aliases.iter().map(|own| own.len() + OVERHEAD_BYTES / 4).sum();
        OVERHEAD_BYTES + self.name.len() + aliases + self.value.len()
    }
}

/// The first values that have `bytes` together, in the reverse order.
fn within<E>(
    values: impl Iterator<Item = Result<(String, Vec<u8>), E>>,
    bytes: usize,
) -> Result<Vec<(String, Vec<u8>)>, E> {
    let (mut found, mut size) = (Vec::new(), 0);
    for value in values {
        let (owner, value) = value?;
        size += value.len();
        if size > bytes {
            break;
        }
        found.push((owner, value));
    }
    found.reverse();
    Ok(found)
}

/// Milliseconds since 1970. Entries outlive the process, so a monotonic clock does not do.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
