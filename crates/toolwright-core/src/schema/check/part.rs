//! Compiles subschemas to check values against each separately.

use std::cell::Cell;

use jsonschema::{Registry, Validator};
use serde_json::{Map, Value};
use toolwright_json::Json;

use super::instance::Exact;
use super::{Check, accepted, found, options};
use crate::percent;
use crate::schema::Violation;

/// Maximum number of values in all compiled subschemas of a document, each counted with the whole
/// document, to which it may refer.
const MAX_COMPILED: usize = 2_000_000;

/// The URI of the document while one of its subschemas is compiled.
const DOCUMENT: &str = "urn:toolwright:schema";

/// A schema whose subschemas can be compiled.
pub(crate) struct Document<'c> {
    check: &'c Check,
    value: Value,
}

/// Compiles the schemas within a document.
pub(crate) struct Parts<'d> {
    document: &'d Document<'d>,
    registry: Registry<'d>,
    /// Number of values that may still be compiled
    left: Cell<usize>,
}

/// A subschema of a [`Check`]. References resolve as in the whole, and violations have pointers
/// into the whole.
#[derive(Debug)]
pub(crate) struct Part<'c> {
    validator: Validator<Exact>,
    schema: &'c Json,
}

impl Check {
    /// Returns this schema for compiling its subschemas.
    pub(crate) fn document(&self) -> Document<'_> {
        Document { check: self, value: self.schema.to_value() }
    }
}

impl Document<'_> {
    /// Returns the compiler of subschemas.
    pub(crate) fn parts(&self) -> Option<Parts<'_>> {
        let registry = Registry::new().add(DOCUMENT, &self.value).ok()?.prepare().ok()?;
        Some(Parts { document: self, registry, left: Cell::new(MAX_COMPILED) })
    }
}

impl<'d> Parts<'d> {
    /// Compiles the schema at a JSON Pointer; `None` if there is no usable schema, or the budget is
    /// spent.
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
        let draft = check.draft();
        let options = options(draft, &check.schema, check.size, check.is_rounded)
            .with_registry(&self.registry);
        let validator = options.build(&Value::Object(reference)).ok()?;
        Some(Part { validator, schema: &check.schema })
    }
}

impl Part<'_> {
    /// Whether a value is valid.
    pub(crate) fn accepts(&self, value: &Json) -> bool {
        self.try_accepts(value).unwrap_or(false)
    }

    /// Like [`Part::accepts`]; `None` if the value cannot be checked within the limits.
    pub(crate) fn try_accepts(&self, value: &Json) -> Option<bool> {
        accepted(&self.validator, value).ok()
    }

    /// Returns all violations of a value.
    pub(crate) fn violations(&self, value: &Json) -> Vec<Violation> {
        found(&self.validator, value, self.schema)
    }
}
