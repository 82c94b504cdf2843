//! A bounded, expiring key-value store, in memory or in a SQLite file.
//!
//! An entry is bytes under a name. Names are scoped by owner and kind, so no owner can reach the
//! entries of another, and different users of the store (stored responses, saved runs, handles) share
//! one file without sharing names. Besides its name an entry may have aliases, which are removed with
//! it.
//! [`Limits`] hold for each owner and kind: when an owner exceeds them, its own least recently used
//! entries are removed first. An entry expires when it was not read for its lifetime. The store
//! does not interpret the bytes; the caller versions their format.

mod memory;
mod sqlite;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::oneshot;

use memory::Memory;

use super::{StoreError, Urgency, Writer};

/// The owner and kind of entries.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The owner, such as a client of the gateway
    pub owner: Arc<str>,
    /// The kind of the entries, such as `response`
    pub kind: &'static str,
}

/// An entry to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, unique in its scope
    pub name: String,
    /// Alternative names of this entry
    pub aliases: Vec<String>,
    /// The value
    pub value: Vec<u8>,
}

/// Limits of one owner and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long an entry is stored after it was last read or written
    pub lifetime: Duration,
    /// Maximum number of bytes of an owner
    pub bytes: usize,
    /// Maximum number of entries of an owner
    pub entries: usize,
}

/// The result of storing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The entry is stored and has replaced an earlier one of the same name
    Stored,
    /// The entry alone exceeds the limits and is not stored
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

/// Maximum number of bytes that wait to be written. Further entries are refused, so that a slow
/// disk does not fill the memory.
const MAX_PENDING_BYTES: usize = 64 << 20;

/// Overhead of an entry: rows, indexes, pointers.
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

    /// Stores an entry. Returns at once, and every later [`get`](Self::get) returns the entry;
    /// `done` runs when the write is committed or has failed.
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
                match writer.sender() {
                    Ok(sender) => sender.post(
                        urgency,
                        move |change| sqlite::put(change, &scope, &entry, limits, now),
                        done,
                    ),
                    Err(error) => done(Err(error)),
                }
            }
        }
    }

    /// Returns an entry that has not expired, by its name or an alias. Reading it restarts its
    /// lifetime.
    pub async fn get(&self, scope: &Scope, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.get(scope, name, now())),
            Backend::File { writer, .. } => {
                let (scope, name, now) = (scope.clone(), name.to_owned(), now());
                writer.sender()?.ask(move |change| sqlite::get(change, &scope, &name, now)).await
            }
        }
    }

    /// Returns an entry that has not expired, by its name or an alias, without restarting its
    /// lifetime.
    pub async fn peek(&self, scope: &Scope, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.peek(scope, name, now())),
            Backend::File { writer, .. } => {
                let (scope, name, now) = (scope.clone(), name.to_owned(), now());
                writer.sender()?.ask(move |change| sqlite::peek(change, &scope, &name, now)).await
            }
        }
    }

    /// Returns the number of bytes of an entry in a file, by its name; 0 if there is none.
    pub async fn size(&self, scope: &Scope, name: &str) -> Result<usize, StoreError> {
        match &self.0 {
            Backend::Memory(_) => Ok(0),
            Backend::File { writer, .. } => {
                let (scope, name) = (scope.clone(), name.to_owned());
                writer.sender()?.ask(move |change| sqlite::size(change, &scope, &name)).await
            }
        }
    }

    /// Returns the most recently used entries of a kind, of all owners, as owner and value: as many
    /// as fit in `bytes`, the least recently used first. Their lifetime does not restart.
    pub async fn recent(
        &self,
        kind: &'static str,
        bytes: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.recent(kind, bytes, now())),
            Backend::File { writer, .. } => {
                let now = now();
                writer.sender()?.ask(move |change| sqlite::recent(change, kind, bytes, now)).await
            }
        }
    }

    /// Returns the values of a scope that have not expired, the least recently used first. Their
    /// lifetime does not restart.
    pub async fn values(&self, scope: &Scope) -> Result<Vec<Vec<u8>>, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.values(scope, now())),
            Backend::File { writer, .. } => {
                let (scope, now) = (scope.clone(), now());
                writer.sender()?.ask(move |change| sqlite::values(change, &scope, now)).await
            }
        }
    }

    /// Replaces an entry by another of the same name, if its value is still `expected`. Returns
    /// whether it was replaced, when that is committed.
    pub async fn replace(
        &self,
        scope: &Scope,
        expected: Vec<u8>,
        entry: Entry,
        limits: Limits,
    ) -> Result<bool, StoreError> {
        let now = now();
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.replace(scope, &expected, entry, limits, now)),
            Backend::File { writer, .. } => {
                let scope = scope.clone();
                let replace = move |change: &rusqlite::Transaction<'_>| {
                    if sqlite::peek(change, &scope, &entry.name, now)?.as_ref() != Some(&expected) {
                        return Ok(false);
                    }
                    sqlite::put(change, &scope, &entry, limits, now).map(|()| true)
                };
                writer.sender()?.ask(replace).await
            }
        }
    }

    /// Removes an entry by its name, with its aliases. Returns whether it was there.
    pub async fn remove(&self, scope: &Scope, name: &str) -> Result<bool, StoreError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.remove(scope, name, now())),
            Backend::File { writer, .. } => {
                let (scope, name, now) = (scope.clone(), name.to_owned(), now());
                writer.sender()?.ask(move |change| sqlite::remove(change, &scope, &name, now)).await
            }
        }
    }

    /// Waits until all stored entries are committed.
    pub async fn flush(&self) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Memory(_) => Ok(()),
            Backend::File { writer, .. } => writer.sender()?.ask(|_| Ok(())).await,
        }
    }
}

impl Entry {
    /// Returns the number of bytes that count towards the limits.
    fn size(&self) -> usize {
        let aliases: usize = self.aliases.iter().map(|own| own.len() + OVERHEAD_BYTES / 4).sum();
        OVERHEAD_BYTES + self.name.len() + aliases + self.value.len()
    }
}

/// Returns the first values that fit in `bytes`, in reverse order.
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

/// Returns milliseconds since 1970. A monotonic clock is not enough, because entries outlive the
/// process.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
