//! Flattens unions at the root, for targets that refuse them there: variants become one object.

use std::collections::{HashMap, HashSet};

use toolwright_json::{Json, Object};

use super::BUDGET;
use super::change::Changes;
use super::inline::Document;
use super::keep::extended;
use super::root::{OBJECT_FUEL, OBJECT_ROOT, may_be_object};
use super::term::{Moves, Term};
use super::walk::{distinct, restricts, step};
use crate::loss::Severity;

/// Maximum depth of unions and references, after which references are not followed.
const MAX_DEPTH: usize = 40;
/// Maximum length of the sentence about variants.
const MAX_VARIANTS: usize = 300;
const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const NO_UNION: &str = "the target refuses unions at the root";

/// Returns the root without its union; none if it has none.
pub(super) fn flattened(document: &Document<'_>, changes: &mut Changes) -> Option<Object> {
    let mut flattening =
        Flattening { document, changes, steps: 0, depth: 0, open: vec![String::new()] };
    if !flattening.has_union(document.root, 0) {
        return None;
    }
    document.root.as_object().map(|object| flattening.run(object))
}

/// A root that is being flattened.
struct Flattening<'s, 'c> {
    document: &'c Document<'s>,
    changes: &'c mut Changes,
    steps: usize,
    depth: usize,
    /// The targets of the references that are being followed
    open: Vec<String>,
}

/// The merged keywords of an object.
#[derive(Default)]
struct Flat<'s> {
    properties: Vec<(&'s str, Term<'s>)>,
    required: Vec<&'s str>,
    additional: Option<(&'s Json, String)>,
    /// Other keywords, with their pointers
    rest: Vec<(&'s str, &'s Json, String)>,
}

impl Flat<'_> {
    fn is_closed(&self) -> bool {
        matches!(self.additional, Some((Json::Bool(false), _)))
    }
}

