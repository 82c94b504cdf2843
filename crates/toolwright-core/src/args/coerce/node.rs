//! Looks up what a schema declares at a place: names and listed values.

use toolwright_json::{Json, Object, pointer};

use super::ground::Ground;
use super::mend::Spot;
use crate::schema::Violation;

/// Maximum number of schemas visited for one lookup.
const MAX_SCHEMAS: usize = 256;

/// Returns the pointer of the schema that contains a violated keyword.
pub(super) fn of_keyword(violation: &Violation) -> &str {
    violation.schema_path.rsplit_once('/').map_or("", |(schema, _)| schema)
}

/// Follows a schema that is only a reference; otherwise returns the schema itself.
pub(super) fn target(ground: &Ground<'_>, mut pointer: String) -> String {
    for _ in 0..MAX_SCHEMAS {
        let Some(Json::Object(schema)) = ground.schema.pointer(&pointer) else { break };
        let reference = schema.get("$ref").and_then(Json::as_str).filter(|_| schema.len() == 1);
        let within = reference.and_then(|reference| reference.strip_prefix('#'));
        match within.filter(|within| ground.schema.pointer(within).is_some()) {
            Some(within) => pointer = within.to_owned(),
            None => break,
        }
    }
    pointer
}

/// Returns the values that violated `enum` and `const` keywords list.
pub(super) fn choices<'s>(ground: &Ground<'s>, violations: &[&Violation]) -> Vec<&'s Json> {
    let mut out = Vec::new();
    for violation in violations {
        let listed = ground.schema.pointer(&violation.schema_path);
        match (violation.keyword.as_str(), listed) {
            ("enum", Some(Json::Array(values))) => out.extend(values),
            ("const", Some(value)) => out.push(value),
            _ => {}
        }
    }
    out
}

/// Returns the names that schemas declare as properties.
pub(super) fn properties<'s, 'p>(
    ground: &Ground<'s>,
    schemas: impl Iterator<Item = &'p String>,
) -> Vec<&'s str> {
    let declared = |schema: &'s Json| schema.get("properties").and_then(Json::as_object);
    let names = parts(ground.schema, schemas);
    let mut out: Vec<&str> =
        names.into_iter().filter_map(declared).flat_map(Object::keys).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Returns the names that schemas require.
pub(super) fn required<'s, 'p>(
    ground: &Ground<'s>,
    schemas: impl Iterator<Item = &'p String>,
) -> Vec<&'s str> {
    let asked = |schema: &'s Json| schema.get("required").and_then(Json::as_array);
    let names = parts(ground.schema, schemas);
    let mut out: Vec<&str> =
        names.into_iter().filter_map(asked).flatten().filter_map(Json::as_str).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Whether a member is declared as a property by name.
pub(super) fn declares(ground: &Ground<'_>, spot: &Spot, path: &str) -> bool {
    let Some((parent, name)) = pointer::split_last(path) else { return false };
    let mut here = parts(ground.schema, spot.around.iter().chain(&spot.schemas));
    for step in pointer::segments(parent) {
        here = with_applied_schemas(
            ground.schema,
            here.into_iter().flat_map(|node| below(node, &step)).collect(),
        );
    }
    here.iter().any(|node| node.get("properties").is_some_and(|own| own.get(&name).is_some()))
}

/// Whether an object has a member that its schema, which declares others, does not declare.
pub(in crate::args) fn has_undeclared(schema: &Json, value: &Json) -> bool {
    is_undeclared_within(schema, &with_applied_schemas(schema, vec![schema]), value)
}

fn is_undeclared_within(root: &Json, here: &[&Json], value: &Json) -> bool {
    let inner = |step: &str| {
        let below = here.iter().flat_map(|node| below(node, step));
        with_applied_schemas(root, below.filter(|schema| schema.as_object().is_some()).collect())
    };
    match value {
        Json::Object(object) => {
            let lists = |node: &&Json| {
                node.get("properties").and_then(Json::as_object).is_some_and(|own| !own.is_empty())
            };
            let is_closed = here.iter().any(lists);
            object.iter().any(|(key, item)| {
                let inner = inner(key);
                (is_closed && inner.is_empty()) || is_undeclared_within(root, &inner, item)
            })
        }
        Json::Array(items) => items.iter().enumerate().any(|(index, item)| {
            matches!(item, Json::Object(_) | Json::Array(_))
                && is_undeclared_within(root, &inner(&index.to_string()), item)
        }),
        _ => false,
    }
}

/// Returns the schemas of a member or an item.
fn below<'s>(schema: &'s Json, step: &str) -> impl Iterator<Item = &'s Json> {
    let named = schema.get("properties").and_then(|own| own.get(step));
    let patterned = schema.get("patternProperties").and_then(Json::as_object);
    let listed = schema.get("prefixItems").and_then(Json::as_array);
    let listed = listed.zip(step.parse::<usize>().ok()).and_then(|(list, at)| list.get(at));
    let others = ["items", "additionalProperties", "unevaluatedProperties"];
    let others = others.into_iter().filter_map(|keyword| schema.get(keyword));
    let patterned = patterned.into_iter().flat_map(Object::iter).map(|(_, schema)| schema);
    named.into_iter().chain(listed).chain(others).chain(patterned)
}

/// Returns schemas by their pointers, together with those that they combine.
fn parts<'s, 'p>(root: &'s Json, schemas: impl Iterator<Item = &'p String>) -> Vec<&'s Json> {
    with_applied_schemas(root, schemas.filter_map(|schema| root.pointer(schema)).collect())
}

/// Adds the schemas that these reference or combine.
fn with_applied_schemas<'s>(root: &'s Json, mut out: Vec<&'s Json>) -> Vec<&'s Json> {
    let mut next = 0;
    while next < out.len() && out.len() < MAX_SCHEMAS {
        let schema = out[next];
        next += 1;
        let target =
            schema.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'));
        let referred = target.and_then(|target| root.pointer(target));
        let lists =
            ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        let conditional = ["then", "else"].into_iter().filter_map(|key| schema.get(key));
        for part in lists.flatten().chain(conditional).chain(referred) {
            if !out.iter().any(|known| std::ptr::eq(*known, part)) {
                out.push(part);
            }
        }
    }
    out
}
