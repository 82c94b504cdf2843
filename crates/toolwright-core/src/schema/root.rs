//! The root of a schema of parameters: an object, without a union if the target refuses one there.

use std::borrow::Cow;

use toolwright_json::{Json, Object};

use super::change::Changes;
use super::flatten::flattened;
use super::inline::Document;
use super::walk::type_named;
use crate::loss::Severity;

/// Maximum number of schemas that are visited to determine whether an object can match.
pub(super) const OBJECT_FUEL: usize = 256;
/// Why the root must be an object.
pub(super) const OBJECT_ROOT: &str = "parameters are an object";

/// A schema with a normalized root.
pub(super) struct NormalizedRoot<'s> {
    pub(super) schema: Cow<'s, Json>,
    /// Whether its root can be an object; otherwise it is left unchanged.
    pub(super) is_object: bool,
}

/// Normalizes the root of parameters to an object, if possible.
pub(super) fn normalize<'s>(
    schema: &'s Json,
    flatten: bool,
    changes: &mut Changes,
) -> NormalizedRoot<'s> {
    let object_root = |schema| NormalizedRoot { schema, is_object: true };
    let object = match schema {
        Json::Object(object) => object,
        Json::Bool(true) => {
            changes.push("", "became an object", OBJECT_ROOT, Severity::Note);
            let open = toolwright_json::object! { "type": "object", "properties": Object::new() };
            return object_root(Cow::Owned(open.into()));
        }
        _ => {
            changes.push("", "left as it is", "it is no schema of an object", Severity::Major);
            return NormalizedRoot { schema: Cow::Borrowed(schema), is_object: false };
        }
    };
    let document = Document::new(schema);
    let flat = if flatten { flattened(&document, changes) } else { None };
    if flat.is_none() && object.get("type").is_some_and(is_object_name) {
        return object_root(Cow::Borrowed(schema));
    }
    let mut root = flat.unwrap_or_else(|| object.clone());
    let is_object = kind(&mut root, &document, changes);
    NormalizedRoot { schema: Cow::Owned(root.into()), is_object }
}

/// Sets `type` to `object`, if the root is one; returns whether it is.
fn kind(object: &mut Object, document: &Document<'_>, changes: &mut Changes) -> bool {
    match object.get("type") {
        None if !may_be_object(document.root, document, &mut { OBJECT_FUEL }) => {
            changes.push("", "left as it is", "it is no schema of an object", Severity::Major);
            return false;
        }
        None => {
            let empty = object.is_empty();
            let members = std::mem::take(object);
            object.push("type", "object");
            for (key, value) in members {
                object.push(key, value);
            }
            if empty {
                object.push("properties", Object::new());
            }
            changes.push("/type", "added", OBJECT_ROOT, Severity::Note);
        }
        Some(Json::String(name)) if type_named(name) == Some("object") => {}
        Some(Json::Array(names)) if names.iter().any(is_object_name) => {
            let name = names.iter().find(|name| is_object_name(name)).cloned();
            object.insert_some("type", name);
            changes.push("/type", "became object", OBJECT_ROOT, Severity::Note);
        }
        Some(_) => {
            changes.push("/type", "left as it is", OBJECT_ROOT, Severity::Major);
            return false;
        }
    }
    true
}

fn is_object_name(name: &Json) -> bool {
    name.as_str().and_then(type_named) == Some("object")
}

/// Whether an object can match a schema, by its types; true if that takes too long.
pub(super) fn may_be_object(schema: &Json, document: &Document<'_>, fuel: &mut usize) -> bool {
    let Json::Object(object) = schema else { return schema == &Json::Bool(true) };
    if *fuel == 0 {
        return true;
    }
    *fuel -= 1;
    object.iter().all(|(key, value)| match (key, value) {
        ("type", Json::Array(names)) => names.iter().any(is_object_name),
        ("type", name) => is_object_name(name),
        ("enum", Json::Array(values)) => values.iter().any(|value| value.as_object().is_some()),
        ("const", value) => value.as_object().is_some(),
        ("anyOf" | "oneOf", Json::Array(any)) => {
            any.iter().any(|schema| may_be_object(schema, document, fuel))
        }
        ("$ref", Json::String(reference)) => document
            .resolve(reference)
            .is_none_or(|(target, _)| may_be_object(target, document, fuel)),
        _ => true,
    })
}
