//! A JSON object as an ordered list of members.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::raw::Raw;
use super::{Json, write};

/// The key of a member; borrowed if it is a constant.
pub type Key = Cow<'static, str>;

/// A member: its key and its value.
pub(crate) type Pair = (Key, Json);

/// Members in writing order. Repeated keys are kept; a lookup returns the last.
///
/// Schemas and arguments, which most translations pass on unchanged, are kept as text until a
/// member is accessed.
#[derive(Clone)]
pub struct Object(Members);

#[derive(Clone)]
enum Members {
    /// The members
    List(Vec<Pair>),
    /// The text, and the members once they are parsed; copies share it until one is changed
    Text(Arc<Raw>),
}

impl Object {
    /// Creates an empty object.
    pub const fn new() -> Object {
        Object(Members::List(Vec::new()))
    }

    /// Creates an empty object with capacity for some members.
    pub fn with_capacity(members: usize) -> Object {
        Object(Members::List(Vec::with_capacity(members)))
    }

    /// Creates an object whose members are parsed from its text on first access.
    pub(crate) fn from_raw(raw: impl Into<Arc<Raw>>) -> Object {
        Object(Members::Text(raw.into()))
    }

    /// Returns the compact text, if the object was not changed since it was parsed.
    pub(crate) fn raw_text(&self) -> Option<&str> {
        match &self.0 {
            Members::List(_) => None,
            Members::Text(raw) => raw.text(),
        }
    }

    /// Returns the members for a key lookup.
    fn searched(&self) -> &Vec<Pair> {
        #[cfg(debug_assertions)]
        crate::work::count(self.list().len());
        self.list()
    }

    fn list(&self) -> &Vec<Pair> {
        match &self.0 {
            Members::List(list) => list,
            Members::Text(raw) => raw.members(),
        }
    }

    fn list_mut(&mut self) -> &mut Vec<Pair> {
        match &mut self.0 {
            Members::List(list) => list,
            Members::Text(raw) => Arc::make_mut(raw).members_mut(),
        }
    }

