//! Schemas inside of other documents, where references that begin with `#` start at another root.

use toolwright_core::wire_json;
use toolwright_json::Json;

use crate::plan::stored::below;

/// Moves a schema to a place of another document: `#/…` becomes `#` + place + `/…`.
pub(super) fn embed(schema: &Json, place: &str) -> Json {
    rewrite(schema, &|reference| Some(format!("#{place}{}", below(reference, "#")?)))
}

/// Takes a schema out of a place of another document: the reverse of [`embed`].
pub(super) fn extract(schema: &Json, place: &str) -> Json {
    rewrite(schema, &|reference| Some(format!("#{}", below(reference.strip_prefix('#')?, place)?)))
}

/// Rewrites the references of a schema. With an `$id`, they do not start at the root of the document, and
/// stay.
pub(super) fn rewrite(schema: &Json, change: &dyn Fn(&str) -> Option<String>) -> Json {
    if has_id(schema) { schema.clone() } else { rewrite_all(schema, change) }
}

fn rewrite_all(schema: &Json, change: &dyn Fn(&str) -> Option<String>) -> Json {
    match schema {
        Json::Array(items) => {
            Json::Array(items.iter().map(|item| rewrite_all(item, change)).collect())
        }
        Json::Object(members) => {
            let member = |(name, value): (&str, &Json)| {
                let changed = match value {
                    Json::String(reference) if name == "$ref" => change(reference),
                    _ => None,
                };
                let value = changed.map_or_else(|| rewrite_all(value, change), Json::from);
                (wire_json::key(name), value)
            };
            Json::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

fn has_id(schema: &Json) -> bool {
    match schema {
        Json::Array(items) => items.iter().any(has_id),
        Json::Object(members) => {
            members.contains_key("$id") || members.iter().any(|(_, value)| has_id(value))
        }
        _ => false,
    }
}
