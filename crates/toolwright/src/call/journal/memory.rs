//! A journal that ends with the process: it keeps retries from repeating an effect, not restarts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwright_core::Json;

use super::{Begun, Intent, Journal, JournalError};

/// A journal in memory. Clones are the same journal.
///
/// It remembers the last 10 000 finished effects unless told otherwise; those not finished are
/// never forgotten.
#[derive(Debug, Clone)]
pub struct MemoryJournal {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    effects: HashMap<Arc<str>, Effect>,
    /// The finished ones, oldest first
    finished: VecDeque<Arc<str>>,
    limit: usize,
}

#[derive(Debug)]
enum Effect {
    Begun(u32),
    Finished(Json),
}

/// The finished effects that are remembered.
const LIMIT: usize = 10_000;

impl MemoryJournal {
    /// A journal with nothing in it.
    pub fn new() -> MemoryJournal {
        let state = State { effects: HashMap::new(), finished: VecDeque::new(), limit: LIMIT };
        MemoryJournal { state: Arc::new(Mutex::new(state)) }
    }

    /// With another number of finished effects to remember.
    #[must_use]
    pub fn with_limit(self, finished: usize) -> MemoryJournal {
        self.state().limit = finished;
        self
    }

    /// How many effects are remembered, finished or not.
    pub fn len(&self) -> usize {
        self.state().effects.len()
    }

    /// Whether nothing is remembered.
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
        match state.effects.get_mut(&intent.key) {
            None => {
                state.effects.insert(intent.key.clone(), Effect::Begun(1));
                Ok(Begun::New)
            }
            Some(Effect::Begun(times)) => {
                *times += 1;
                Ok(Begun::Unfinished(*times - 1))
            }
            Some(Effect::Finished(record)) => Ok(Begun::Finished(record.clone())),
        }
    }

    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        let mut state = self.state();
        let known = state.effects.get_key_value(key).map(|(key, _)| key.clone());
        let Some(key) = known else { return Err(JournalError::never_begun()) };
        if let Some(effect @ Effect::Begun(_)) = state.effects.get_mut(&key) {
            *effect = Effect::Finished(record.clone());
            state.finished.push_back(key);
        }
        while state.finished.len() > state.limit {
            let Some(oldest) = state.finished.pop_front() else { break };
            state.effects.remove(&oldest);
        }
        Ok(())
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        let mut state = self.state();
        match state.effects.get_mut(key) {
            Some(Effect::Begun(times)) if *times > 1 => *times -= 1,
            Some(Effect::Begun(_)) => drop(state.effects.remove(key)),
            _ => {}
        }
        Ok(())
    }
}
