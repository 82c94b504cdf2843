//! Caches reasoning and signatures that the client's dialect cannot carry, for the client's next request.
//!
//! The way back of an exchange leaves here what its report says is to be kept; the way in of the
//! client's next request looks for it by its calls. Each client has its own. What nobody asked for
//! in a while is forgotten, and under pressure the client that holds the most loses its oldest.
//!
//! With a store it survives a restart: it is written there as it is remembered, and read at the start.

mod client;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client::Client;
use toolwright::store::StoreError;
use toolwright::store::expiring::{Entry, ExpiringStore, Limits, Scope};
use toolwright_core::reasoning_cache::{CachedReasoning, CallKey};
use toolwright_core::translate::Translator;
use toolwright_core::{Call, Json, Request};

/// The kind of the entries in the store.
const KIND: &str = "reasoning";

/// How much is remembered, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most answers
    pub answers: usize,
    /// The most bytes
    pub bytes: usize,
    /// How long an answer is remembered that nobody asks for
    pub age: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { answers: 100_000, bytes: 64 << 20, age: Duration::from_hours(1) }
    }
}

/// What is remembered for all clients.
#[derive(Debug)]
pub struct ReasoningCache {
    bounds: Bounds,
    /// How many answers there are, to know at once that there is none
    answers: AtomicUsize,
    store: Mutex<Store>,
    /// Where it survives a restart
    disk: Option<Arc<ExpiringStore>>,
}

#[derive(Debug, Default)]
struct Store {
    clients: HashMap<Arc<str>, Client>,
    answers: usize,
    bytes: usize,
    /// When all clients were last looked through
    swept: Option<Instant>,
}

impl ReasoningCache {
    /// With nothing in it.
    pub fn new(bounds: Bounds) -> ReasoningCache {
        ReasoningCache { bounds, answers: AtomicUsize::new(0), store: Mutex::default(), disk: None }
    }

    /// With a store in which it survives a restart.
    #[must_use]
    pub fn with_store(self, disk: Arc<ExpiringStore>) -> ReasoningCache {
        ReasoningCache { disk: Some(disk), ..self }
    }

    /// Reads what an earlier process has stored. What this version cannot read is left out.
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

    /// How many answers there are.
    pub fn len(&self) -> usize {
        self.answers.load(Ordering::Relaxed)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes they take, about.
    pub fn bytes(&self) -> usize {
        self.store().bytes
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // A thread that panicked here left nothing half done that matters: some answer is forgotten.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what is kept of an answer to a client, unless that alone would displace the most
    /// of what others left.
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
        let mut store = self.store();
        store.sweep(&self.bounds, now);
        store.add(client, kept, now + self.bounds.age, stored);
        store.shrink(&self.bounds);
        self.answers.store(store.answers, Ordering::Relaxed);
    }

    /// Writes it to the store, or renews its lifetime there. Each client has an eighth of what all
    /// have in memory.
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

    /// What is kept for a call of a client, which has an id or what stands for one.
    pub fn find(&self, client: &str, call: &Call, now: Instant) -> Option<Arc<CachedReasoning>> {
        let id = call.id.as_deref()?;
        if self.is_empty() || !self.store().clients.get(client)?.has_id(id) {
            return None;
        }
        // Its arguments are read without holding up others.
        let (key, named) = (CallKey::of(call)?, CallKey::without_arguments(call));
        let found = self.store().clients.get_mut(client)?.find(key, named, self.bounds.age, now);
        let (kept, is_due) = found?;
        if is_due {
            self.persist(client, &kept);
        }
        Some(kept)
    }

    /// Puts back into a client's request what is kept of its answers, as far as the request's target
    /// made it.
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

    /// Changes what a client has, and the counts with it; a client without anything is let go.
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

    /// Forgets what is too old, now and then.
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

    /// Forgets as much as there is too much.
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
