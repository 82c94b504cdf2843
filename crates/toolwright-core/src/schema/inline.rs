//! References: kept, inlined, or replaced if inlining would not end.

use std::collections::HashMap;
use std::rc::Rc;

use toolwright_json::pointer::escape;
use toolwright_json::{Json, Object};

use super::BUDGET;
use super::lower::{Built, Lowering};
use super::shape::{Member, Shape, Source, StandIn, Value};
use super::subset::Refs;
use super::walk::{distinct, step, type_named};
use crate::loss::Severity;
use crate::percent;

/// Maximum depth of schemas, after which references are not inlined.
const MAX_DEPTH: usize = 24;

/// A schema whose references are resolved.
#[derive(Debug)]
pub(super) struct Document<'s> {
    pub(super) root: &'s Json,
    /// The definitions of the root, by their pointers
    definitions: HashMap<String, &'s Json>,
}

impl<'s> Document<'s> {
    pub(super) fn new(root: &'s Json) -> Document<'s> {
        let mut definitions = HashMap::new();
        for key in ["$defs", "definitions"] {
            let named = root.get(key).and_then(Json::as_object);
            for (name, schema) in named.into_iter().flat_map(Object::iter) {
                definitions.insert(format!("/{key}/{}", escape(name)), schema);
            }
        }
        Document { root, definitions }
    }

    /// Returns the target of a reference within the document, and its pointer.
    pub(super) fn resolve(&self, reference: &str) -> Option<(&'s Json, String)> {
        let pointer = percent::decode(reference.strip_prefix('#')?);
        let name_end = pointer.match_indices('/').nth(2).map_or(pointer.len(), |(at, _)| at);
        let target = match self.definitions.get(&pointer[..name_end]) {
            Some(definition) => definition.pointer(&pointer[name_end..]),
            None => self.root.pointer(&pointer),
        };
        Some((target?, pointer))
    }
}

/// Whether a pointer is the root or a definition of the root, to which a kept reference may refer.
pub(super) fn is_definition(pointer: &str) -> bool {
    pointer.is_empty()
        || ["/$defs/", "/definitions/"]
            .into_iter()
            .filter_map(|prefix| pointer.strip_prefix(prefix))
            .any(|name| !name.contains('/'))
}

impl<'s> Lowering<'s, '_> {
    /// Returns the node as a reference, if the target supports references and the node has no other
    /// keywords.
    pub(super) fn kept_reference(&mut self, sources: &[Source<'s>]) -> Option<Built> {
        let [source] = sources else { return None };
        if self.rules.refs == Refs::Inline {
            return None;
        }
        let mut at = Rc::clone(&source.at);
        let mut object = source.schema.as_object()?;
        if !source.bare && object.len() == 1 {
            // Older generators write a single `allOf` around a reference.
            if let Some([Json::Object(only)]) = object.get("allOf").and_then(Json::as_array) {
                at = format!("{at}/allOf/0").into();
                object = only;
            }
        }
        let reference = object.get("$ref")?.as_str()?;
        let (_, target) = self.document.resolve(reference)?;
        let alone = source.bare || object.len() == 1;
        if !alone || !is_definition(&target) || self.circular.contains(at.as_ref()) {
            return None;
        }
        if at.len() > source.at.len() {
            self.merged(&source.at);
        }
        let place = self.rules.all_required.then(|| self.places.of(&target));
        Some(Built { json: Json::Object(toolwright_json::object! { "$ref": reference }), place })
    }

    /// Collects all keywords of a node.
    pub(super) fn gather(&mut self, sources: &[Source<'s>]) -> Shape<'s> {
        let at = sources.first().map_or_else(|| Rc::from(""), |source| Rc::clone(&source.at));
        let mut shape = Shape::new(at);
        for source in sources {
            self.absorb(&mut shape, source);
        }
        shape
    }

    /// Adds a schema to a node, then its reference, then the members of its `allOf`: earlier
    /// keywords are closer, and take precedence if only one can apply.
    pub(super) fn absorb(&mut self, shape: &mut Shape<'s>, source: &Source<'s>) {
        self.depth += 1;
        if self.copies > 0 || !shape.opened.is_empty() {
            self.spent += 1;
        }
        match source.schema {
            Json::Object(object) => self.absorb_object(shape, source, object),
            Json::Bool(true) => {}
            Json::Bool(false) => {
                self.changes.push(&source.at, "left open", "no value fits it", Severity::Major);
            }
            _ => self.changes.push(&source.at, "left open", "it is no schema", Severity::Major),
        }
        self.depth -= 1;
    }

    fn absorb_object(&mut self, shape: &mut Shape<'s>, source: &Source<'s>, object: &'s Object) {
        let mut reference = None;
        let mut members = &[][..];
        for (key, value) in distinct(object) {
            let key = self.rules.keyword(key);
            match (key, value) {
                ("$ref", value) => reference = Some(value),
                _ if source.bare => {}
                ("allOf", Json::Array(all)) => members = all,
                (key, value) => {
                    let at: Rc<str> = step(&source.at, key).into();
                    if !shape.add(key, value, Rc::clone(&at)) {
                        self.clash(shape, key, value, &at);
                    }
                }
            }
        }
        if let Some(reference) = reference {
            self.refer(shape, source, reference);
        }
        if !members.is_empty() {
            self.merged(&source.at);
        }
        for (index, member) in members.iter().enumerate() {
            self.absorb(shape, &Source::new(member, format!("{}/allOf/{index}", source.at)));
        }
    }

    fn merged(&mut self, at: &str) {
        self.push(
            &step(at, "allOf"),
            "merged with what is around it",
            "have no allOf",
            Severity::Note,
        );
    }

    /// Handles a keyword that contradicts an earlier one.
    fn clash(&mut self, shape: &mut Shape<'s>, key: &str, value: &Json, at: &str) {
        let sayable = self.rules.has("description", shape.at.is_empty());
        match super::keep::phrase(key, value) {
            Some(text) if sayable => {
                shape.texts.push(text);
                let severity = self.rules.unenforced();
                self.push(at, "moved into the description", "say a thing once", severity);
            }
            _ => self.push(at, "removed", "say a thing once", Severity::Major),
        }
    }

    /// Inlines the target of a reference, if that ends.
    fn refer(&mut self, shape: &mut Shape<'s>, source: &Source<'s>, reference: &'s Json) {
        let at = step(&source.at, "$ref");
        let found = reference.as_str().and_then(|reference| self.document.resolve(reference));
        let Some((target, pointer)) = found else {
            self.changes.push(&at, "left open", "it names nothing here", Severity::Major);
            shape.stand_in.get_or_insert(StandIn { text: "any value".to_owned(), kind: None });
            return;
        };
        let recursive = self.circular.contains(source.at.as_ref())
            || self.open.contains(&pointer)
            || shape.opened.contains(&pointer);
        if recursive && self.rules.refs == Refs::Keep && is_definition(&pointer) {
            // Siblings of a reference are refused, and inlining it would not end: the reference
            // becomes the only branch of a union beside the siblings.
            let value = Value::Schemas(vec![Source { bare: true, ..source.clone() }]);
            self.push(&at, "moved into an anyOf", "refuse siblings of $ref", Severity::Note);
            shape.members.push(Member { key: "anyOf", at: at.into(), value, raw: reference });
            return;
        }
        let reason = if recursive {
            Some("cannot be recursive")
        } else if self.depth > MAX_DEPTH || self.spent > BUDGET {
            Some("would become too large")
        } else {
            None
        };
        if let Some(reason) = reason {
            let name = pointer.rsplit('/').next().filter(|name| !name.is_empty());
            let text = format!("the same shape as {}", name.unwrap_or("the whole"));
            let kind = target.get("type").and_then(Json::as_str).and_then(type_named);
            shape.stand_in.get_or_insert(StandIn { text, kind });
            self.push(&at, "replaced by a description", reason, Severity::Major);
            return;
        }
        let target_at = pointer.clone();
        shape.opened.push(pointer);
        self.push(&at, "written out in place", "have no such reference", Severity::Note);
        self.absorb(shape, &Source::new(target, target_at));
    }
}
