//! The cached reasoning of one client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolwright_dialects::reasoning_cache::{CachedReasoning, CallKey};
use toolwright_runtime::bounded::BoundedMap;

/// The replies of one client, found by the keys of their calls.
#[derive(Debug, Default)]
pub(super) struct Client {
    answers: BoundedMap<u64, Answer, Instant>,
    /// The reply of each key
    keys: HashMap<CallKey, u64>,
    /// The replies of each key without arguments
    named: HashMap<CallKey, Vec<u64>>,
    /// The number of replies with a call id
    ids: HashMap<Box<str>, usize>,
    next: u64,
}

#[derive(Debug)]
struct Answer {
    kept: Arc<CachedReasoning>,
    /// When it was last written to the store; `None` if it was loaded from there
    stored: Option<Instant>,
}

/// Overhead of a reply and of a key, in bytes.
const OVERHEAD: usize = 128;

/// Returns the approximate size of a reply in bytes.
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

    /// Whether a reply has a call with an id.
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
            // For a repeated call, the client continues with the later reply.
            if let Some(earlier) = self.keys.insert(key, serial).filter(|own| *own != serial) {
                self.forget(earlier);
            }
            *self.ids.entry(id.into()).or_default() += 1;
        }
        for key in kept.keys_without_arguments() {
            self.named.entry(key).or_default().push(serial);
        }
        for (id, key) in kept.keys_without_ids() {
            // Identical conversations share one entry.
            self.keys.insert(key, serial);
            *self.ids.entry(id.into()).or_default() += 1;
        }
        let size = size(&kept);
        self.answers.insert(serial, Answer { kept, stored }, size, expiry);
    }

    /// Finds a reply by a call: with its arguments, or without them if only one reply has such a
    /// call. Also returns whether its lifetime in the store has to be renewed.
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

    /// Removes expired replies.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((serial, answer)) = self.answers.pop_expired(now) {
            self.forget_keys(serial, &answer);
        }
    }

    /// Removes the least recently used reply.
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
