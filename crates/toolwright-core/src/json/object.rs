//! A JSON object as an ordered list of members.

use std::borrow::Cow;

use super::{Json, write};
use crate::extra::is_note;

/// A member's key; borrowed where our own code names it.
pub type Key = Cow<'static, str>;

/// Members in writing order. A repeated key is kept; reading one takes the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object(Vec<(Key, Json)>);

impl Object {
    /// An object without members.
    pub const fn new() -> Object {
        Object(Vec::new())
    }

    /// An object without members, with room for some.
    pub fn with_capacity(members: usize) -> Object {
        Object(Vec::with_capacity(members))
    }

    /// An object of some members, with room for a few more: what is begun by our own code is often
    /// added to.
    pub fn of<const N: usize>(members: [(Key, Json); N]) -> Object {
        let mut list = Vec::with_capacity(N + 2);
        list.extend(members);
        Object(list)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// The members in order, by an iterator that has a name.
    pub(crate) fn members(&self) -> std::slice::Iter<'_, (Key, Json)> {
        self.0.iter()
    }

    /// The members in order, values to change.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut Json)> {
        self.0.iter_mut().map(|member| (member.0.as_ref(), &mut member.1))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().rev().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// The value of a key, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().rev().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Whether a key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Takes a member out; of a repeated key the last, and the others go with it.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let position = self.0.iter().rposition(|(own, _)| own == key)?;
        let (_, value) = self.0.remove(position);
        if self.0[..position].iter().any(|(own, _)| own == key) {
            self.0.retain(|(own, _)| own != key);
        }
        Some(value)
    }

    /// Takes a member out of an object that is settled.
    pub(crate) fn take(&mut self, key: &str) -> Option<Json> {
        let position = self.0.iter().position(|(own, _)| own == key)?;
        Some(self.0.remove(position).1)
    }

    /// Sets a member: in its place if the key is there, else at the end.
    pub fn insert(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(place) => *place = value.into(),
            None => self.0.push((key, value.into())),
        }
    }

    /// Appends a member without looking whether the key is there.
    pub fn push(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        self.0.push((key.into(), value.into()));
    }

    /// Sets a member if there is a value.
    pub fn insert_some<T: Into<Json>>(&mut self, key: impl Into<Key>, value: Option<T>) {
        if let Some(value) = value {
            self.insert(key, value);
        }
    }

    /// Adds what another object has and this one lacks, object by object downwards.
    ///
    /// This is how extra fields return to the place they came from. A codec's notes to itself never
    /// do. A key that the other object repeats is repeated here as well.
    pub fn merge(&mut self, other: &Object) {
        let known = self.0.len();
        for (key, value) in other.iter().filter(|(key, _)| !is_note(key)) {
            let own = self.0[..known].iter_mut().rev().find(|(own, _)| own == key);
            match (own.map(|(_, own)| own), value) {
                // Of a repeated key the last counts.
                (Some(Json::Object(own)), Json::Object(inner))
                    if other.get(key).is_some_and(|last| std::ptr::eq(last, value)) =>
                {
                    own.merge(inner);
                }
                (Some(_), _) => {}
                (None, value) => self.0.push((super::key(key), value.clone())),
            }
        }
    }

    /// The text without white space, for wires.
    pub fn compact(&self) -> String {
        let mut out = String::with_capacity(write::START);
        write::object(self, &mut out);
        out
    }

    /// Leaves the last of each repeated key.
    pub fn settle(&mut self) {
        // Most objects are small, and without repetitions.
        let repeats = |at: usize| self.0[..at].iter().any(|(key, _)| *key == self.0[at].0);
        if self.len() <= 16 && !(1..self.len()).any(repeats) {
            return;
        }
        let order = self.sorted();
        let mut stale: Vec<usize> = order
            .windows(2)
            .filter(|pair| self.0[pair[0]].0 == self.0[pair[1]].0)
            .map(|pair| pair[0])
            .collect();
        if stale.is_empty() {
            return;
        }
        stale.sort_unstable();
        let (mut at, mut stale) = (0, stale.into_iter().peekable());
        self.0.retain(|_| {
            let keep = stale.next_if_eq(&at).is_none();
            at += 1;
            keep
        });
    }

    /// The members whose key comes again later; none for most objects, which is quickly seen.
    pub(crate) fn repeated(&self) -> Vec<(&str, &Json)> {
        let repeats = |at: usize| self.0[..at].iter().any(|(key, _)| *key == self.0[at].0);
        if self.len() <= 16 && !(1..self.len()).any(repeats) {
            return Vec::new();
        }
        let order = self.sorted();
        let stale = order.windows(2).filter(|pair| self.0[pair[0]].0 == self.0[pair[1]].0);
        stale.map(|pair| &self.0[pair[0]]).map(|(key, value)| (key.as_ref(), value)).collect()
    }

    /// The places of the members by their keys, repetitions in their order.
    fn sorted(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.len()).collect();
        places.sort_by(|a, b| self.0[*a].0.cmp(&self.0[*b].0));
        places
    }

    /// Equality that ignores the order of keys, but for that of a key's repetitions.
    pub fn same(&self, other: &Object) -> bool {
        self.matches(other, Json::same)
    }

    /// Equality that ignores the order of keys, by some equality of values.
    pub(super) fn matches(&self, other: &Object, equal: fn(&Json, &Json) -> bool) -> bool {
        let is_same = |(own, others): (usize, usize)| {
            let ((key, value), (other_key, other)) = (&self.0[own], &other.0[others]);
            key == other_key && equal(value, other)
        };
        self.len() == other.len() && self.sorted().into_iter().zip(other.sorted()).all(is_same)
    }
}

impl FromIterator<(Key, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (Key, Json)>>(members: I) -> Object {
        Object(members.into_iter().collect())
    }
}

impl IntoIterator for Object {
    type Item = (Key, Json);
    type IntoIter = std::vec::IntoIter<(Key, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
