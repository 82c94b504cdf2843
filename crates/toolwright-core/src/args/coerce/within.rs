//! A value that is right in itself and wrong within: its outermost wrong places, one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::Ground;
use super::mend::{self, Mended, Spot};
use super::place::{find, split};
use super::{absent, node};
use crate::args::Change;
use crate::json::Json;
use crate::schema::Violation;

/// Mends a value that is only wrong within, each place by itself.
pub(super) fn mend(
    ground: &Ground<'_>,
    mut value: Json,
    mut violations: Vec<Violation>,
    spot: &Spot,
) -> Option<Mended> {
    let (mut changes, mut is_tied) = (Vec::new(), false);
    let mut done = BTreeSet::new();
    // A mended place can bring others to light, but none is mended twice.
    while !violations.is_empty() {
        for (path, schemas) in outermost(&violations)? {
            let inner = spot.inner(&path, schemas, &value)?;
            let taken = std::mem::take(find(&mut value, &path)?);
            if !taken.is_null() {
                let mended = mend::mend(ground, taken, &inner)?;
                *find(&mut value, &path)? = mended.value;
                changes.extend(mended.changes);
                is_tied |= mended.is_tied;
            } else if node::declares(ground, spot, &path) {
                changes.push(absent::take_away(&mut value, &path, &inner.at)?);
            } else {
                return None;
            }
            if !done.insert(path) {
                return None;
            }
        }
        violations = ground.violations(&value, &spot.schemas)?;
    }
    Some(Mended { value, changes, is_tied })
}

/// Mends the places within a value that can be mended and leaves the others as they are: what is
/// wrong elsewhere is no reason to ask again for what was understood.
pub(super) fn mend_some(
    ground: &Ground<'_>,
    value: &mut Json,
    mut violations: Vec<Violation>,
    spot: &Spot,
) -> Vec<Change> {
    violations.retain(|violation| !violation.path.is_empty());
    let mut changes = Vec::new();
    for (path, schemas) in outermost(&violations).unwrap_or_default() {
        let Some(inner) = spot.inner(&path, schemas, value) else { continue };
        let Some(place) = find(value, &path) else { continue };
        if place.is_null() {
            changes.extend(leave_out(ground, value, &path, &inner.at, spot));
        } else if let Some(mended) = mend::mend(ground, place.clone(), &inner)
            && !mended.is_tied
        {
            *place = mended.value;
            changes.extend(mended.changes);
        }
    }
    changes
}

/// Takes a null away, unless that is wrong as well: the parameter may be required.
fn leave_out(
    ground: &Ground<'_>,
    value: &mut Json,
    path: &str,
    at: &str,
    spot: &Spot,
) -> Option<Change> {
    // A null often breaks several keywords at once, so that the number of violations tells nothing.
    let wanting = |value: &Json| {
        let violations = ground.violations(value, &spot.schemas)?;
        Some(violations.iter().filter(|violation| violation.keyword == "required").count())
    };
    let mut without = value.clone();
    let change = absent::take_away(&mut without, path, at)?;
    let is_better = node::declares(ground, spot, path) && wanting(&without)? <= wanting(value)?;
    is_better.then(|| {
        *value = without;
        change
    })
}

/// The violated places that no other one is around, with the schemas that they break; none if the
/// value itself is among them.
fn outermost(violations: &[Violation]) -> Option<BTreeMap<String, Vec<String>>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for violation in violations {
        if violation.path.is_empty() {
            return None;
        }
        let schemas = places.entry(violation.path.clone()).or_default();
        let schema = node::of_keyword(violation).to_owned();
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    let paths: BTreeSet<String> = places.keys().cloned().collect();
    places.retain(|path, _| !ancestors(path).any(|around| paths.contains(around)));
    Some(places)
}

/// The pointers around a pointer, the nearest first.
fn ancestors(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(pointer.rsplit_once('/'), |(around, _)| around.rsplit_once('/'))
        .map(|(around, _)| around)
}

impl Spot {
    /// A place within this one.
    fn inner(&self, path: &str, schemas: Vec<String>, value: &Json) -> Option<Spot> {
        let (around, _) = split(path)?;
        Some(Spot {
            at: format!("{}{path}", self.at),
            schemas,
            around: Vec::new(),
            is_item: value.pointer(around)?.as_array().is_some(),
            reach: self.reach,
        })
    }
}
