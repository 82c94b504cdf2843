//! Finds the schemas that apply to a position in a value, through properties, items, local references and
//! unions. The check decides what is accepted; this is for hints, and for proofs of what cannot be.

use toolwright_json::pointer::segments;
use toolwright_json::{Json, Object, object};

/// Maximum number of schemas for one position, which bounds nested unions.
const MAX: usize = 64;

/// What a schema says about the value at a JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// A schema that accepts at least every value that can be there
    Schema(Json),
    /// There is no such value
    Missing {
        /// The member or item that is missing
        segment: String,
        /// The members of the value that lacks it
        names: Vec<String>,
    },
    /// Anything
    Unknown,
}

/// Returns the schemas for the value at a JSON Pointer.
pub fn schemas_at<'s>(root: &'s Json, pointer: &str) -> Vec<&'s Json> {
    let mut here = expand(root, vec![root]);
    for segment in segments(pointer) {
        let below = here.iter().filter_map(|schema| step(schema, &segment)).collect();
        here = expand(root, below);
    }
    here
}

/// Adds the schemas that these refer to or combine.
pub fn expand<'s>(root: &'s Json, mut schemas: Vec<&'s Json>) -> Vec<&'s Json> {
    let mut next = 0;
    while let Some(schema) = schemas.get(next).copied() {
        next += 1;
        let target = schema
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|name| root.pointer(name.strip_prefix('#')?));
        let unions = ["anyOf", "oneOf", "allOf"].into_iter();
        let members = unions.filter_map(|keyword| schema.get(keyword)?.as_array()).flatten();
        for found in target.into_iter().chain(members) {
            if schemas.len() < MAX && !schemas.iter().any(|known| std::ptr::eq(*known, found)) {
                schemas.push(found);
            }
        }
    }
    schemas
}

/// Returns the schema of a member or an item.
fn step<'s>(schema: &'s Json, segment: &str) -> Option<&'s Json> {
    let member = schema.get("properties").and_then(|properties| properties.get(segment));
    let item = || {
        let index: usize = segment.parse().ok()?;
        schema.get("prefixItems")?.as_array()?.get(index)
    };
    member
        .or_else(item)
        .or_else(|| schema.get("items").filter(|_| segment.parse::<usize>().is_ok()))
        .or_else(|| schema.get("additionalProperties"))
}

/// Determines what a schema says about the value at a JSON Pointer. A schema with `properties` counts as
/// complete unless it says that there are others.
pub fn locate(root: &Json, pointer: &str) -> Located {
    let mut here = vec![root];
    for segment in segments(pointer) {
        let schemas = expand(root, here);
        // Combinations and references are represented by what they expand to.
        let plain = schemas.iter().filter(|schema| !is_combination(schema));
        let mut below = Vec::new();
        // A reference to elsewhere, or one that cannot be resolved, may accept anything.
        if schemas.iter().any(|schema| is_foreign(root, schema)) {
            return Located::Unknown;
        }
        for schema in plain {
            match step(schema, &segment) {
                Some(Json::Bool(false)) => {}
                Some(found) => below.push(found),
                None if is_open(schema, &segment) => return Located::Unknown,
                None => {}
            }
        }
        if below.is_empty() || schemas.len() >= MAX {
            let names = schemas.iter().filter_map(|schema| schema.get("properties")?.as_object());
            let names = names.flat_map(Object::keys).map(str::to_owned).collect();
            return match schemas.len() {
                MAX.. => Located::Unknown,
                _ => Located::Missing { segment: segment.into_owned(), names },
            };
        }
        here = below;
    }
    let mut schema = match here[..] {
        [Json::Object(only)] => only.clone(),
        [only] => return Located::Schema(only.clone()),
        _ => object! {"anyOf": here.into_iter().cloned().collect::<Vec<Json>>()},
    };
    for keyword in ["$defs", "definitions"] {
        if let (Some(definitions), None) = (root.get(keyword), schema.get(keyword)) {
            schema.insert(keyword, definitions.clone());
        }
    }
    Located::Schema(schema.into())
}

/// Whether a schema refers to something outside of the document.
fn is_foreign(root: &Json, schema: &Json) -> bool {
    let Some(reference) = schema.get("$ref") else { return false };
    let target = reference.as_str().and_then(|name| root.pointer(name.strip_prefix('#')?));
    target.is_none()
}

/// Whether a schema only combines others.
fn is_combination(schema: &Json) -> bool {
    let has = |keyword| schema.get(keyword).is_some();
    ["$ref", "anyOf", "oneOf", "allOf"].into_iter().any(has) && !has("properties") && !has("items")
}

/// Whether a schema that says nothing about a member or item allows any value for it.
fn is_open(schema: &Json, segment: &str) -> bool {
    let Json::Object(schema) = schema else { return *schema != Json::Bool(false) };
    let has = |keyword| schema.contains_key(keyword);
    let allows = |name: &str| match schema.get("type") {
        None => true,
        Some(Json::Array(types)) => types.iter().any(|own| own.as_str() == Some(name)),
        Some(own) => own.as_str() == Some(name),
    };
    let is_index = segment.parse::<usize>().is_ok();
    has("patternProperties")
        || has("$dynamicRef")
        // A text may be JSON.
        || schema.get("type").is_some_and(|own| own.as_str() == Some("string"))
        || allows("object")
            && !has("properties")
            && schema.get("additionalProperties") != Some(&Json::Bool(false))
        || is_index && allows("array") && schema.get("items") != Some(&Json::Bool(false))
}
