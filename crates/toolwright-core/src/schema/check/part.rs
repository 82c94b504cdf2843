//! The schemas within a schema, each to be checked by itself.

use std::cell::Cell;

use jsonschema::{Registry, Validator};
use serde_json::{Map, Value};

use super::instance::Exact;
use super::{Check, accepted, found, options};
use crate::json::Json;
use crate::percent;
use crate::schema::Violation;

/// How many values the schemas may hold in all that are compiled for one document, each counted with
/// the whole document, which it may refer to.
const MAX_COMPILED: usize = 2_000_000;

/// What the document is called while one of its parts is compiled.
const DOCUMENT: &str = "urn:toolwright:schema";

/// A schema as the validator reads it, ready to be taken apart.
pub(crate) struct Document<'c> {
    check: &'c Check,
    value: Value,
}

/// Compiles the schemas within a document.
pub(crate) struct Parts<'d> {
    document: &'d Document<'d>,
    registry: Registry<'d>,
    /// How many values may still be compiled
    left: Cell<usize>,
}

/// A schema within the schema of a [`Check`]. References lead where they lead in the whole, and
/// what it finds is said with pointers into the whole.
#[derive(Debug)]
pub(crate) struct Part<'c> {
    validator: Validator<Exact>,
    schema: &'c Json,
}

impl Check {
    /// This schema, to be taken apart.
    pub(crate) fn document(&self) -> Document<'_> {
        Document { check: self, value: self.schema.to_value() }
    }
}

impl Document<'_> {
    /// The schemas within this one.
    pub(crate) fn parts(&self) -> Option<Parts<'_>> {
        let registry = Registry::new().add(DOCUMENT, &self.value).ok()?.prepare().ok()?;
        Some(Parts { document: self, registry, left: Cell::new(MAX_COMPILED) })
    }
}

impl<'d> Parts<'d> {
    /// The schema at a JSON Pointer; `None` if there is no usable schema, or the compile budget is spent.
    pub(crate) fn compile(&self, pointer: &str) -> Option<Part<'d>> {
        let Document { check, value } = self.document;
        if !matches!(check.schema.pointer(pointer)?, Json::Object(_) | Json::Bool(_)) {
            return None;
        }
        self.left.set(self.left.get().checked_sub(check.size.values)?);
        let mut reference = Map::new();
        if let Some(draft) = value.get("$schema") {
            reference.insert("$schema".into(), draft.clone());
        }
        let segments: Vec<String> = pointer.split('/').map(percent::encode).collect();
        let target = format!("{DOCUMENT}#{}", segments.join("/"));
        reference.insert("$ref".into(), Value::String(target));
        let draft = check.validator.draft();
        let options = options(draft, &check.schema, check.size, check.is_rounded)
            .with_registry(&self.registry);
        let validator = options.build(&Value::Object(reference)).ok()?;
        Some(Part { validator, schema: &check.schema })
    }
}

impl Part<'_> {
    /// Whether a value is what this schema asks for.
    pub(crate) fn accepts(&self, value: &Json) -> bool {
        accepted(&self.validator, value).unwrap_or(false)
    }

    /// Every place where a value is not what this schema asks for.
    pub(crate) fn violations(&self, value: &Json) -> Vec<Violation> {
        found(&self.validator, value, self.schema)
    }
}
