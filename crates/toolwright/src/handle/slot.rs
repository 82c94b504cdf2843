//! Finds the schemas that apply to a position in the arguments. Used for hints only; the check
//! decides what is accepted.

use toolwright_core::Json;
use toolwright_core::json::pointer::segments;

/// Maximum number of schemas for one position, which bounds nested unions.
const MAX: usize = 64;

/// Returns the schemas for the value at a JSON Pointer that are reached through properties, items,
/// local references and unions.
pub(super) fn at<'s>(root: &'s Json, pointer: &str) -> Vec<&'s Json> {
    let mut here = expand(root, vec![root]);
    for segment in segments(pointer) {
        let below = here.iter().filter_map(|schema| step(schema, &segment)).collect();
        here = expand(root, below);
    }
    here
}

/// Adds the schemas that these refer to or combine.
pub(super) fn expand<'s>(root: &'s Json, mut schemas: Vec<&'s Json>) -> Vec<&'s Json> {
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
