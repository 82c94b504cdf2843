//! Caches reasoning and signatures that the client's dialect cannot carry, for the client's next request.
//!
//! After a reply, the cache stores the reasoning in its report; before the client's next request is
//! sent, the reasoning is looked up by the calls in it. Each client has separate entries. Unused
//! entries expire, and if memory is short, the client with the most entries loses its oldest.
//!
//! With a store the cache survives a restart: entries are written as they are added, and loaded at
//! startup.

mod client;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolwright_core::{Call, Json, Request};
use toolwright_dialects::reasoning_cache::{CachedReasoning, CallKey};
use toolwright_dialects::translate::Translator;
use toolwright_runtime::store::StoreError;
use toolwright_runtime::store::expiring::{Entry, ExpiringStore, Limits, Scope};

use client::Client;

/// The kind of the entries in the store.
const KIND: &str = "reasoning";

/// Limits of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of replies
    pub answers: usize,
    /// Maximum number of bytes
    pub bytes: usize,
    /// How long an unused reply is cached
    pub age: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { answers: 100_000, bytes: 64 << 20, age: Duration::from_hours(1) }
    }
}

/// The cached reasoning of all clients.
#[derive(Debug)]
pub struct ReasoningCache {
    bounds: Bounds,
    /// Number of replies, to skip the lock if there is none
    answers: AtomicUsize,
    store: Mutex<Store>,
    /// The store that survives a restart
    disk: Option<Arc<ExpiringStore>>,
}

#[derive(Debug, Default)]
struct Store {
    clients: HashMap<Arc<str>, Client>,
    answers: usize,
    bytes: usize,
    /// When all clients were last swept
    swept: Option<Instant>,
}

impl ReasoningCache {
    /// Creates an empty cache.
    pub fn new(bounds: Bounds) -> ReasoningCache {
        ReasoningCache { bounds, answers: AtomicUsize::new(0), store: Mutex::default(), disk: None }
    }

    /// Sets a store that survives a restart.
    #[must_use]
    pub fn with_store(self, disk: Arc<ExpiringStore>) -> ReasoningCache {
        ReasoningCache { disk: Some(disk), ..self }
    }

    /// Loads the entries of an earlier process. Unreadable entries are skipped.
    pub async fn load(&self, now: Instant) -> Result<(), StoreError> {
        let Some(disk) = &self.disk else { return Ok(()) };
        for (client, value) in disk.recent(KIND, self.bounds.bytes).await? {
            let document = Json::parse_bytes(&value).ok();
            if let Some(kept) = document.and_then(|own| CachedReasoning::from_json(&own).ok()) {
                self.insert(&client, Arc::new(kept), now, None);
            }
        }
        Ok(())
    }

    /// Returns the number of replies.
    pub fn len(&self) -> usize {
        self.answers.load(Ordering::Relaxed)
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.store.lock().bytes
    }

    /// Caches the reasoning of a reply to a client, unless it alone would evict most other entries.
    pub fn remember(&self, client: &str, kept: Arc<CachedReasoning>, now: Instant) {
        if client::size(&kept) > self.bounds.bytes / 8 {
            return;
        }
        self.persist(client, &kept);
        self.insert(client, kept, now, Some(now));
    }

    fn insert(
        &self,
        client: &str,
        kept: Arc<CachedReasoning>,
        now: Instant,
        stored: Option<Instant>,
    ) {
        let mut store = self.store.lock();
        store.sweep(&self.bounds, now);
        store.add(client, kept, now + self.bounds.age, stored);
        store.shrink(&self.bounds);
        self.answers.store(store.answers, Ordering::Relaxed);
    }

    /// Writes an entry to the store, or renews it there. Each client may have an eighth of the size
    /// in memory.
    fn persist(&self, client: &str, kept: &CachedReasoning) {
        let Some(disk) = &self.disk else { return };
        let value = kept.to_json().compact().into_bytes();
        let name = blake3::hash(&value).to_hex().to_string();
        let Bounds { answers, bytes, age } = self.bounds;
        let limits = Limits { lifetime: age, bytes: bytes / 8, entries: answers / 8 };
        let scope = Scope { owner: client.into(), kind: KIND };
        disk.put(&scope, Entry { name, aliases: Vec::new(), value }, limits, |done| {
            if let Err(error) = done {
                tracing::warn!("reasoning that a client cannot carry was not stored: {error}");
            }
        });
    }

    /// Finds the reasoning for a call of a client, by its id or a substitute for it.
    pub fn find(&self, client: &str, call: &Call, now: Instant) -> Option<Arc<CachedReasoning>> {
        let id = call.id.as_deref()?;
        if self.is_empty() || !self.store.lock().clients.get(client)?.has_id(id) {
            return None;
        }
        // The arguments are parsed outside of the lock.
        let (key, named) = (CallKey::of(call)?, CallKey::without_arguments(call));
        let found =
            self.store.lock().clients.get_mut(client)?.find(key, named, self.bounds.age, now);
        let (kept, is_due) = found?;
        if is_due {
            self.persist(client, &kept);
        }
        Some(kept)
    }

    /// Reinjects cached reasoning into a client's request, if it came from the target of the
    /// request.
    pub fn recall(
        &self,
        client: &str,
        translator: &Translator<'_>,
        request: &mut Request,
        now: Instant,
    ) {
        if !self.is_empty() {
            translator.reinject(request, |call| self.find(client, call, now));
        }
    }
}

impl Default for ReasoningCache {
    fn default() -> ReasoningCache {
        ReasoningCache::new(Bounds::default())
    }
}

impl Store {
    fn add(
        &mut self,
        name: &str,
        kept: Arc<CachedReasoning>,
        expiry: Instant,
        stored: Option<Instant>,
    ) {
        if !self.clients.contains_key(name) {
            self.clients.insert(name.into(), Client::default());
        }
        self.change(name, |client| client.add(kept, expiry, stored));
    }

    /// Changes the entries of a client, and updates the totals; removes a client without entries.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Client)) {
        let Some(client) = self.clients.get_mut(name) else { return };
        self.answers -= client.len();
        self.bytes -= client.bytes();
        change(client);
        self.answers += client.len();
        self.bytes += client.bytes();
        if client.len() == 0 {
            self.clients.remove(name);
        }
    }

    /// Removes expired entries from time to time.
    fn sweep(&mut self, bounds: &Bounds, now: Instant) {
        let swept = *self.swept.get_or_insert(now);
        if now.saturating_duration_since(swept) < bounds.age / 8 {
            return;
        }
        self.swept = Some(now);
        let names: Vec<Arc<str>> = self.clients.keys().cloned().collect();
        for name in names {
            self.change(&name, |client| client.expire(now));
        }
    }

    /// Evicts entries until the limits are met.
    fn shrink(&mut self, bounds: &Bounds) {
        while self.answers > bounds.answers || self.bytes > bounds.bytes {
            let largest = self.clients.iter().max_by_key(|(_, client)| client.bytes());
            let Some(name) = largest.map(|(name, _)| name.clone()) else { return };
            self.change(&name, Client::forget_oldest);
        }
    }
}

#[cfg(test)]
mod tests;
