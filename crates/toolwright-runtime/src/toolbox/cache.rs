//! The cache of a tool: results by arguments, each with an expiry.
//!
//! A result may depend on the caller, so the key includes the caller, and the run if the tool uses
//! context. Concurrent equal calls run once; the others wait for the result.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::concurrency;
use crate::bounded::BoundedMap;
use crate::call::key;
use crate::error::CallError;
use crate::handler::Handler;
use crate::output::Output;
use crate::session::{Scope, Session};

/// Maximum number of cached results of a tool.
const MAX_RESULTS: usize = 1024;
/// Maximum size, in bytes, of the cached results of a tool.
const MAX_RESULT_BYTES: usize = 16 << 20;

/// The hash of caller, run and arguments.
pub(crate) type Key = blake3::Hash;

/// The cached results of one tool.
#[derive(Debug)]
pub(crate) struct Cache {
    lifetime: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    results: BoundedMap<Key, Arc<Output>, Instant>,
    /// A lock for each key whose call is running
    flights: HashMap<Key, Arc<tokio::sync::Mutex<()>>>,
}

/// The result of a lookup.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// The cached result
    Hit(Arc<Output>),
    /// No result: this call runs, and others wait for it
    Miss(Flight),
}

/// The lock of a call that runs, held until its result is stored.
#[derive(Debug)]
pub(crate) struct Flight {
    key: Key,
    cache: Arc<Cache>,
    _guard: OwnedMutexGuard<()>,
}

/// The key of the result of a call.
pub(crate) fn key(handler: &Handler, session: &Session, canonical: &str) -> Key {
    let run = if handler.needs().is_empty() { "" } else { &*session.run };
    key::digest(&[&session.caller.tenant, &session.caller.id, run, canonical])
}

impl Cache {
    pub(crate) fn new(lifetime: Duration) -> Arc<Cache> {
        Arc::new(Cache { lifetime, state: Mutex::default() })
    }

    /// Looks up a result; waits for an equal call that is running.
    pub(crate) async fn find(
        self: &Arc<Cache>,
        key: Key,
        scope: &Scope,
    ) -> Result<Lookup, CallError> {
        let flight = {
            let mut state = self.state.lock();
            if let Some(output) = state.get(&key) {
                return Ok(Lookup::Hit(output));
            }
            state.flights.entry(key).or_default().clone()
        };
        let guard = concurrency::wait(flight.lock_owned(), scope).await?;
        let flight = Flight { key, cache: self.clone(), _guard: guard };
        // The call that held the lock may have stored it.
        let output = self.state.lock().get(&key);
        Ok(output.map_or(Lookup::Miss(flight), Lookup::Hit))
    }
}

impl State {
    fn get(&self, key: &Key) -> Option<Arc<Output>> {
        self.results.get_live(key, Instant::now()).cloned()
    }
}

/// The approximate size of a result in bytes.
fn size_in_bytes(output: &Output) -> usize {
    let pieces = output.pieces.iter().map(|piece| piece.content.weight());
    size_of::<Output>() + pieces.sum::<usize>()
}

impl Flight {
    /// Stores the result.
    pub(crate) fn store(&self, output: Arc<Output>) {
        let now = Instant::now();
        if let Some(expiry) = now.checked_add(self.cache.lifetime) {
            let (bytes, results) = (size_in_bytes(&output), &mut self.cache.state.lock().results);
            results.insert(self.key, output, bytes, expiry);
            results.trim(now, MAX_RESULTS, MAX_RESULT_BYTES);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut state = self.cache.state.lock();
        // The table and this guard hold one reference each; any other belongs to a waiting call.
        if state.flights.get(&self.key).is_some_and(|flight| Arc::strong_count(flight) <= 2) {
            state.flights.remove(&self.key);
        }
    }
}
