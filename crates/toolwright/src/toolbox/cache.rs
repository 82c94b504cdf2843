//! Results that are given again for equal arguments, each for a while. One for each tool.
//!
//! What a tool says may depend on who asks, so results are kept for each caller, and for each run
//! where the tool works with its context. Equal calls at the same time run once: the others wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use toolwright_core::part::MediaSource;

use super::concurrency;
use crate::bounded::BoundedMap;
use crate::call::key;
use crate::error::CallError;
use crate::handler::Handler;
use crate::output::{Content, Output};
use crate::session::{Scope, Session};

/// How many results are kept for each tool.
const MOST: usize = 1024;
/// How many bytes they may take together.
const MOST_BYTES: usize = 16 << 20;

/// Whose result for which arguments.
pub(crate) type Key = blake3::Hash;

/// The kept results of one tool.
#[derive(Debug)]
pub(crate) struct Cache {
    lifetime: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    results: BoundedMap<Key, Arc<Output>, Instant>,
    /// Calls under way, by what they will find
    flights: HashMap<Key, Arc<tokio::sync::Mutex<()>>>,
}

/// What a call finds.
#[derive(Debug)]
pub(crate) enum Found {
    /// A result
    Kept(Arc<Output>),
    /// Nothing: it is this call's turn to find out
    Nothing(Flight),
}

/// Leave to find out, held until the result is kept.
#[derive(Debug)]
pub(crate) struct Flight {
    key: Key,
    cache: Arc<Cache>,
    _guard: OwnedMutexGuard<()>,
}

/// The key of a call's result.
pub(crate) fn key(handler: &Handler, session: &Session, canonical: &str) -> Key {
    let run = if handler.needs().is_empty() { "" } else { &*session.run };
    key::digest(&[&session.caller.tenant, &session.caller.id, run, canonical])
}

impl Cache {
    pub(crate) fn new(lifetime: Duration) -> Arc<Cache> {
        Arc::new(Cache { lifetime, state: Mutex::default() })
    }

    /// Looks for a result, waiting for an equal call that is under way.
    pub(crate) async fn find(
        self: &Arc<Cache>,
        key: Key,
        scope: &Scope,
    ) -> Result<Found, CallError> {
        let flight = {
            let mut state = self.state();
            if let Some(output) = state.get(&key) {
                return Ok(Found::Kept(output));
            }
            state.flights.entry(key).or_default().clone()
        };
        let guard = concurrency::wait(flight.lock_owned(), scope).await?;
        let flight = Flight { key, cache: self.clone(), _guard: guard };
        // Whoever was first may have found it.
        let output = self.state().get(&key);
        Ok(output.map_or(Found::Nothing(flight), Found::Kept))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn get(&self, key: &Key) -> Option<Arc<Output>> {
        self.results.get_live(key, Instant::now()).cloned()
    }
}

/// About how many bytes a result takes.
fn weight(output: &Output) -> usize {
    let weigh = |content: &Content| match content {
        Content::Text(text) => text.len(),
        Content::Json(value) | Content::Data { value, .. } => value.compact().len(),
        Content::Bytes(blob) => blob.bytes.len(),
        Content::Media(media) => match &media.source {
            MediaSource::Base64(text) | MediaSource::Text(text) => text.len(),
            MediaSource::Url(_) | MediaSource::File(..) => 0,
        },
    };
    size_of::<Output>() + output.content.iter().map(weigh).sum::<usize>()
}

impl Flight {
    /// Keeps the result for those who wait and those who come later.
    pub(crate) fn keep(&self, output: Arc<Output>) {
        let now = Instant::now();
        if let Some(expiry) = now.checked_add(self.cache.lifetime) {
            let (bytes, results) = (weight(&output), &mut self.cache.state().results);
            results.insert(self.key, output, bytes, expiry);
            results.trim(now, MOST, MOST_BYTES);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut state = self.cache.state();
        // One reference is in the table, one in our own guard; anyone else still waits.
        if state.flights.get(&self.key).is_some_and(|flight| Arc::strong_count(flight) <= 2) {
            state.flights.remove(&self.key);
        }
    }
}
