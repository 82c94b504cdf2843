//! Writes a schema by the rules of a subset, node by node.

use std::collections::HashSet;

use toolwright_json::Json;

use super::change::Changes;
use super::inline::Document;
use super::keep::Draft;
use super::nulls::{Location, Locations, Nulls};
use super::shape::{Member, Shape, Source, Value};
use super::subset::{Refs, Rules, Types};
use super::walk::{applies_to, holds_definitions, step, visit};
use crate::loss::Severity;
use crate::wire_json;

/// A schema that is being lowered.
pub(super) struct Lowering<'s, 'c> {
    pub(super) document: Document<'s>,
    pub(super) rules: &'static Rules,
    /// Whether there is an integer type
    pub(super) integers: bool,
    pub(super) changes: &'c mut Changes,
    /// The targets of the references that lead to the current node
    pub(super) open: Vec<String>,
    /// The schemas whose `$ref` must not be kept
    pub(super) circular: HashSet<String>,
    /// Number of copied nodes around the current one, and in total
    pub(super) copies: usize,
    pub(super) spent: usize,
    pub(super) depth: usize,
    pub(super) places: Locations,
}

/// A finished node.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) json: Json,
    /// The location for nulls, if there is one
    pub(super) place: Option<usize>,
}

/// Lowers a schema with a normalized root.
pub(super) fn lower(
    schema: &Json,
    rules: &'static Rules,
    integers: bool,
    changes: &mut Changes,
) -> (Json, Nulls) {
    if schema.as_object().is_none() {
        return (schema.clone(), Nulls::default());
    }
    let document = Document::new(schema);
    let circular = match rules.refs {
        Refs::Acyclic => super::cycle::circular(&document),
        Refs::Keep | Refs::Inline => HashSet::new(),
    };
    let mut lowering = Lowering {
        document,
        rules,
        integers,
        changes,
        open: vec![String::new()],
        circular,
        copies: 0,
        spent: 0,
        depth: 0,
        places: Locations::default(),
    };
    let mut shape = lowering.gather(&[Source::new(schema, "")]);
    // The root is always an object with the known properties.
    shape.stand_in = None;
    let built = lowering.emit(shape, true);
    let (json, nulls) = (built.json, lowering.places.finish(built.place));
    super::ceiling::measure(&json, rules, changes);
    (json, nulls)
}

