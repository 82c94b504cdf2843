//! The context of a search: the schema, its check at any place, and the remaining budget.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use toolwright_json::Json;

use super::Coercion;
use crate::schema::{Part, Parts, Violation};

/// Maximum number of visits per value of the arguments.
const VISITS_PER_VALUE: usize = 8;

/// Visits that are allowed for any arguments; nested values count separately.
const MIN_VISITS: usize = 50_000;

/// Maximum number of violations for which a value is mended.
pub(super) const MAX_VIOLATIONS: usize = 2048;

/// Maximum number of tried union branches per value of the arguments.
const TRIES_PER_VALUE: usize = 16;

/// Tried branches that are allowed for any arguments.
const MIN_TRIES: usize = 64;

/// Maximum depth of directly nested unions.
const MAX_UNION_DEPTH: usize = 4;

/// Maximum number of subschemas compiled for one call.
const MAX_COMPILED_PARTS: usize = 256;

/// A schema to check values against. Checks are counted, so that no schema and no value can make
/// the search long.
pub(super) struct Ground<'s> {
    pub(super) by: &'s Coercion<'s>,
    pub(super) schema: &'s Json,
    parts: &'s Parts<'s>,
    compiled: RefCell<HashMap<String, Option<Rc<Part<'s>>>>>,
    left: Cell<usize>,
    tries: Cell<usize>,
    is_spent: Cell<bool>,
}

impl<'s> Ground<'s> {
    /// Creates the context for a value.
    pub(super) fn new(by: &'s Coercion<'s>, parts: &'s Parts<'s>, value: &Json) -> Ground<'s> {
        let weight = weight(value);
        let left = Cell::new(MIN_VISITS + VISITS_PER_VALUE * weight);
        let tries = Cell::new(MIN_TRIES + TRIES_PER_VALUE * weight);
        Ground {
            by,
            schema: by.check.schema(),
            parts,
            compiled: RefCell::default(),
            left,
            tries,
            is_spent: Cell::new(false),
        }
    }

    /// Whether the search was cut short, so that the cheapest value is unknown.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    /// Counts one branch of a nested union; none if there were too many. Branches with nested
    /// unions multiply, and each check can be expensive.
    pub(super) fn try_branch(&self, unions: usize) -> Option<()> {
        if unions > MAX_UNION_DEPTH {
            self.is_spent.set(true);
        }
        self.count(&self.tries, 1)
    }

    /// Returns where a value violates some subschemas; none if the budget is spent.
    pub(super) fn violations(&self, value: &Json, schemas: &[String]) -> Option<Vec<Violation>> {
        let mut all = Vec::new();
        for schema in schemas {
            self.spend(value)?;
            all.extend(match schema.as_str() {
                "" => self.by.check.violations(value),
                within => self.part(within)?.violations(value),
            });
        }
        if all.len() > MAX_VIOLATIONS {
            self.is_spent.set(true);
            return None;
        }
        Some(all)
    }

    /// Whether a value satisfies all of some subschemas.
    pub(super) fn accepts(&self, value: &Json, schemas: &[String]) -> bool {
        let accepts = |schema: &String| {
            self.spend(value)?;
            Some(match schema.as_str() {
                "" => self.by.check.accepts(value),
                within => self.part(within)?.accepts(value),
            })
        };
        schemas.iter().all(|schema| accepts(schema) == Some(true))
    }

    /// Returns a subschema, compiled once.
    fn part(&self, pointer: &str) -> Option<Rc<Part<'s>>> {
        let mut compiled = self.compiled.borrow_mut();
        if let Some(part) = compiled.get(pointer) {
            return part.clone();
        }
        if compiled.len() >= MAX_COMPILED_PARTS {
            self.is_spent.set(true);
            return None;
        }
        let part = self.parts.compile(pointer).map(Rc::new);
        compiled.insert(pointer.to_owned(), part.clone());
        part
    }

    /// Counts one check of a value; none if there were too many.
    fn spend(&self, value: &Json) -> Option<()> {
        self.count(&self.left, weight(value))
    }

    fn count(&self, left: &Cell<usize>, some: usize) -> Option<()> {
        let rest = left.get().checked_sub(some).filter(|_| !self.is_spent.get());
        self.is_spent.set(rest.is_none());
        left.set(rest?);
        Some(())
    }
}

/// Returns the cost of checking a value.
fn weight(value: &Json) -> usize {
    match value {
        Json::String(text) => 1 + text.len() / 64,
        Json::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Json::Object(object) => 1 + object.iter().map(|(_, value)| weight(value)).sum::<usize>(),
        _ => 1,
    }
}
