//! Handles in memory, for as long as the process lives.
//!
//! A value is there for its owner until its lifetime is over. When there are too many values or too
//! many bytes, the oldest of the tenant that holds most go first, so that no tenant can push out
//! what belongs to another. For some time after that the owner is told that the handle has
//! expired; everybody else is told, at any time, that there is none.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{HandleError, HandleId, HandleStore, Kept, NotKept, Owner};

/// How much a store holds, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a value is kept
    pub lifetime: Duration,
    /// How many bytes all values may take
    pub bytes: usize,
    /// How many values there may be
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { lifetime: Duration::from_hours(1), bytes: 256 << 20, entries: 10_000 }
    }
}

/// Handles in memory.
pub struct MemoryHandles {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<HandleId, Entry>,
    bytes: usize,
    shares: HashMap<Arc<str>, Share>,
    /// When each entry's time is over, the first first; of some the entry is gone already
    ends: VecDeque<(Instant, HandleId)>,
    /// Whose the last of those were that are gone
    owners_of_gone: HashMap<HandleId, Owner>,
    gone: VecDeque<HandleId>,
}

struct Entry {
    owner: Owner,
    value: Kept,
    weight: usize,
    end: Instant,
}

/// What a tenant holds, the oldest first.
#[derive(Default)]
struct Share {
    bytes: usize,
    order: VecDeque<HandleId>,
}

impl MemoryHandles {
    /// A store within limits.
    pub fn new(limits: Limits) -> MemoryHandles {
        MemoryHandles { limits, state: Mutex::default() }
    }

    /// Removes what has expired, then what there is no room for.
    fn tidy(&self, state: &mut State, now: Instant) {
        while let Some((end, id)) = state.ends.front().copied() {
            if state.entries.contains_key(&id) {
                if end > now {
                    break;
                }
                self.remove(state, id);
            }
            state.ends.pop_front();
        }
        while state.bytes > self.limits.bytes {
            let Some(id) = state.oldest_by(|share| share.bytes) else { break };
            self.remove(state, id);
        }
        while state.entries.len() > self.limits.entries {
            let Some(id) = state.oldest_by(|share| share.order.len()) else { break };
            self.remove(state, id);
        }
        // Entries that made room leave their ends behind, which must not pile up.
        if state.ends.len() > 2 * state.entries.len() + 16 {
            let entries = &state.entries;
            state.ends.retain(|(_, id)| entries.contains_key(id));
        }
    }

    fn remove(&self, state: &mut State, id: HandleId) {
        let Some(entry) = state.entries.remove(&id) else { return };
        state.bytes -= entry.weight;
        if let Some(share) = state.shares.get_mut(&entry.owner.tenant) {
            share.bytes -= entry.weight;
            // Entries go in the order in which they came, whether for their time or for room.
            share.order.pop_front();
            if share.order.is_empty() {
                state.shares.remove(&entry.owner.tenant);
            }
        }
        state.owners_of_gone.insert(id, entry.owner);
        state.gone.push_back(id);
        if state.gone.len() > self.limits.entries
            && let Some(oldest) = state.gone.pop_front()
        {
            state.owners_of_gone.remove(&oldest);
        }
    }
}

impl State {
    /// The oldest entry of the tenant that holds most.
    fn oldest_by(&self, measure: impl Fn(&Share) -> usize) -> Option<HandleId> {
        self.shares.values().max_by_key(|share| measure(share))?.order.front().copied()
    }
}

impl Default for MemoryHandles {
    fn default() -> MemoryHandles {
        MemoryHandles::new(Limits::default())
    }
}

impl HandleStore for MemoryHandles {
    fn keep(&self, owner: &Owner, value: Kept) -> Result<HandleId, NotKept> {
        let weight = value.weight();
        if weight > self.limits.bytes || self.limits.entries == 0 {
            return Err(NotKept::NoRoom);
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| NotKept::Failed(error.to_string()))?;
        let id = HandleId::from_random(u128::from_le_bytes(random));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let end = now + self.limits.lifetime;
        state.bytes += weight;
        let share = state.shares.entry(owner.tenant.clone()).or_default();
        share.bytes += weight;
        share.order.push_back(id);
        state.ends.push_back((end, id));
        state.entries.insert(id, Entry { owner: owner.clone(), value, weight, end });
        self.tidy(&mut state, now);
        // The others may hold less, each of them, than this one value: then it is this one that
        // goes.
        if state.entries.contains_key(&id) { Ok(id) } else { Err(NotKept::NoRoom) }
    }

    fn find(&self, owner: &Owner, id: HandleId) -> Result<Kept, HandleError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.entries.get(&id) {
            Some(entry) if entry.owner != *owner => Err(HandleError::Unknown),
            Some(entry) if entry.end <= Instant::now() => Err(HandleError::Expired),
            Some(entry) => Ok(entry.value.clone()),
            None if state.owners_of_gone.get(&id) == Some(owner) => Err(HandleError::Expired),
            None => Err(HandleError::Unknown),
        }
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
