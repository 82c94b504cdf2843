//! Stores handles in memory, for the lifetime of the process.
//!
//! A value is available to its owner until it was not used for its lifetime. If there are too many values or bytes, the
//! oldest values of the tenant with the most are evicted, so that no tenant can evict the values of
//! another. For some time after that the owner gets the error "expired"; other owners always get
//! "unknown".

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{HandleError, HandleFuture, HandleId, HandleStore, HandleStoreError, Owner};
use crate::bounded::BoundedMap;
use crate::output::Content;

/// Limits of a store. [`MemoryHandles`] applies them to all values together, and a store in a file to
/// the values of each tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a value is stored after it was last used
    pub lifetime: Duration,
    /// Maximum number of bytes
    pub bytes: usize,
    /// Maximum number of values
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { lifetime: Duration::from_hours(1), bytes: 256 << 20, entries: 10_000 }
    }
}

/// A handle store in memory.
pub struct MemoryHandles {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The values of each tenant
    shares: HashMap<Arc<str>, Share>,
    entries: usize,
    bytes: usize,
    /// The owners of the most recently removed values
    gone: BoundedMap<HandleId, Owner, ()>,
}

type Share = BoundedMap<HandleId, (Owner, Content), Instant>;

impl MemoryHandles {
    /// Creates a store with limits.
    pub fn new(limits: Limits) -> MemoryHandles {
        MemoryHandles { limits, state: Mutex::default() }
    }

    fn insert(&self, owner: &Owner, id: HandleId, value: Content) -> Result<(), HandleStoreError> {
        let weight = value.weight();
        if weight > self.limits.bytes || self.limits.entries == 0 {
            return Err(HandleStoreError::Full);
        }
        let mut state = self.state.lock();
        let now = Instant::now();
        let (entry, expiry) = ((owner.clone(), value), now + self.limits.lifetime);
        state.change(&owner.tenant, |share| share.insert(id, entry, weight, expiry));
        state.trim(&self.limits, now);
        // If every other tenant has less than this one value, the new value itself is evicted.
        let share = state.shares.get(&owner.tenant);
        share.and_then(|share| share.get(&id)).map(drop).ok_or(HandleStoreError::Full)
    }

    fn get(&self, owner: &Owner, id: HandleId) -> Result<Content, HandleError> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let State { shares, gone, .. } = &mut *state;
        let share = shares.get_mut(&owner.tenant);
        match share.as_ref().and_then(|share| share.get(&id)) {
            Some((other, _)) if other != owner => Err(HandleError::Unknown),
            Some(_) => share
                .filter(|share| share.get_live(&id, now).is_some())
                .and_then(|share| share.renew(&id, now + self.limits.lifetime))
                .map(|(_, value)| value.clone())
                .ok_or(HandleError::Expired),
            None if gone.get(&id) == Some(owner) => Err(HandleError::Expired),
            None => Err(HandleError::Unknown),
        }
    }
}

impl State {
    /// Changes the values of a tenant, and updates the totals.
    fn change<R>(&mut self, tenant: &Arc<str>, change: impl FnOnce(&mut Share) -> R) -> R {
        let share = self.shares.entry(tenant.clone()).or_default();
        let (entries, bytes) = (share.len(), share.bytes());
        let result = change(share);
        self.entries = self.entries - entries + share.len();
        self.bytes = self.bytes - bytes + share.bytes();
        if share.is_empty() {
            self.shares.remove(tenant);
        }
        result
    }

    /// Removes expired values, then the oldest values of the tenant with the most until the limits
    /// are met.
    fn trim(&mut self, limits: &Limits, now: Instant) {
        self.shares.retain(|_, share| {
            let (entries, bytes) = (share.len(), share.bytes());
            while let Some((id, (owner, _))) = share.pop_expired(now) {
                self.gone.insert(id, owner, 0, ());
            }
            self.entries -= entries - share.len();
            self.bytes -= bytes - share.bytes();
            !share.is_empty()
        });
        while self.bytes > limits.bytes {
            self.remove_oldest(Share::bytes);
        }
        while self.entries > limits.entries {
            self.remove_oldest(Share::len);
        }
        while self.gone.pop_excess(limits.entries, usize::MAX).is_some() {}
    }

    fn remove_oldest(&mut self, measure: impl Fn(&Share) -> usize) {
        let largest = self.shares.iter().max_by_key(|(_, share)| measure(share));
        let Some(tenant) = largest.map(|(tenant, _)| tenant.clone()) else { return };
        if let Some((id, (owner, _))) = self.change(&tenant, Share::pop_first) {
            self.gone.insert(id, owner, 0, ());
        }
    }
}

impl Default for MemoryHandles {
    fn default() -> MemoryHandles {
        MemoryHandles::new(Limits::default())
    }
}

impl HandleStore for MemoryHandles {
    fn put_as<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
        value: Content,
    ) -> HandleFuture<'a, Result<(), HandleStoreError>> {
        Box::pin(std::future::ready(self.insert(owner, id, value)))
    }

    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
    ) -> HandleFuture<'a, Result<Content, HandleError>> {
        Box::pin(std::future::ready(self.get(owner, id)))
    }
}

impl fmt::Debug for MemoryHandles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryHandles")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