    /// Creates an object from members, with capacity for a few more, because more are often added.
    pub fn of<const N: usize>(members: [(Key, Json); N]) -> Object {
        let mut list = Vec::with_capacity(N + 2);
        list.extend(members);
        Object(Members::List(list))
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.list().len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Members::List(list) => list.is_empty(),
            Members::Text(raw) => raw.is_empty(),
        }
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Json)> {
        self.list().iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns the members in order, with a named iterator type.
    pub fn members(&self) -> std::slice::Iter<'_, (Key, Json)> {
        self.list().iter()
    }

    /// Returns the members in order, with mutable values.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut Json)> {
        self.list_mut().iter_mut().map(|member| (member.0.as_ref(), &mut member.1))
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.list().iter().map(|(key, _)| key.as_ref())
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.searched().iter().rev().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Returns the value of a key for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        #[cfg(debug_assertions)]
        crate::work::count(self.list().len());
        self.list_mut().iter_mut().rev().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Returns the value at a position for modification.
    pub fn at_mut(&mut self, position: usize) -> Option<&mut Json> {
        self.list_mut().get_mut(position).map(|(_, value)| value)
    }

    /// Whether the key is present.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Removes a member; of repeated keys all are removed, and the last value is returned.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let position = self.searched().iter().rposition(|(own, _)| own == key)?;
        let list = self.list_mut();
        let (_, value) = list.remove(position);
        if list[..position].iter().any(|(own, _)| own == key) {
            list.retain(|(own, _)| own != key);
        }
        Some(value)
    }

    /// Removes a member from an object without repeated keys.
    pub fn take(&mut self, key: &str) -> Option<Json> {
        let position = self.searched().iter().position(|(own, _)| own == key)?;
        Some(self.list_mut().remove(position).1)
    }

    /// Sets a member: in place if the key is present, otherwise at the end.
    pub fn insert(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(place) => *place = value.into(),
            None => self.list_mut().push((key, value.into())),
        }
    }

    /// Appends a member without checking whether the key is present.
    pub fn push(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        self.list_mut().push((key.into(), value.into()));
    }

    /// Sets a member if there is a value.
    pub fn insert_some<T: Into<Json>>(&mut self, key: impl Into<Key>, value: Option<T>) {
        if let Some(value) = value {
            self.insert(key, value);
        }
    }

    /// Sets a member unless its value is an empty string, array or object.
    pub fn insert_filled(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        let value = value.into();
        let is_empty = match &value {
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(object) => object.is_empty(),
            _ => false,
        };
        self.insert_some(key, (!is_empty).then_some(value));
    }

    /// Adds members of another object that this one lacks, recursively. Repeated keys of the other object are repeated.
    pub fn merge(&mut self, other: &Object) {
        self.merge_where(other, |_| true);
    }

    /// Adds members of another object that this one lacks and whose key is wanted, recursively. Repeated keys of the
    /// other object are repeated.
    pub fn merge_where(&mut self, other: &Object, is_wanted: fn(&str) -> bool) {
        let list = self.list_mut();
        let known = list.len();
        for (key, value) in other.members().filter(|(key, _)| is_wanted(key)) {
            let own = list[..known].iter_mut().rev().find(|(own, _)| own == key);
            match (own.map(|(_, own)| own), value) {
                // Of repeated keys the last counts.
                (Some(Json::Object(own)), Json::Object(inner))
                    if other.get(key).is_some_and(|last| std::ptr::eq(last, value)) =>
                {
                    own.merge_where(inner, is_wanted);
                }
                (Some(_), _) => {}
                (None, value) => list.push((key.clone(), value.clone())),
            }
        }
    }

    /// Returns the text without white space.
    pub fn compact(&self) -> String {
        write::object_text(self)
    }

    /// Appends the text without white space.
    pub fn write_to(&self, out: &mut String) {
        write::append_object(self, out);
    }

    /// Keeps only the last of repeated keys.
    pub fn remove_repeated_keys(&mut self) {
        if self.is_short_without_repeats() {
            return;
        }
        let (order, list) = (self.sorted(), self.list());
        let mut stale: Vec<usize> = order
            .windows(2)
            .filter(|pair| list[pair[0]].0 == list[pair[1]].0)
            .map(|pair| pair[0])
            .collect();
        if stale.is_empty() {
            return;
        }
        stale.sort_unstable();
        self.remove_at(&stale);
    }

    /// Removes the members at some sorted positions.
    pub fn remove_at(&mut self, positions: &[usize]) {
        let (mut at, mut positions) = (0, positions.iter().peekable());
        self.list_mut().retain(|_| {
            let keep = positions.next_if_eq(&&at).is_none();
            at += 1;
            keep
        });
    }

    /// Returns the members whose key is repeated later, each with the next value of its key; most
    /// objects have none, which is checked quickly.
    pub fn repeated(&self) -> Vec<(&str, &Json, &Json)> {
        if self.is_short_without_repeats() {
            return Vec::new();
        }
        let (order, list) = (self.sorted(), self.list());
        let pairs = order.windows(2).map(|pair| (&list[pair[0]], &list[pair[1]]));
        let stale = pairs.filter(|((key, _), (next, _))| key == next);
        stale.map(|((key, value), (_, next))| (key.as_ref(), value, next)).collect()
    }

    /// Whether the object is small and has no repeated keys, as most are.
    fn is_short_without_repeats(&self) -> bool {
        let list = self.list();
        let repeats = |at: usize| list[..at].iter().any(|(key, _)| *key == list[at].0);
        list.len() <= 16 && !(1..list.len()).any(repeats)
    }

    /// Returns the positions of the members sorted by key, repetitions in order.
    fn sorted(&self) -> Vec<usize> {
        let list = self.list();
        let mut places: Vec<usize> = (0..list.len()).collect();
        places.sort_by(|a, b| list[*a].0.cmp(&list[*b].0));
        places
    }

    /// Compares without regard to the order of keys, except for repetitions of a key.
    pub fn same(&self, other: &Object) -> bool {
        self.matches(other, Json::same)
    }

    /// Compares without regard to the order of keys, with a given equality of values.
    pub(crate) fn matches(&self, other: &Object, equal: fn(&Json, &Json) -> bool) -> bool {
        let (list, other_list) = (self.list(), other.list());
        let is_same = |(own, others): (usize, usize)| {
            let ((key, value), (other_key, other)) = (&list[own], &other_list[others]);
            key == other_key && equal(value, other)
        };
        self.len() == other.len() && self.sorted().into_iter().zip(other.sorted()).all(is_same)
    }
}

impl FromIterator<(Key, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (Key, Json)>>(members: I) -> Object {
        Object(Members::List(members.into_iter().collect()))
    }
}

impl IntoIterator for Object {
    type Item = (Key, Json);
    type IntoIter = std::vec::IntoIter<(Key, Json)>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(self.list_mut()).into_iter()
    }
}

impl Default for Object {
    fn default() -> Object {
        Object::new()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        match (self.raw_text(), other.raw_text()) {
            (Some(own), Some(other)) if own == other => true,
            _ => self.list() == other.list(),
        }
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Object").field(self.list()).finish()
    }
}
