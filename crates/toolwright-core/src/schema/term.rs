//! Merges the properties of several variants, and redirects references into those variants.

use std::collections::HashMap;

use toolwright_json::{Json, Object};

use super::change::Changes;
use super::walk::{step, visit_mut};
use crate::loss::Severity;

/// The schemas of a property in the merged variants, with their pointers.
#[derive(Clone, PartialEq)]
pub(super) enum Term<'s> {
    One(&'s Json, String),
    All(Vec<Term<'s>>),
    Any(Vec<Term<'s>>),
}

impl<'s> Term<'s> {
    /// Returns the pointer of its first part.
    fn first(&self) -> &str {
        match self {
            Term::One(_, at) => at,
            Term::All(terms) | Term::Any(terms) => terms.first().map_or("", Term::first),
        }
    }

    fn same(&self, other: &Term<'s>) -> bool {
        match (self, other) {
            (Term::One(a, _), Term::One(b, _)) => a.same(b),
            (a, b) => a == b,
        }
    }

    /// Adds an alternative schema.
    pub(super) fn or(&mut self, other: Term<'s>) {
        match self {
            Term::Any(terms) if terms.iter().any(|term| term.same(&other)) => {}
            Term::Any(terms) => terms.push(other),
            known if known.same(&other) => {}
            known => *known = Term::Any(vec![known.clone(), other]),
        }
    }

    /// Adds a schema that applies as well.
    pub(super) fn and(&mut self, other: Term<'s>) {
        match self {
            Term::All(terms) if terms.iter().any(|term| term.same(&other)) => {}
            Term::All(terms) => terms.push(other),
            known if known.same(&other) => {}
            known => *known = Term::All(vec![known.clone(), other]),
        }
    }
    /// Returns the merged schema, and records where its parts came from.
    pub(super) fn write(&self, at: &str, moves: &mut Moves, changes: &mut Changes) -> Json {
        let (key, terms) = match self {
            Term::One(schema, old) => {
                moves.add(old, at, changes);
                return (*schema).clone();
            }
            Term::All(terms) => ("allOf", terms),
            Term::Any(terms) => ("anyOf", terms),
        };
        changes.moved(at.to_owned(), self.first().to_owned());
        let schemas: Vec<Json> = terms
            .iter()
            .enumerate()
            .map(|(index, term)| term.write(&format!("{at}/{key}/{index}"), moves, changes))
            .collect();
        let mut object = Object::new();
        object.push(key, schemas);
        Json::Object(object)
    }
}

/// The new pointers of moved parts of the root, by their old pointers.
#[derive(Default)]
pub(super) struct Moves(HashMap<String, String>);

impl Moves {
    pub(super) fn add(&mut self, old: &str, new: &str, changes: &mut Changes) {
        if old != new {
            self.0.insert(old.to_owned(), new.to_owned());
            changes.moved(new.to_owned(), old.to_owned());
        }
    }

    /// Returns the new pointer for an old one.
    fn follow(&self, old: &str) -> Option<String> {
        let mut end = old.len();
        loop {
            if let Some(new) = self.0.get(&old[..end]) {
                return Some(format!("{new}{}", &old[end..]));
            }
            end = old[..end].rfind('/')?;
        }
    }

    /// Redirects references into removed parts.
    pub(super) fn redirect(&self, schema: &mut Json, gone: &[&str], changes: &mut Changes) {
        let is_gone = |pointer: &str| {
            let first = pointer.split('/').nth(1);
            first.is_some_and(|first| gone.contains(&first))
        };
        visit_mut(schema, "", &mut |object, at| {
            let reference = object.get("$ref").and_then(Json::as_str);
            let Some(old) = reference.and_then(|reference| reference.strip_prefix('#')) else {
                return;
            };
            if !is_gone(old) {
                return;
            }
            let why = "what it names was merged into the root";
            if let Some(new) = self.follow(old) {
                object.insert("$ref", format!("#{new}"));
                changes.push(&step(at, "$ref"), "redirected", why, Severity::Note);
            } else {
                object.remove("$ref");
                changes.push(&step(at, "$ref"), "removed", why, Severity::Major);
            }
        });
    }
}
