//! Calls that wait for their outcomes, found by id, name or order in constant time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How an outcome identifies its call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'k, K: ?Sized> {
    /// Its id
    Id(&'k K),
    /// The name of its tool
    Name(&'k K),
    /// Not at all
    Any,
}

/// Calls in order, until they are taken.
#[derive(Debug)]
pub(super) struct Pending<K, T> {
    calls: Vec<Option<T>>,
    by_id: HashMap<K, VecDeque<usize>>,
    by_name: HashMap<K, VecDeque<usize>>,
    in_order: VecDeque<usize>,
}

impl<K: Eq + Hash, T> Pending<K, T> {
    pub(super) fn new() -> Pending<K, T> {
        Pending {
            calls: Vec::new(),
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            in_order: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, id: Option<K>, name: K, call: T) {
        let place = self.calls.len();
        self.calls.push(Some(call));
        if let Some(id) = id {
            self.by_id.entry(id).or_default().push_back(place);
        }
        self.by_name.entry(name).or_default().push_back(place);
        self.in_order.push_back(place);
    }

    /// Takes the first matching call. Each entry leaves each queue once, so that taking all calls
    /// takes linear time in any order.
    pub(super) fn take(&mut self, wanted: Wanted<'_, K>) -> Option<T> {
        let queue = match wanted {
            Wanted::Id(id) => self.by_id.get_mut(id)?,
            Wanted::Name(name) => self.by_name.get_mut(name)?,
            Wanted::Any => &mut self.in_order,
        };
        std::iter::from_fn(|| queue.pop_front())
            .find_map(|place| self.calls.get_mut(place).and_then(Option::take))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::{Hash, Hasher};

    use super::{Pending, Wanted};

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// A key that counts comparisons.
    #[derive(Debug, Clone, Eq)]
    struct Counted(usize);

    impl PartialEq for Counted {
        fn eq(&self, other: &Counted) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn results_in_reverse_order_cost_linear_time() {
        const CALLS: usize = 40_000;
        let mut pending = Pending::new();
        for at in 0..CALLS {
            pending.push(Some(Counted(at)), Counted(0), at);
        }
        for at in (0..CALLS).rev() {
            assert_eq!(pending.take(Wanted::Id(&Counted(at))), Some(at));
        }
        assert_eq!(pending.take(Wanted::Name(&Counted(0))), None);
        assert_eq!(pending.take(Wanted::Any), None);
        assert!(COMPARED.get() < 8 * CALLS, "{} comparisons", COMPARED.get());
    }

    #[test]
    fn calls_are_taken_once_and_the_first_of_several_first() {
        let mut pending = Pending::new();
        for (at, (id, name)) in [("a", "f"), ("b", "g"), ("a", "f"), ("c", "f")].iter().enumerate()
        {
            pending.push(Some(*id), *name, at);
        }
        assert_eq!(pending.take(Wanted::Id(&"a")), Some(0));
        assert_eq!(pending.take(Wanted::Name(&"f")), Some(2));
        assert_eq!(pending.take(Wanted::Id(&"a")), None);
        assert_eq!(pending.take(Wanted::Any), Some(1));
        assert_eq!(pending.take(Wanted::Any), Some(3));
        assert_eq!(pending.take(Wanted::Any), None);
    }
}
