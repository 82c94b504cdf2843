//! What is remembered for one client.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolwright_core::keep::{Kept, Key};

/// The answers of one client, found by the keys of their calls.
#[derive(Debug, Default)]
pub(super) struct Client {
    answers: HashMap<u64, Answer>,
    /// Which answer a key is of
    keys: HashMap<Key, u64>,
    /// Which answers a key without arguments is of
    named: HashMap<Key, Vec<u64>>,
    /// How many answers have a call of an id
    ids: HashMap<Box<str>, usize>,
    /// The answers, from the oldest
    order: VecDeque<u64>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Answer {
    kept: Arc<Kept>,
    size: usize,
    /// When it was last put at the end of the order
    placed: Instant,
    /// When it was last remembered or asked for
    used: Instant,
}

/// What an answer takes besides its contents, and a key.
const OVERHEAD: usize = 128;

/// About how many bytes an answer takes here.
pub(super) fn size(kept: &Kept) -> usize {
    let ids = kept.ids().map(|id| OVERHEAD + id.len()).sum::<usize>();
    let named = kept.keys_without_arguments().map(|_| OVERHEAD).sum::<usize>();
    let places = kept.places().map(|(id, _)| OVERHEAD + id.len()).sum::<usize>();
    OVERHEAD + kept.size() + ids + named + places
}

impl Client {
    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether some answer has a call of an id.
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.ids.contains_key(id)
    }

    pub(super) fn add(&mut self, kept: Arc<Kept>, now: Instant) {
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
        for (id, key) in kept.places() {
            // Conversations that are word for word the same have one place.
            self.keys.insert(key, serial);
            *self.ids.entry(id.into()).or_default() += 1;
        }
        let size = size(&kept);
        self.bytes += size;
        self.order.push_back(serial);
        self.answers.insert(serial, Answer { kept, size, placed: now, used: now });
        // Forgotten answers leave their number in the order.
        if self.order.len() > 2 * self.answers.len() + 8 {
            self.order.retain(|own| self.answers.contains_key(own));
        }
    }

    /// Finds an answer by a call: with its arguments, or without them if one answer alone has such a
    /// call.
    pub(super) fn find(
        &mut self,
        key: Key,
        named: Option<Key>,
        age: Duration,
        now: Instant,
    ) -> Option<Arc<Kept>> {
        let sole = || match self.named.get(&named?)?.as_slice() {
            [serial] => Some(serial),
            _ => None,
        };
        let serial = self.keys.get(&key).or_else(sole)?;
        let answer = self.answers.get_mut(serial)?;
        if now.saturating_duration_since(answer.used) > age {
            return None;
        }
        answer.used = now.max(answer.used);
        Some(Arc::clone(&answer.kept))
    }

    /// Forgets what nobody asked for in a while.
    pub(super) fn expire(&mut self, age: Duration, now: Instant) {
        let old = |own: &Answer| now.saturating_duration_since(own.used) > age;
        let answers = self.answers.iter().filter(|(_, own)| old(own));
        let serials: Vec<u64> = answers.map(|(serial, _)| *serial).collect();
        for serial in serials {
            self.forget(serial);
        }
    }

    /// Forgets the oldest answer; one that was asked for since it was placed gets another chance.
    pub(super) fn forget_oldest(&mut self) {
        while let Some(serial) = self.order.pop_front() {
            let Some(answer) = self.answers.get_mut(&serial) else { continue };
            if answer.used > answer.placed {
                answer.placed = answer.used;
                self.order.push_back(serial);
            } else {
                self.forget(serial);
                return;
            }
        }
    }

    fn forget(&mut self, serial: u64) {
        let Some(answer) = self.answers.remove(&serial) else { return };
        self.bytes -= answer.size;
        for key in answer.kept.keys_without_arguments() {
            if let Some(serials) = self.named.get_mut(&key) {
                serials.retain(|own| *own != serial);
                if serials.is_empty() {
                    self.named.remove(&key);
                }
            }
        }
        let named = answer.kept.ids().map(str::to_owned).zip(answer.kept.keys());
        for (id, key) in named.chain(answer.kept.places()) {
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
