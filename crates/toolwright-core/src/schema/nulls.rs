//! Nulls that strict rewriting makes possible: recorded for the request, removed from the reply.
//!
//! A strict schema requires every property, so an optional one becomes nullable and the model
//! writes `null` instead of omitting the property (case 24). Properties that were nullable before
//! are left alone. Locations are linked, not listed, because a recursive schema has infinitely
//! many.

mod record;

use std::collections::{HashMap, HashSet};

use toolwright_json::{Json, Object};

/// Where a null means that a property is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nulls {
    /// The first is the root of the arguments
    places: Vec<Location>,
}

/// A location in the arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) properties: Vec<Property>,
    /// The location of each item
    pub(super) items: Option<usize>,
    /// Other locations that may apply here (branches of a union, a definition)
    pub(super) same: Vec<usize>,
}

/// A property of a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) null: Null,
    pub(super) place: Option<usize>,
}

/// The meaning of a null in a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Null {
    /// Absent: the original schema does not accept null
    Injected,
    /// Null: the original schema accepts it
    Meant,
    /// Invalid: neither schema accepts it
    Impossible,
}

impl Nulls {
    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds the other locations that may apply.
    fn widen(&self, places: &mut Vec<usize>) {
        let mut seen: HashSet<usize> = places.iter().copied().collect();
        let mut next = 0;
        while let Some(place) = places.get(next) {
            let same = self.places.get(*place).map_or(&[][..], |place| &place.same);
            places.extend(same.iter().filter(|other| seen.insert(**other)));
            next += 1;
        }
    }

    fn undo(&self, value: &mut Json, mut places: Vec<usize>) -> bool {
        if places.is_empty() {
            return false;
        }
        self.widen(&mut places);
        let here: Vec<&Location> = places.iter().filter_map(|at| self.places.get(*at)).collect();
        match value {
            Json::Array(items) => {
                let below: Vec<usize> = here.iter().filter_map(|place| place.items).collect();
                let mut changed = false;
                for item in items {
                    changed |= self.undo(item, below.clone());
                }
                changed
            }
            Json::Object(object) => self.undo_object(object, &here),
            _ => false,
        }
    }

    fn undo_object(&self, object: &mut Object, here: &[&Location]) -> bool {
        let mut named: HashMap<&str, Vec<&Property>> = HashMap::new();
        for property in here.iter().flat_map(|place| &place.properties) {
            named.entry(&property.name).or_default().push(property);
        }
        let mut changed = false;
        let mut kept = Object::new();
        for (key, mut value) in std::mem::take(object) {
            let own = named.get(key.as_ref()).map_or(&[][..], Vec::as_slice);
            let has = |null| own.iter().any(|property| property.null == null);
            // If branches disagree, a null that one of them accepts is left to the check.
            if value.is_null() && has(Null::Injected) && !has(Null::Meant) {
                changed = true;
                continue;
            }
            let below = own.iter().filter_map(|property| property.place).collect();
            changed |= self.undo(&mut value, below);
            kept.push(key, value);
        }
        *object = kept;
        changed
    }
}

/// Removes nulls that only the lowered schema requires from the arguments of a call. Returns
/// whether there were any.
pub fn undo_nulls(arguments: &mut Json, nulls: &Nulls) -> bool {
    if nulls.is_empty() {
        return false;
    }
    nulls.undo(arguments, vec![0])
}

/// Locations during lowering.
#[derive(Debug)]
pub(super) struct Locations {
    list: Vec<Location>,
    /// The locations of definitions, by their pointers
    definitions: HashMap<String, usize>,
}

impl Default for Locations {
    fn default() -> Locations {
        Locations {
            list: vec![Location::default()],
            definitions: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl Locations {
    /// Adds a location, if there is anything to record.
    pub(super) fn add(&mut self, place: Location) -> Option<usize> {
        if place == Location::default() {
            return None;
        }
        self.list.push(place);
        Some(self.list.len() - 1)
    }

    /// Returns the location of a definition, which may be lowered later.
    pub(super) fn of(&mut self, pointer: &str) -> usize {
        if let Some(place) = self.definitions.get(pointer) {
            return *place;
        }
        self.list.push(Location::default());
        self.definitions.insert(pointer.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }

    /// Sets the location of a lowered definition.
    pub(super) fn link(&mut self, pointer: &str, place: Option<usize>) {
        if let Some(place) = place {
            let definition = self.of(pointer);
            if let Some(definition) = self.list.get_mut(definition) {
                definition.same.push(place);
            }
        }
    }

    /// Returns all locations, the root first.
    pub(super) fn finish(mut self, root: Option<usize>) -> Nulls {
        self.link("", root);
        let injected = self
            .list
            .iter()
            .flat_map(|place| &place.properties)
            .any(|property| property.null == Null::Injected);
        if injected { Nulls { places: self.list } } else { Nulls::default() }
    }
}
