//! The values of JSON Schema's keywords, and visitors of all subschemas.

use std::collections::HashMap;

use toolwright_json::pointer::escape;
use toolwright_json::{Json, Object, Text};

use super::change::Changes;
use crate::loss::Severity;

/// The kind of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A schema
    Schema,
    /// A list of schemas
    Schemas,
    /// Schemas by name
    Named,
    /// A value that is no schema
    Data,
}

/// Returns the kind of a keyword's value.
pub(super) fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "contentSchema"
        | "not"
        | "if"
        | "then"
        | "else" => Holds::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Holds::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions"
        | "defs" => Holds::Named,
        _ => Holds::Data,
    }
}

/// Whether a keyword contains schemas for reference only.
pub(super) fn holds_definitions(keyword: &str) -> bool {
    matches!(keyword, "$defs" | "definitions" | "defs")
}

/// Returns the types that a keyword applies to; empty if it applies to all.
pub(super) fn applies_to(keyword: &str) -> &'static [&'static str] {
    match keyword {
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas"
        | "propertyOrdering" => &["object"],
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains"
        | "minContains" | "maxContains" | "minItems" | "maxItems" | "uniqueItems" => &["array"],
        "minLength" | "maxLength" | "pattern" | "contentEncoding" | "contentMediaType"
        | "contentSchema" => &["string"],
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            &["number", "integer"]
        }
        _ => &[],
    }
}

/// Whether a keyword constrains values, and is not an annotation.
pub(super) fn restricts(keyword: &str) -> bool {
    !applies_to(keyword).is_empty()
        || matches!(
            keyword,
            "type"
                | "enum"
                | "const"
                | "format"
                | "anyOf"
                | "oneOf"
                | "allOf"
                | "not"
                | "if"
                | "then"
                | "else"
                | "$ref"
                | "$dynamicRef"
                | "$recursiveRef"
                | "ref"
        )
}

/// Whether a dropped keyword is worth a phrase in the description.
pub(super) fn is_worth_saying(keyword: &str) -> bool {
    restricts(keyword) && keyword != "propertyOrdering"
        || matches!(keyword, "default" | "examples" | "example" | "deprecated")
}

/// JSON Schema's types.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Returns the type of a name, in any case (Gemini's `OpenAPI` has `STRING`).
pub(super) fn type_named(name: &str) -> Option<&'static str> {
    TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// The type of a value.
pub(super) fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Number(number) if !number.as_str().contains(['.', 'e', 'E']) => "integer",
        other => other.kind(),
    }
}

/// The pointer of a member.
pub(super) fn step(at: &str, key: &str) -> String {
    let key = escape(key);
    [at, "/", key.as_ref()].concat()
}

/// Maximum number of members for which comparing each key is faster than hashing.
const MAX_SCANNED_MEMBERS: usize = 16;

/// Returns the members of an object, only the last of repeated keys.
pub(super) fn distinct(object: &Object) -> Vec<(&str, &Json)> {
    let mut places = HashMap::new();
    let mut members: Vec<(&str, &Json)> = Vec::with_capacity(object.len());
    for (key, value) in object.iter() {
        let place = if object.len() <= MAX_SCANNED_MEMBERS {
            members.iter().position(|(own, _)| *own == key)
        } else {
            places.insert(key, places.get(key).copied().unwrap_or(members.len()))
        };
        match place.and_then(|place| members.get_mut(place)) {
            Some(member) => member.1 = value,
            None => members.push((key, value)),
        }
    }
    members
}

/// Visits all subschemas of a schema, itself first.
pub(super) fn visit<'s>(schema: &'s Json, at: &str, see: &mut dyn FnMut(&'s Object, &str)) {
    let Json::Object(object) = schema else { return };
    see(object, at);
    for (key, value) in object.iter() {
        let at = step(at, key);
        match (holds(key), value) {
            (Holds::Schema, Json::Object(_)) => visit(value, &at, see),
            (Holds::Schema | Holds::Schemas, Json::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    visit(item, &format!("{at}/{index}"), see);
                }
            }
            (Holds::Named, Json::Object(named)) => {
                for (name, item) in named.iter() {
                    visit(item, &step(&at, name), see);
                }
            }
            _ => {}
        }
    }
}

/// Like [`visit`], for modification.
pub(super) fn visit_mut(schema: &mut Json, at: &str, see: &mut dyn FnMut(&mut Object, &str)) {
    let Json::Object(object) = schema else { return };
    see(object, at);
    for (key, value) in object.iter_mut() {
        let at = step(at, key);
        match (holds(key), value) {
            (Holds::Schema, value @ Json::Object(_)) => visit_mut(value, &at, see),
            (Holds::Schema | Holds::Schemas, Json::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    visit_mut(item, &format!("{at}/{index}"), see);
                }
            }
            (Holds::Named, Json::Object(named)) => {
                for (name, item) in named.iter_mut() {
                    visit_mut(item, &step(&at, name), see);
                }
            }
            _ => {}
        }
    }
}

/// Converts the type `integer` to `number`, for targets that require it.
pub(super) fn integers(schema: &mut Json, changes: &mut Changes) {
    visit_mut(schema, "", &mut |object, at| {
        let Some(kind) = object.get_mut("type") else { return };
        let found = match kind {
            Json::String(name) => to_number(name),
            Json::Array(names) => {
                let mut found = false;
                let mut numbers = 0;
                names.retain_mut(|name| {
                    let Json::String(name) = name else { return true };
                    found |= to_number(name);
                    numbers += usize::from(name.eq_ignore_ascii_case("number"));
                    !found || numbers < 2 || !name.eq_ignore_ascii_case("number")
                });
                found
            }
            _ => false,
        };
        if found {
            changes.push(
                &step(at, "type"),
                "integer became number",
                "the target has no type for whole numbers",
                Severity::Major,
            );
        }
    });
}

fn to_number(name: &mut Text) -> bool {
    let replacement = match name.as_str() {
        "integer" => "number",
        "INTEGER" => "NUMBER",
        _ => return false,
    };
    *name = replacement.into();
    true
}
