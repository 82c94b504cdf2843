//! A journal in memory: it prevents repeated effects on retries, but not after a restart.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
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
    /// Unfinished effects
    begun: HashMap<Arc<str>, Unfinished>,
    /// The records of finished effects, each with its unversioned key
    finished: BoundedMap<Arc<str>, (Json, Arc<str>), ()>,
    /// The latest key of each unversioned key
    latest: HashMap<Arc<str>, Arc<str>>,
    limit: usize,
}

/// An effect that was begun.
#[derive(Debug)]
struct Unfinished {
    /// Number of times it was begun
    times: u32,
    unversioned_key: Arc<str>,
    /// The key of the same call under the previous version of the tool
    previous: Option<Arc<str>>,
}

/// Default number of finished effects that are remembered.
const LIMIT: usize = 10_000;

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new() -> MemoryJournal {
        let state = State {
            begun: HashMap::new(),
            finished: BoundedMap::default(),
            latest: HashMap::new(),
            limit: LIMIT,
        };
        MemoryJournal { state: Arc::new(Mutex::new(state)) }
    }

    /// Sets the number of finished effects that are remembered.
    #[must_use]
    pub fn with_limit(self, finished: usize) -> MemoryJournal {
        self.state.lock().limit = finished;
        self
    }

    /// Returns the number of remembered effects, finished or not.
    pub fn len(&self) -> usize {
        let state = self.state.lock();
        state.begun.len() + state.finished.len()
    }

    /// Whether no effect is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}

impl Journal for MemoryJournal {
    async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        let mut state = self.state.lock();
        if let Some((record, _)) = state.finished.get(&intent.key) {
            return Ok(Begun::Finished(record.clone()));
        }
        if let Some(unfinished) = state.begun.get_mut(&intent.key) {
            unfinished.times += 1;
            return Ok(Begun::Unfinished(unfinished.times - 1));
        }
        let unversioned_key = intent.unversioned_key.clone();
        let previous = state.latest.insert(unversioned_key.clone(), intent.key.clone());
        let begun = match &previous {
            Some(key) => {
                let finished = state.finished.get(key);
                Begun::ToolChanged(finished.map(|(record, _)| record.clone()))
            }
            None => Begun::New,
        };
        let unfinished = Unfinished { times: 1, unversioned_key, previous };
        state.begun.insert(intent.key.clone(), unfinished);
        Ok(begun)
    }

    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        let mut state = self.state.lock();
        if state.finished.get(key).is_some() {
            return Ok(());
        }
        let Some((key, unfinished)) = state.begun.remove_entry(key) else {
            return Err(JournalError::never_begun());
        };
        state.finished.insert(key, (record.clone(), unfinished.unversioned_key), 0, ());
        let limit = state.limit;
        while let Some((key, (_, unversioned_key))) = state.finished.pop_excess(limit, usize::MAX) {
            if state.latest.get(&unversioned_key) == Some(&key) {
                state.latest.remove(&unversioned_key);
            }
        }
        Ok(())
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        let mut state = self.state.lock();
        match state.begun.get_mut(key) {
            Some(unfinished) if unfinished.times > 1 => unfinished.times -= 1,
            _ => {
                let Some(removed) = state.begun.remove(key) else { return Ok(()) };
                let latest = state.latest.get(&removed.unversioned_key);
                // A reopened call may have a later version.
                if latest.is_some_and(|latest| **latest == *key) {
                    match removed.previous {
                        Some(previous) => state.latest.insert(removed.unversioned_key, previous),
                        None => state.latest.remove(&removed.unversioned_key),
                    };
                }
            }
        }
        Ok(())
    }

    async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
        let mut state = self.state.lock();
        if state.finished.get(&intent.key).is_none_or(|(known, _)| known != record) {
            return Err(JournalError::record_changed());
        }
        state.finished.remove(&intent.key);
        let unversioned_key = intent.unversioned_key.clone();
        let unfinished = Unfinished { times: 1, unversioned_key, previous: None };
        state.begun.insert(intent.key.clone(), unfinished);
        Ok(())
    }
}
