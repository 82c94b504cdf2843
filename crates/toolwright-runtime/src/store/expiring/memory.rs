//! Entries in memory.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::{Entry, Limits, Scope, millis, within};
use crate::bounded::BoundedMap;

/// Entries by their scope.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Scopes>);

type Scopes = HashMap<Scope, Owned>;

/// The entries of one scope, by name and in the order of their last use. That is not the order in which
/// they expire, because lifetimes differ.
#[derive(Debug, Default)]
struct Owned {
    entries: BoundedMap<String, Stored, ()>,
    aliases: HashMap<String, String>,
}

#[derive(Debug)]
struct Stored {
    entry: Entry,
    used: i64,
    lifetime: i64,
}

impl Stored {
    fn is_expired(&self, now: i64) -> bool {
        self.used.saturating_add(self.lifetime) <= now
    }
}

impl Memory {
    pub(super) fn put(&self, scope: &Scope, entry: Entry, limits: Limits, now: i64) {
        Memory::insert(&mut self.0.lock(), scope, entry, limits, now);
    }

    pub(super) fn replace(
        &self,
        scope: &Scope,
        expected: &[u8],
        entry: Entry,
        limits: Limits,
        now: i64,
    ) -> bool {
        let mut scopes = self.0.lock();
        let current = scopes.get(scope).and_then(|owned| owned.entries.get(&entry.name));
        let current = current.filter(|stored| !stored.is_expired(now));
        if current.is_none_or(|stored| stored.entry.value != expected) {
            return false;
        }
        Memory::insert(&mut scopes, scope, entry, limits, now);
        true
    }

    fn insert(scopes: &mut Scopes, scope: &Scope, entry: Entry, limits: Limits, now: i64) {
        scopes.retain(|_, owned| {
            owned.expire(now);
            !owned.entries.is_empty()
        });
        let owned = scopes.entry(scope.clone()).or_default();
        owned.remove(&entry.name);
        for alias in &entry.aliases {
            owned.aliases.insert(alias.clone(), entry.name.clone());
        }
        let (name, bytes, lifetime) = (entry.name.clone(), entry.size(), millis(limits.lifetime));
        owned.entries.insert(name, Stored { entry, used: now, lifetime }, bytes, ());
        while let Some((_, stored)) = owned.entries.pop_excess(limits.entries, limits.bytes) {
            owned.forget_aliases(&stored.entry);
        }
    }

    pub(super) fn get(&self, scope: &Scope, name: &str, now: i64) -> Option<Vec<u8>> {
        let mut scopes = self.0.lock();
        let owned = scopes.get_mut(scope)?;
        owned.expire(now);
        let name = owned.name(name, now)?.to_owned();
        let stored = owned.entries.renew(&name, ())?;
        stored.used = now;
        Some(stored.entry.value.clone())
    }

    pub(super) fn peek(&self, scope: &Scope, name: &str, now: i64) -> Option<Vec<u8>> {
        let scopes = self.0.lock();
        let owned = scopes.get(scope)?;
        let stored = owned.entries.get(owned.name(name, now)?)?;
        Some(stored.entry.value.clone())
    }

    pub(super) fn values(&self, scope: &Scope, now: i64) -> Vec<Vec<u8>> {
        let scopes = self.0.lock();
        let entries = scopes.get(scope).into_iter().flat_map(|owned| owned.entries.iter_latest());
        let live = entries.filter(|((), _, stored)| !stored.is_expired(now));
        let mut values: Vec<Vec<u8>> = live.map(|((), _, own)| own.entry.value.clone()).collect();
        values.reverse();
        values
    }

    pub(super) fn recent(&self, kind: &str, bytes: usize, now: i64) -> Vec<(String, Vec<u8>)> {
        let scopes = self.0.lock();
        let mut stored: Vec<(&Scope, &Stored)> = scopes
            .iter()
            .filter(|(scope, _)| scope.kind == kind)
            .flat_map(|(scope, owned)| {
                owned.entries.iter_latest().map(move |((), _, stored)| (scope, stored))
            })
            .filter(|(_, stored)| !stored.is_expired(now))
            .collect();
        stored.sort_by_key(|(_, stored)| std::cmp::Reverse(stored.used));
        let values = stored.into_iter().map(|(scope, stored)| {
            Ok::<_, std::convert::Infallible>((scope.owner.to_string(), stored.entry.value.clone()))
        });
        within(values, bytes).unwrap_or_default()
    }

    pub(super) fn remove(&self, scope: &Scope, name: &str, now: i64) -> bool {
        let mut scopes = self.0.lock();
        let Some(owned) = scopes.get_mut(scope) else { return false };
        owned.expire(now);
        let is_expired = owned.entries.get(name).is_some_and(|stored| stored.is_expired(now));
        owned.remove(name) && !is_expired
    }
}

impl Owned {
    /// Returns the name of an entry that has not expired, given its name or an alias.
    fn name<'n>(&'n self, name: &'n str, now: i64) -> Option<&'n str> {
        let name = if self.entries.get(name).is_some() { name } else { self.aliases.get(name)? };
        (!self.entries.get(name)?.is_expired(now)).then_some(name)
    }

    /// Removes expired entries from the least recently used end. Expired entries after a live one
    /// stay until they reach that end, and count as removed.
    fn expire(&mut self, now: i64) {
        while self.entries.first().is_some_and(|(_, stored)| stored.is_expired(now)) {
            if let Some((_, stored)) = self.entries.pop_first() {
                self.forget_aliases(&stored.entry);
            }
        }
    }

    fn remove(&mut self, name: &str) -> bool {
        let removed = self.entries.remove(name);
        removed.inspect(|stored| self.forget_aliases(&stored.entry)).is_some()
    }

    /// Removes the aliases of an entry, unless a later entry has taken them over.
    fn forget_aliases(&mut self, entry: &Entry) {
        for alias in &entry.aliases {
            if self.aliases.get(alias) == Some(&entry.name) {
                self.aliases.remove(alias);
            }
        }
    }
}