impl<'s> Flattening<'s, '_> {
    /// Whether there is a union at the root, also behind a reference.
    fn has_union(&self, schema: &'s Json, depth: usize) -> bool {
        let Json::Object(object) = schema else { return false };
        UNIONS.iter().any(|union| object.contains_key(union))
            || depth < MAX_DEPTH
                && object
                    .get("$ref")
                    .and_then(Json::as_str)
                    .and_then(|reference| self.document.resolve(reference))
                    .is_some_and(|(target, _)| self.has_union(target, depth + 1))
    }

    fn run(&mut self, object: &'s Object) -> Object {
        let mut variants = Vec::new();
        let flat = self.flat(object, "", &mut variants);
        let mut out = Object::new();
        out.push("type", "object");
        let mut moves = Moves::default();
        let mut properties = Object::new();
        for (name, term) in &flat.properties {
            let at = step("/properties", name);
            properties.push((*name).to_owned(), term.write(&at, &mut moves, self.changes));
        }
        let required: Vec<Json> = flat.required.iter().map(|name| Json::from(*name)).collect();
        let required = if required.is_empty() { None } else { Some(Json::Array(required)) };
        if object.get("required") != required.as_ref() {
            self.changes.push("/required", "of all variants", NO_UNION, Severity::Note);
        }
        let mut properties = Some(Json::Object(properties));
        let mut required = required;
        for (key, value, old) in &flat.rest {
            if !matches!(*key, "properties" | "required") {
                moves.add(old, &step("", key), self.changes);
            }
            match *key {
                "type" => out.insert("type", (*value).clone()),
                "properties" => out.insert_some("properties", properties.take()),
                "required" => out.insert_some("required", required.take()),
                key => out.push(key.to_owned(), (*value).clone()),
            }
        }
        out.insert_some("properties", properties);
        out.insert_some("required", required);
        if let Some((value, old)) = flat.additional {
            out.insert("additionalProperties", value.clone());
            moves.add(&old, "/additionalProperties", self.changes);
        }
        self.describe(&mut out, &variants);
        let mut out = Json::Object(out);
        moves.redirect(&mut out, &UNIONS, self.changes);
        match out {
            Json::Object(out) => out,
            _ => Object::new(),
        }
    }

    /// Describes which properties belong together.
    fn describe(&mut self, out: &mut Object, variants: &[String]) {
        let text = format!("one of these sets of properties: {}", variants.join(" or "));
        if variants.len() < 2 || text.len() > MAX_VARIANTS {
            return;
        }
        let own = out.get("description").and_then(Json::as_str).unwrap_or_default();
        let text = extended(own, &[text]);
        out.insert("description", text);
        self.changes.push("/description", "extended", NO_UNION, Severity::Note);
    }

    /// Merges an object schema with its unions and its reference.
    fn flat(&mut self, object: &'s Object, at: &str, variants: &mut Vec<String>) -> Flat<'s> {
        self.steps += object.len();
        self.depth += 1;
        let mut flat = Flat::default();
        let members = distinct(object);
        for (key, value) in &members {
            match (*key, *value) {
                ("properties", Json::Object(named)) => {
                    self.steps += named.len();
                    let at = step(at, key);
                    flat.properties.extend(
                        distinct(named)
                            .into_iter()
                            .map(|(name, schema)| (name, Term::One(schema, step(&at, name)))),
                    );
                    flat.rest.push((key, value, at));
                }
                ("required", Json::Array(names)) => {
                    flat.required.extend(names.iter().filter_map(Json::as_str));
                    flat.rest.push((key, value, step(at, key)));
                }
                ("additionalProperties", value) => flat.additional = Some((value, step(at, key))),
                ("$ref" | "anyOf" | "oneOf" | "allOf", _) => {}
                (key, value) => flat.rest.push((key, value, step(at, key))),
            }
        }
        for (key, value) in members {
            let at = step(at, key);
            match (key, value) {
                ("$ref", Json::String(reference)) => {
                    let other = self.referred(reference, &at, variants);
                    self.conjoin(&mut flat, other);
                }
                ("allOf", Json::Array(all)) => {
                    self.changes.push(&at, "merged into one object", NO_UNION, Severity::Note);
                    for (index, schema) in all.iter().enumerate() {
                        if let Some(other) = self.branch(schema, &format!("{at}/{index}"), variants)
                        {
                            self.conjoin(&mut flat, other);
                        }
                    }
                }
                ("anyOf" | "oneOf", Json::Array(any)) => {
                    self.changes.push(&at, "merged into one object", NO_UNION, Severity::Major);
                    let other = self.disjoin(any, &at, variants);
                    self.conjoin(&mut flat, other);
                }
                _ => {}
            }
        }
        self.depth -= 1;
        flat
    }

    fn referred(&mut self, reference: &str, at: &str, variants: &mut Vec<String>) -> Flat<'s> {
        let found = self.document.resolve(reference);
        let Some((Json::Object(target), pointer)) = found else {
            self.changes.push(at, "removed", "it names nothing here", Severity::Major);
            return Flat::default();
        };
        if self.open.contains(&pointer) || self.depth > MAX_DEPTH {
            self.changes.push(at, "removed", "it has no end", Severity::Major);
            return Flat::default();
        }
        self.changes.push(at, "written out in place", NO_UNION, Severity::Note);
        self.open.push(pointer.clone());
        let flat = self.flat(target, &pointer, variants);
        self.open.pop();
        flat
    }

    /// Merges a branch of a union, if it can be an object.
    fn branch(
        &mut self,
        schema: &'s Json,
        at: &str,
        variants: &mut Vec<String>,
    ) -> Option<Flat<'s>> {
        if self.steps > BUDGET {
            self.changes.push(at, "removed", "it would become too large", Severity::Major);
            return None;
        }
        let mut fuel = OBJECT_FUEL;
        let meant = may_be_object(schema, self.document, &mut fuel);
        self.steps += OBJECT_FUEL - fuel;
        if !meant {
            self.changes.push(at, "removed", OBJECT_ROOT, Severity::Major);
            return None;
        }
        let Json::Object(object) = schema else { return Some(Flat::default()) };
        Some(self.flat(object, at, variants))
    }

    /// Merges alternatives.
    fn disjoin(&mut self, any: &'s [Json], at: &str, variants: &mut Vec<String>) -> Flat<'s> {
        let mut branches = Vec::new();
        for (index, schema) in any.iter().enumerate() {
            branches.extend(self.branch(schema, &format!("{at}/{index}"), &mut Vec::new()));
        }
        let mut union = Flat::default();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let total = branches.len();
        if branches.iter().all(Flat::is_closed) {
            union.additional = branches.first().and_then(|branch| branch.additional.clone());
        }
        for branch in branches {
            let names: Vec<&str> = if branch.required.is_empty() {
                branch.properties.iter().map(|(name, _)| *name).collect()
            } else {
                branch.required.clone()
            };
            variants.push(format!("({})", names.join(", ")));
            for (name, term) in branch.properties {
                if let Some((_, known)) =
                    places.get(name).and_then(|place| union.properties.get_mut(*place))
                {
                    known.or(term);
                } else {
                    places.insert(name, union.properties.len());
                    union.properties.push((name, term));
                }
            }
            for name in branch.required {
                let count = counts.entry(name).or_default();
                *count += 1;
                if *count == total {
                    union.required.push(name);
                }
            }
            for (key, _, at) in branch.rest {
                self.leave(key, &at);
            }
        }
        union
    }

    /// Adds further constraints.
    fn conjoin(&mut self, flat: &mut Flat<'s>, mut other: Flat<'s>) {
        if flat.additional.is_none() || other.is_closed() {
            flat.additional = other.additional.take();
        }
        let mut places: HashMap<&str, usize> =
            flat.properties.iter().enumerate().map(|(place, (name, _))| (*name, place)).collect();
        for (name, term) in other.properties {
            if let Some((_, known)) =
                places.get(name).and_then(|place| flat.properties.get_mut(*place))
            {
                known.and(term);
            } else {
                places.insert(name, flat.properties.len());
                flat.properties.push((name, term));
            }
        }
        let known: HashSet<&str> = flat.required.iter().copied().collect();
        flat.required.extend(other.required.into_iter().filter(|name| !known.contains(name)));
        for (key, value, at) in other.rest {
            match flat.rest.iter().find(|(own, _, _)| *own == key) {
                Some((_, own, _)) if *own == value => {}
                Some(_) => self.leave(key, &at),
                None => flat.rest.push((key, value, at)),
            }
        }
    }

    /// Drops a keyword of a variant that the merged object cannot have.
    fn leave(&mut self, key: &str, at: &str) {
        let severity = if restricts(key) { Severity::Major } else { Severity::Minor };
        if !matches!(key, "type" | "properties" | "required") {
            self.changes.push(at, "removed", NO_UNION, severity);
        }
    }
}
