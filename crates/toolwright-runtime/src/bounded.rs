//! A map of entries that expire, and that can be shrunk to a number of entries and bytes.
//!
//! It has no clock and no lock: the caller passes the time, in any unit, and chooses how to share the
//! map. A map whose entries do not expire has `()` for its time; its entries leave in the order in
//! which they were inserted.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Entries by key, in the order in which they expire. Entries that expire at the same time are in the
/// order in which they were inserted.
#[derive(Debug)]
pub struct BoundedMap<K, V, T> {
    entries: HashMap<K, Entry<V, T>>,
    order: BTreeMap<ExpiryKey<T>, K>,
    bytes: usize,
    next: u64,
}

/// When an entry expires, and a number that no other entry has.
type ExpiryKey<T> = (T, u64);

#[derive(Debug)]
struct Entry<V, T> {
    value: V,
    bytes: usize,
    place: ExpiryKey<T>,
}

impl<K: Hash + Eq + Clone, V, T: Ord + Copy> BoundedMap<K, V, T> {
    /// The number of entries, including those that have expired and were not removed yet.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The sum of the sizes of all entries.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Inserts an entry of a size that expires at a time. Returns the earlier value of the key.
    pub fn insert(&mut self, key: K, value: V, bytes: usize, expiry: T) -> Option<V> {
        let earlier = self.remove(&key);
        let place = self.place(expiry);
        self.bytes += bytes;
        self.order.insert(place, key.clone());
        self.entries.insert(key, Entry { value, bytes, place });
        earlier
    }

    /// The value of a key, even if it has expired.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// The value of a key that has not expired.
    pub fn get_live<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: T) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.get(key).filter(|entry| entry.place.0 > now)?;
        Some(&entry.value)
    }

    /// Gives an entry another time to expire, and returns its value.
    pub fn renew<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, expiry: T) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(expiry);
        let entry = self.entries.get_mut(key)?;
        if let Some(key) = self.order.remove(&entry.place) {
            self.order.insert(place, key);
        }
        entry.place = place;
        Some(&mut entry.value)
    }

    /// Removes an entry.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.remove(key)?;
        self.order.remove(&entry.place);
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    /// The entry that expires first.
    pub fn first(&self) -> Option<(&K, &V)> {
        let (_, key) = self.order.first_key_value()?;
        Some((key, self.get(key)?))
    }

    /// Removes the entry that expires first.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let (_, key) = self.order.pop_first()?;
        let entry = self.entries.remove(&key)?;
        self.bytes -= entry.bytes;
        Some((key, entry.value))
    }

    /// Removes the entry that expires first, if it has expired.
    pub fn pop_expired(&mut self, now: T) -> Option<(K, V)> {
        let ((expiry, _), _) = self.order.first_key_value()?;
        if *expiry <= now { self.pop_first() } else { None }
    }

    /// Removes the entry that expires first, if there are more entries or bytes than allowed.
    pub fn pop_excess(&mut self, entries: usize, bytes: usize) -> Option<(K, V)> {
        if self.len() > entries || self.bytes > bytes { self.pop_first() } else { None }
    }

    /// Removes what has expired, then what exceeds a number of entries or bytes.
    pub fn trim(&mut self, now: T, entries: usize, bytes: usize) {
        while self.pop_expired(now).is_some() || self.pop_excess(entries, bytes).is_some() {}
    }

    /// The entries with the time when each expires, the last to expire first.
    pub fn iter_latest(&self) -> impl Iterator<Item = (T, &K, &V)> {
        self.order
            .iter()
            .rev()
            .filter_map(|((expiry, _), key)| Some((*expiry, key, self.get(key)?)))
    }

    fn place(&mut self, expiry: T) -> ExpiryKey<T> {
        self.next += 1;
        (expiry, self.next)
    }
}

impl<K, V, T> Default for BoundedMap<K, V, T> {
    fn default() -> BoundedMap<K, V, T> {
        BoundedMap { entries: HashMap::new(), order: BTreeMap::new(), bytes: 0, next: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(map: &BoundedMap<&'static str, u8, u32>) -> Vec<&'static str> {
        let mut keys: Vec<_> = map.iter_latest().map(|(_, key, _)| *key).collect();
        keys.reverse();
        keys
    }

    fn map() -> BoundedMap<&'static str, u8, u32> {
        let mut map = BoundedMap::default();
        for (key, bytes, expiry) in [("a", 10, 5), ("b", 20, 3), ("c", 30, 5), ("d", 40, 9)] {
            assert_eq!(map.insert(key, 1, bytes, expiry), None);
        }
        map
    }

    #[test]
    fn entries_leave_in_the_order_in_which_they_expire() {
        let mut map = map();
        assert_eq!(keys(&map), ["b", "a", "c", "d"]);
        assert_eq!((map.pop_expired(2), map.pop_expired(3)), (None, Some(("b", 1))));
        assert_eq!(
            (map.get(&"a"), map.get_live(&"a", 4), map.get_live(&"a", 5)),
            (Some(&1), Some(&1), None)
        );
        map.trim(5, usize::MAX, usize::MAX);
        assert_eq!((keys(&map), map.bytes()), (vec!["d"], 40));
    }

    #[test]
    fn what_is_renewed_leaves_later() {
        let mut map = map();
        *map.renew("b", 9).unwrap() = 2;
        assert!(map.renew("e", 9).is_none());
        assert_eq!(
            (keys(&map), map.get("b"), map.bytes()),
            (vec!["a", "c", "d", "b"], Some(&2), 100)
        );
    }

    #[test]
    fn excess_leaves_and_the_first_to_expire_go_first() {
        let mut map = map();
        map.trim(0, 3, usize::MAX);
        assert_eq!(keys(&map), ["a", "c", "d"]);
        map.trim(0, usize::MAX, 70);
        assert_eq!((keys(&map), map.bytes()), (vec!["c", "d"], 70));
        map.trim(0, usize::MAX, 39);
        assert!(map.is_empty() && map.bytes() == 0);
    }

    #[test]
    fn without_a_time_the_oldest_leave_first() {
        let mut map = BoundedMap::default();
        for key in [1, 2, 3, 1] {
            map.insert(key, key, 1, ());
        }
        assert_eq!((map.len(), map.pop_excess(2, 9)), (3, Some((2, 2))));
    }

    proptest! {
        /// After any sequence of operations, the byte count equals that of the entries, and each
        /// entry has one position.
        #[test]
        fn counts_and_order_agree_with_the_entries(
            steps in proptest::collection::vec((0_u8..5, 0_u8..6, 0_usize..50, 0_u32..20), 0..60)
        ) {
            let mut map: BoundedMap<u8, usize, u32> = BoundedMap::default();
            for (step, key, bytes, time) in steps {
                match step {
                    0 | 1 => drop(map.insert(key, bytes, bytes, time)),
                    2 => drop(map.remove(&key)),
                    3 => drop(map.renew(&key, time)),
                    _ => map.trim(time, 4, 100),
                }
                let bytes: usize = map.iter_latest().map(|(.., bytes)| *bytes).sum();
                prop_assert_eq!(map.bytes(), bytes);
                prop_assert_eq!(map.len(), map.iter_latest().count());
                prop_assert_eq!(map.len(), map.order.len());
            }
        }
    }
}
