//! The subschemas that apply to a value.

use std::ptr;

use toolwright_core::Json;

/// The subschemas that may apply to one value. All branches of `anyOf` and similar keywords are
/// included.
#[derive(Debug, Clone)]
pub(super) struct Subschemas<'a> {
    root: &'a Json,
    schemas: Vec<&'a Json>,
}

/// Whether a schema declares its value a secret.
fn says_secret(schema: &Json) -> bool {
    schema.get("writeOnly").and_then(Json::as_bool) == Some(true)
        || schema.get("format").and_then(Json::as_str) == Some("password")
}

/// Whether a schema declares any value a secret, at any depth.
pub(super) fn has_secrets(schema: &Json) -> bool {
    match schema {
        Json::Array(items) => items.iter().any(has_secrets),
        Json::Object(object) => {
            says_secret(schema) || object.iter().any(|(_, inner)| has_secrets(inner))
        }
        _ => false,
    }
}

impl<'a> Subschemas<'a> {
    /// Returns the subschemas of the root value.
    pub(super) fn root(schema: &'a Json) -> Subschemas<'a> {
        Subschemas::of(schema, [schema])
    }

    fn of(root: &'a Json, schemas: impl IntoIterator<Item = &'a Json>) -> Subschemas<'a> {
        let mut place = Subschemas { root, schemas: Vec::new() };
        for schema in schemas {
            place.add(schema);
        }
        place
    }

    /// Adds a subschema and all that it applies to the same value. References may be cyclic.
    fn add(&mut self, schema: &'a Json) {
        if schema.as_object().is_none() || self.schemas.iter().any(|own| ptr::eq(*own, schema)) {
            return;
        }
        self.schemas.push(schema);
        for word in ["$ref", "$dynamicRef"] {
            let target = schema.get(word).and_then(Json::as_str);
            if let Some(target) = target.and_then(|target| target.strip_prefix('#'))
                && let Some(target) = self.root.pointer(target)
            {
                self.add(target);
            }
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            for branch in schema.get(word).and_then(Json::as_array).unwrap_or_default() {
                self.add(branch);
            }
        }
        for word in ["if", "then", "else"] {
            if let Some(branch) = schema.get(word) {
                self.add(branch);
            }
        }
        if let Some(branches) = schema.get("dependentSchemas").and_then(Json::as_object) {
            for (_, branch) in branches.iter() {
                self.add(branch);
            }
        }
    }

    /// Whether the value is a secret.
    pub(super) fn is_secret(&self) -> bool {
        self.schemas.iter().any(|schema| says_secret(schema))
    }

    /// Returns the subschemas of a member of an object.
    pub(super) fn member(&self, key: &str) -> Subschemas<'a> {
        let mut found = Vec::new();
        for schema in &self.schemas {
            let named = schema.get("properties").and_then(|named| named.get(key));
            found.extend(named);
            if let Some(patterns) = schema.get("patternProperties").and_then(Json::as_object) {
                found.extend(patterns.iter().map(|(_, schema)| schema));
            }
            if named.is_none() {
                let others = ["additionalProperties", "unevaluatedProperties"];
                found.extend(others.iter().filter_map(|word| schema.get(word)));
            }
        }
        Subschemas::of(self.root, found)
    }

    /// Returns the subschemas of an item of an array.
    pub(super) fn item(&self, index: usize) -> Subschemas<'a> {
        let mut found = Vec::new();
        for schema in &self.schemas {
            for word in ["prefixItems", "items"] {
                let list = schema.get(word).and_then(Json::as_array);
                found.extend(list.and_then(|list| list.get(index)));
            }
            let words = ["items", "additionalItems", "contains", "unevaluatedItems"];
            found.extend(words.iter().filter_map(|word| schema.get(word)));
        }
        Subschemas::of(self.root, found)
    }

    /// Adds the subschemas of another place.
    pub(super) fn or(mut self, other: Subschemas<'a>) -> Subschemas<'a> {
        self.schemas.extend(other.schemas);
        self
    }
}