impl<'s> Lowering<'s, '_> {
    /// Records a change; the reason begins with the name of the rules.
    pub(super) fn push(&mut self, at: &str, what: &'static str, why: &str, severity: Severity) {
        self.changes.push(at, what, [self.rules.name, " ", why].concat(), severity);
    }

    /// Lowers a node below the root.
    pub(super) fn node(&mut self, sources: &[Source<'s>]) -> Built {
        self.depth += 1;
        let built = if let Some(built) = self.kept_reference(sources) {
            built
        } else {
            let shape = self.gather(sources);
            self.emit(shape, false)
        };
        self.depth -= 1;
        built
    }

    /// Writes all keywords of a node.
    pub(super) fn emit(&mut self, mut shape: Shape<'s>, root: bool) -> Built {
        shape.dedup_required();
        let opened = shape.opened.len();
        self.open.append(&mut shape.opened);
        self.copies += usize::from(opened > 0);
        let built = if shape.stand_in.is_some() {
            self.stand_in(shape, root)
        } else {
            let union = if root { None } else { self.union_of(&mut shape) };
            match union {
                Some(union) if self.rules.typed => self.branches(shape, union),
                _ => self.typed(shape, root),
            }
        };
        self.copies -= usize::from(opened > 0);
        self.open.truncate(self.open.len() - opened);
        built
    }

    /// Replaces a node that cannot be written: its description says what belongs there.
    pub(super) fn stand_in(&mut self, shape: Shape<'s>, root: bool) -> Built {
        let mut draft = Draft { texts: shape.texts, ..Draft::default() };
        let (mut text, kind) = match shape.stand_in {
            Some(stand_in) => (stand_in.text, stand_in.kind),
            None => (String::new(), None),
        };
        let kind = match (self.rules.closed, self.rules.types) {
            // A closed object would have to list its properties; a string can contain anything.
            (true, _) => {
                text.push_str(", as JSON text");
                Some("string")
            }
            (false, Types::Flag) => kind.or(Some("object")),
            (false, _) => kind,
        };
        if let Some(kind) = kind {
            draft.push("type", self.rules.spell(kind));
            if kind == "array" && self.rules.typed {
                let items = self.anything();
                draft.push("items", items);
            }
        }
        draft.texts.push(text);
        for member in &shape.members {
            if let ("description" | "title", Value::Data(value)) = (member.key, &member.value) {
                self.data(&mut draft, member, value, root);
            }
        }
        Built { json: self.finish(draft, &shape.at), place: None }
    }

    /// Returns the most general schema that has a type.
    pub(super) fn anything(&mut self) -> Json {
        let (shape, types) = (Shape::new("".into()), self.simple_types());
        self.of_types(shape, types, false).json
    }

    /// Writes a node keyword by keyword.
    pub(super) fn plain(
        &mut self,
        mut shape: Shape<'s>,
        types: &[&'static str],
        root: bool,
    ) -> Built {
        let texts = std::mem::take(&mut shape.texts);
        let mut draft = Draft { texts, ..Draft::default() };
        let mut place = Location::default();
        let tuple = matches!(
            shape.get("prefixItems"),
            Some(Member { value: Value::Schemas(members), .. }) if !members.is_empty()
        );
        for member in &shape.members {
            let applies = applies_to(member.key);
            let idle = !applies.is_empty() && !applies.iter().any(|name| types.contains(name));
            if self.rules.typed && idle && !types.is_empty() {
                self.push(&member.at, "removed", "refuse what is idle here", Severity::Note);
                continue;
            }
            match (member.key, &member.value) {
                ("type", Value::Data(value)) => self.kind(&mut draft, member, value, types, root),
                ("properties", Value::Named(named)) if self.rules.has("properties", root) => {
                    self.properties(&mut draft, &mut place, &shape, &named.list);
                }
                ("required", Value::Data(_)) if self.rules.typed => {
                    self.required(&mut draft, &shape);
                }
                ("additionalProperties", _) => self.additional(&mut draft, member, root),
                ("items", Value::Schemas(_)) if self.rules.items_verbatim => {
                    draft.push("items", member.raw.clone());
                }
                ("items", Value::Schema(sources))
                    if self.rules.has("items", root) && !(self.rules.typed && tuple) =>
                {
                    self.items(&mut draft, &mut place, sources);
                }
                ("items" | "prefixItems", Value::Schemas(sources)) if self.rules.typed => {
                    self.tuple(&mut draft, &mut place, member, sources);
                }
                ("anyOf" | "oneOf", Value::Schemas(sources)) if !root && !sources.is_empty() => {
                    let branches: Vec<Json> =
                        sources.iter().map(|s| self.node(std::slice::from_ref(s)).json).collect();
                    draft.push("anyOf", branches);
                }
                (key, Value::Named(named)) if holds_definitions(key) => {
                    self.definitions(&mut draft, member, &named.list, root);
                }
                (_, Value::Data(value)) => self.data(&mut draft, member, value, root),
                _ => self.drop(&mut draft, member.key, member.raw, &member.at, root),
            }
        }
        if self.rules.typed && !types.is_empty() && !draft.has("type") {
            draft.members.insert(0, ("type".into(), self.spelled(types, false)));
        }
        if self.rules.closed && types.contains(&"object") {
            self.close(&mut draft, &shape, root);
        }
        if self.rules.typed && types.contains(&"array") && !draft.has("items") {
            let at = step(&shape.at, "items");
            self.push(&at, "limited to simple types", "need items in an array", Severity::Major);
            let items = self.anything();
            draft.push("items", items);
        }
        let place = self.places.add(place);
        Built { json: self.finish(draft, &shape.at), place }
    }

    /// Writes the definitions of the root, if references are kept.
    pub(super) fn definitions(
        &mut self,
        draft: &mut Draft,
        member: &Member<'s>,
        named: &[(&'s str, Vec<Source<'s>>)],
        root: bool,
    ) {
        if !self.rules.has(member.key, root) || !root && member.key != "defs" {
            self.push(&member.at, "removed", "have it written out", Severity::Note);
            return;
        }
        if self.rules.items_verbatim {
            draft.push(member.key, member.raw.clone());
            return;
        }
        let mut definitions = toolwright_json::Object::new();
        for (name, sources) in named {
            let at = step(&member.at, name);
            self.open.push(at.clone());
            let built = self.node(sources);
            self.open.pop();
            self.places.link(&at, built.place);
            definitions.push(wire_json::key(name), built.json);
        }
        draft.push(member.key, definitions);
    }

    /// Writes `items`.
    fn items(&mut self, draft: &mut Draft, place: &mut Location, sources: &[Source<'s>]) {
        if self.rules.items_verbatim
            && let [source] = sources
            && self.is_portable(source.schema)
        {
            draft.push("items", source.schema.clone());
            return;
        }
        let built = self.node(sources);
        place.items = built.place;
        draft.push("items", built.json);
    }

    /// Whether the references in a schema still resolve if only `$defs` is kept.
    fn is_portable(&self, schema: &Json) -> bool {
        let mut portable = true;
        visit(schema, "", &mut |object, _| {
            if let Some(reference) = object.get("$ref") {
                let leads = reference.as_str().is_some_and(|reference| {
                    reference.starts_with("#/$defs/") && self.document.resolve(reference).is_some()
                });
                portable &= leads;
            }
        });
        portable
    }
}
