//! Resolves many JSON Pointers into one value: the keys of a large object are hashed once, so that
//! thousands of pointers do not each search it from the start.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::value::pointer::segments;
use crate::value::{Json, Object};

/// Maximum number of members for which an object is searched without an index.
const MAX_SCANNED_MEMBERS: usize = 16;

/// Resolves JSON Pointers into one value. Of repeated keys the last counts.
#[derive(Debug)]
pub struct Index<'j> {
    root: &'j Json,
    /// The keys of large objects, by the address of the object
    objects: HashMap<*const Object, HashMap<&'j str, (usize, &'j Json)>>,
}

impl<'j> Index<'j> {
    /// Indexes nothing yet: what is looked up is remembered.
    pub fn new(root: &'j Json) -> Index<'j> {
        Index { root, objects: HashMap::new() }
    }

    /// Returns the root value.
    pub fn root(&self) -> &'j Json {
        self.root
    }

    /// Returns the value at a pointer.
    pub fn get(&mut self, pointer: &str) -> Option<&'j Json> {
        let root = self.root;
        segments(pointer).try_fold(root, |here, segment| Some(self.step(here, segment)?.1))
    }

    /// Returns the position of each key and index of a pointer among its siblings, in writing
    /// order; [`usize::MAX`] if there is none.
    pub fn positions(&mut self, pointer: &str) -> Vec<usize> {
        let mut here = Some(self.root);
        let mut position = |segment: _| {
            let found = here.and_then(|value| self.step(value, segment));
            here = found.map(|(_, value)| value);
            found.map_or(usize::MAX, |(position, _)| position)
        };
        segments(pointer).map(&mut position).collect()
    }

    fn step(&mut self, here: &'j Json, segment: Cow<'_, str>) -> Option<(usize, &'j Json)> {
        match here {
            Json::Object(object) => self.member(object, &segment),
            Json::Array(items) => {
                let index = segment.parse::<usize>().ok()?;
                Some((index, items.get(index)?))
            }
            _ => None,
        }
    }

    fn member(&mut self, object: &'j Object, key: &str) -> Option<(usize, &'j Json)> {
        if object.len() <= MAX_SCANNED_MEMBERS {
            #[cfg(debug_assertions)]
            crate::work::count(object.len());
            let mut members = object.members().enumerate().rev();
            let found = members.find(|(_, (own, _))| own == key);
            return found.map(|(position, (_, value))| (position, value));
        }
        let keys = self.objects.entry(object).or_insert_with(|| {
            #[cfg(debug_assertions)]
            crate::work::count(object.len());
            let members = object.iter().enumerate();
            members.map(|(position, (key, value))| (key, (position, value))).collect()
        });
        keys.get(key).copied()
    }
}

/// Returns the value at the positions of [`Index::positions`] for modification.
pub fn at_mut<'j>(value: &'j mut Json, positions: &[usize]) -> Option<&'j mut Json> {
    positions.iter().try_fold(value, |here, position| match here {
        Json::Object(object) => object.at_mut(*position),
        Json::Array(items) => items.get_mut(*position),
        _ => None,
    })
}
