//! What is remembered for one client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolwright::bounded::BoundedMap;
use toolwright_core::reasoning_cache::{CachedReasoning, CallKey};

/// The answers of one client, found by the keys of their calls.
#[derive(Debug, Default)]
pub(super) struct Client {
    answers: BoundedMap<u64, Answer, Instant>,
    /// Which answer a key is of
    keys: HashMap<CallKey, u64>,
    /// Which answers a key without arguments is of
    named: HashMap<CallKey, Vec<u64>>,
    /// How many answers have a call of an id
    ids: HashMap<Box<str>, usize>,
    next: u64,
}

#[derive(Debug)]
struct Answer {
    kept: Arc<CachedReasoning>,
    /// When it was last written to the store; `None` if it was read from there
    stored: Option<Instant>,
}

/// What an answer takes besides its contents, and a key.
const OVERHEAD: usize = 128;

/// About how many bytes an answer takes here.
pub(super) fn size(kept: &CachedReasoning) -> usize {
    let ids = kept.ids().map(|id| OVERHEAD + id.len()).sum::<usize>();
    let named = kept.keys_without_arguments().map(|_| OVERHEAD).sum::<usize>();
    let places = kept.keys_without_ids().map(|(id, _)| OVERHEAD + id.len()).sum::<usize>();
    OVERHEAD + kept.size() + ids + named + places
}

impl Client {
    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.answers.bytes()
    }

    /// Whether some answer has a call of an id.
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.ids.contains_key(id)
    }

    pub(super) fn add(
        &mut self,
        kept: Arc<CachedReasoning>,
        expiry: Instant,
        stored: Option<Instant>,
    ) {
        let serial = self.next;
        self.next += 1;
        for (key, id) in kept.keys().zip(kept.ids()) {
            // The same call again: the later answer is the one that the client goes on with.
            if let Some(earlier) = self.keys.insert(key, serial).filter(|own| *own != serial) {
                self.forget(earlier);
            }
            *self.ids.entry(id.into()).or_default() += 1;
        }
        for key in kept.keys_without_arguments() {
            self.named.entry(key).or_default().push(serial);
        }
        for (id, key) in kept.keys_without_ids() {
            // Conversations that are word for word the same have one place.
            self.keys.insert(key, serial);
            *self.ids.entry(id.into()).or_default() += 1;
        }
        let size = size(&kept);
        self.answers.insert(serial, Answer { kept, stored }, size, expiry);
    }

    /// Finds an answer by a call: with its arguments, or without them if one answer alone has such a
    /// call. The second value tells whether its lifetime in the store is due to be renewed.
    pub(super) fn find(
        &mut self,
        key: CallKey,
        named: Option<CallKey>,
        age: Duration,
        now: Instant,
    ) -> Option<(Arc<CachedReasoning>, bool)> {
        let sole = || match self.named.get(&named?)?.as_slice() {
            [serial] => Some(serial),
            _ => None,
        };
        let serial = self.keys.get(&key).or_else(sole)?;
        self.answers.get_live(serial, now)?;
        let answer = self.answers.renew(serial, now + age)?;
        let is_due = answer.stored.is_none_or(|at| now.saturating_duration_since(at) > age / 8);
        if is_due {
            answer.stored = Some(now);
        }
        Some((Arc::clone(&answer.kept), is_due))
    }

    /// Forgets what nobody asked for in a while.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((serial, answer)) = self.answers.pop_expired(now) {
            self.forget_keys(serial, &answer);
        }
    }

    /// Forgets the answer that nobody asked for the longest.
    pub(super) fn forget_oldest(&mut self) {
        if let Some((serial, answer)) = self.answers.pop_first() {
            self.forget_keys(serial, &answer);
        }
    }

    fn forget(&mut self, serial: u64) {
        if let Some(answer) = self.answers.remove(&serial) {
            self.forget_keys(serial, &answer);
        }
    }

    fn forget_keys(&mut self, serial: u64, answer: &Answer) {
        for key in answer.kept.keys_without_arguments() {
            if let Some(serials) = self.named.get_mut(&key) {
                serials.retain(|own| *own != serial);
                if serials.is_empty() {
                    self.named.remove(&key);
                }
            }
        }
        let named = answer.kept.ids().map(str::to_owned).zip(answer.kept.keys());
        for (id, key) in named.chain(answer.kept.keys_without_ids()) {
            if self.keys.get(&key) == Some(&serial) {
                self.keys.remove(&key);
            }
            if let Some(count) = self.ids.get_mut(id.as_str()) {
                *count -= 1;
                if *count == 0 {
                    self.ids.remove(id.as_str());
                }
            }
        }
    }
}
