//! Entries in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Entry, Limits, Scope, millis};

/// Entries by their scope.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    scopes: HashMap<Scope, Owned>,
    /// Distinguishes entries that expire in the same millisecond
    next: u64,
}

/// The entries of one scope.
#[derive(Debug, Default)]
struct Owned {
    entries: HashMap<String, Stored>,
    aliases: HashMap<String, String>,
    /// Names by expiry, the least recently used first
    order: BTreeMap<(i64, u64), String>,
    bytes: usize,
}

#[derive(Debug)]
struct Stored {
    entry: Entry,
    lifetime: i64,
    place: (i64, u64),
}

impl Memory {
    pub(super) fn put(&self, scope: &Scope, entry: Entry, limits: Limits, now: i64) {
        let mut state = self.state();
        for owned in state.scopes.values_mut() {
            owned.expire(now);
        }
        state.scopes.retain(|_, owned| !owned.entries.is_empty());
        let number = state.number();
        let owned = state.scopes.entry(scope.clone()).or_default();
        owned.remove(&entry.name);
        let lifetime = millis(limits.lifetime);
        let place = (now.saturating_add(lifetime), number);
        owned.bytes += entry.size();
        owned.order.insert(place, entry.name.clone());
        for alias in &entry.aliases {
            owned.aliases.insert(alias.clone(), entry.name.clone());
        }
        owned.entries.insert(entry.name.clone(), Stored { entry, lifetime, place });
        while owned.bytes > limits.bytes || owned.entries.len() > limits.entries {
            let Some((_, oldest)) = owned.order.pop_first() else { break };
            owned.remove(&oldest);
        }
    }

    pub(super) fn get(&self, scope: &Scope, name: &str, now: i64) -> Option<Vec<u8>> {
        let mut state = self.state();
        let number = state.number();
        let owned = state.scopes.get_mut(scope)?;
        owned.expire(now);
        let name = if owned.entries.contains_key(name) { name } else { owned.aliases.get(name)? };
        let stored = owned.entries.get_mut(name)?;
        owned.order.remove(&stored.place);
        stored.place = (now.saturating_add(stored.lifetime), number);
        owned.order.insert(stored.place, name.to_owned());
        Some(stored.entry.value.clone())
    }

    pub(super) fn remove(&self, scope: &Scope, name: &str, now: i64) -> bool {
        let mut state = self.state();
        let Some(owned) = state.scopes.get_mut(scope) else { return false };
        owned.expire(now);
        owned.remove(name)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Owned {
    fn expire(&mut self, now: i64) {
        while let Some(first) = self.order.first_entry()
            && first.key().0 <= now
        {
            let name = first.remove();
            self.remove(&name);
        }
    }

    fn remove(&mut self, name: &str) -> bool {
        let Some(Stored { entry, place, .. }) = self.entries.remove(name) else { return false };
        self.bytes -= entry.size();
        self.order.remove(&place);
        for alias in &entry.aliases {
            // A later entry may have taken the alias over.
            if self.aliases.get(alias).is_some_and(|own| own == name) {
                self.aliases.remove(alias);
            }
        }
        true
    }
}
