//! Changes a value with violations only inside, at its outermost invalid places.

use std::collections::{BTreeMap, BTreeSet};

use toolwright_json::{Index, Json, at_mut};

use super::ground::Ground;
use super::mend::{self, Mended, Spot};
use super::{absent, node};
use crate::args::Change;
use crate::schema::Violation;

/// An invalid place in a value.
struct Wrong {
    /// JSON Pointer to it
    path: String,
    /// Position of each key and index of the pointer
    steps: Vec<usize>,
    /// The violated schemas, by JSON Pointer into the schema
    schemas: Vec<String>,
}

/// Changes each invalid place separately.
pub(super) fn mend(
    ground: &Ground<'_>,
    mut value: Json,
    mut violations: Vec<Violation>,
    spot: &Spot,
) -> Option<Mended> {
    let (mut changes, mut is_tied) = (Vec::new(), false);
    let mut done = BTreeSet::new();
    // A change can reveal further violations, but no place is changed twice.
    while !violations.is_empty() {
        let mut absent = Vec::new();
        for Wrong { path, steps, schemas } in outermost(&value, &violations)? {
            let inner = spot.inner(&path, &steps, schemas, &mut value)?;
            let place = at_mut(&mut value, &steps)?;
            if !place.is_null() {
                let mended = mend::mend(ground, std::mem::take(place), &inner)?;
                *at_mut(&mut value, &steps)? = mended.value;
                changes.extend(mended.changes);
                is_tied |= mended.is_tied;
            } else if node::declares(ground, spot, &path) {
                changes.push(absent::change(inner.at));
                absent.push(steps);
            } else {
                return None;
            }
            if !done.insert(path) {
                return None;
            }
        }
        absent::take_away(&mut value, absent)?;
        violations = ground.violations(&value, &spot.schemas)?;
    }
    Some(Mended { value, changes, is_tied })
}

/// Changes the places that can be corrected and leaves the others, so that the model is asked only
/// for the latter.
pub(super) fn mend_some(
    ground: &Ground<'_>,
    value: &mut Json,
    violations: &[Violation],
    spot: &Spot,
) -> Vec<Change> {
    let within: Vec<Violation> =
        violations.iter().filter(|violation| !violation.path.is_empty()).cloned().collect();
    let mut changes = Vec::new();
    let mut places = outermost(value, &within).unwrap_or_default();
    places.reverse();
    while let Some(Wrong { path, steps, schemas }) = places.pop() {
        let Some(inner) = spot.inner(&path, &steps, schemas, value) else { continue };
        let Some(place) = at_mut(value, &steps) else { continue };
        if place.is_null() {
            if let Some(change) = leave_out(ground, value, &path, steps, inner.at, spot) {
                changes.push(change);
                // Members after the removed null have moved.
                locate(value, &mut places);
            }
        } else if let Some(mended) = mend::mend(ground, place.clone(), &inner)
            && !mended.is_tied
        {
            *place = mended.value;
            changes.extend(mended.changes);
        }
    }
    changes
}

/// Removes a null, unless that is invalid as well: the parameter may be required.
fn leave_out(
    ground: &Ground<'_>,
    value: &mut Json,
    path: &str,
    steps: Vec<usize>,
    at: String,
    spot: &Spot,
) -> Option<Change> {
    // A null often violates several keywords, so the number of violations is no measure.
    let wanting = |value: &Json| {
        let violations = ground.violations(value, &spot.schemas)?;
        Some(violations.iter().filter(|violation| violation.keyword == "required").count())
    };
    let mut without = value.clone();
    absent::take_away(&mut without, vec![steps])?;
    let is_better = node::declares(ground, spot, path) && wanting(&without)? <= wanting(value)?;
    is_better.then(|| {
        *value = without;
        absent::change(at)
    })
}

/// Returns the violated places that no other one encloses, with the schemas that they violate; none
/// if the value itself is among them.
fn outermost(value: &Json, violations: &[Violation]) -> Option<Vec<Wrong>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for violation in violations {
        if violation.path.is_empty() {
            return None;
        }
        let schemas = places.entry(&violation.path).or_default();
        let schema = node::of_keyword(violation).to_owned();
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    let is_outermost = |path: &str| !ancestors(path).any(|around| places.contains_key(around));
    let paths: BTreeSet<&str> = places.keys().copied().filter(|path| is_outermost(path)).collect();
    places.retain(|path, _| paths.contains(path));
    let wrong =
        |(path, schemas): (&str, _)| Wrong { path: path.into(), steps: Vec::new(), schemas };
    let mut wrong: Vec<Wrong> = places.into_iter().map(wrong).collect();
    locate(value, &mut wrong);
    Some(wrong)
}

/// Updates the positions of places.
fn locate(value: &Json, places: &mut [Wrong]) {
    let mut index = Index::new(value);
    for place in places {
        place.steps = index.positions(&place.path);
    }
}

/// Returns the ancestors of a pointer, nearest first.
fn ancestors(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(pointer.rsplit_once('/'), |(around, _)| around.rsplit_once('/'))
        .map(|(around, _)| around)
}

impl Spot {
    /// Creates a place within this one.
    fn inner(
        &self,
        path: &str,
        steps: &[usize],
        schemas: Vec<String>,
        value: &mut Json,
    ) -> Option<Spot> {
        let (_, around) = steps.split_last()?;
        Some(Spot {
            at: format!("{}{path}", self.at),
            schemas,
            around: Vec::new(),
            is_item: at_mut(value, around)?.as_array().is_some(),
            reach: self.reach,
        })
    }
}
