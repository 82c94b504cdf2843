//! A journal in memory: it prevents repeated effects on retries, but not after a restart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_core::Json;

use super::{Begun, Intent, Journal, JournalError};
use crate::bounded::BoundedMap;

/// A journal in memory. Clones share it.
///
/// It remembers the last 10 000 finished effects by default, and all unfinished ones.
#[derive(Debug, Clone)]
pub struct MemoryJournal {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// Number of times each unfinished effect was begun
    begun: HashMap<Arc<str>, u32>,
    /// The records of finished effects
    finished: BoundedMap<Arc<str>, Json, ()>,
    limit: usize,
}

/// Default number of finished effects that are remembered.
const LIMIT: usize = 10_000;

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new() -> MemoryJournal {
        let state = State { begun: HashMap::new(), finished: BoundedMap::default(), limit: LIMIT };
        MemoryJournal { state: Arc::new(Mutex::new(state)) }
    }

    /// Sets the number of finished effects that are remembered.
    #[must_use]
    pub fn with_limit(self, finished: usize) -> MemoryJournal {
        self.state().limit = finished;
        self
    }

    /// Returns the number of remembered effects, finished or not.
    pub fn len(&self) -> usize {
        let state = self.state();
        state.begun.len() + state.finished.len()
    }

    /// Whether no effect is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}

impl Journal for MemoryJournal {
    async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        let mut state = self.state();
        if let Some(record) = state.finished.get(&intent.key) {
            return Ok(Begun::Finished(record.clone()));
        }
        let times = state.begun.entry(intent.key.clone()).or_default();
        *times += 1;
        Ok(if *times == 1 { Begun::New } else { Begun::Unfinished(*times - 1) })
    }

    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        let mut state = self.state();
        if state.finished.get(key).is_some() {
            return Ok(());
        }
        let Some((key, _)) = state.begun.remove_entry(key) else {
            return Err(JournalError::never_begun());
        };
        state.finished.insert(key, record.clone(), 0, ());
        let limit = state.limit;
        while state.finished.pop_excess(limit, usize::MAX).is_some() {}
        Ok(())
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        let mut state = self.state();
        match state.begun.get_mut(key) {
            Some(times) if *times > 1 => *times -= 1,
            _ => drop(state.begun.remove(key)),
        }
        Ok(())
    }
}
