//! Adds handles to the schema that the model receives: a parameter that takes an array or an object
//! also accepts a handle.
//!
//! Handles are resolved in every argument; the schema informs the model, and vendors that enforce
//! the schema. Since it costs tokens in every request, the hint is added only once, and only to
//! parameters that take an array or an object and no string: numbers and booleans are shorter than
//! a handle, and nested values are passed with their parameter.
//!
//! The form of a handle is in the description and not in a `pattern`, because a pattern is a loss
//! for vendors that do not support it, and handles are checked when they are resolved.

use toolwright_core::schema::expand;
use toolwright_core::{Json, Tool, ToolKind, object};
use toolwright_json::{JsonText, Key, Object};

/// The hint for models.
const HINT: &str = "Or a handle from an earlier result: tw:…";

/// Returns the definition for models of a tool whose arguments may be handles. Its schema is kept as text, because most
/// copies are only written.
pub(crate) fn admit_in(tool: &Tool) -> Tool {
    let mut tool = tool.clone();
    if let ToolKind::Function(Some(schema)) = &mut tool.kind {
        *schema = JsonText::of(&admit(schema)).to_json();
    }
    tool
}

/// Returns the schema for models. Equal schemas give equal bytes.
pub fn admit(schema: &Json) -> Json {
    parameters(schema, schema)
}

/// Adds the hint to the description of a parameter, whatever its type.
pub fn add_hint(schema: &mut Json, parameter: &str) {
    let properties = schema.as_object_mut().and_then(|own| own.get_mut("properties"));
    let own = properties.and_then(Json::as_object_mut).and_then(|own| own.get_mut(parameter));
    if let Some(own) = own.and_then(Json::as_object_mut) {
        let hint = match own.get("description").and_then(Json::as_str) {
            Some(description) => format!("{description} {HINT}"),
            None => HINT.to_owned(),
        };
        own.insert("description", hint);
    }
}

/// Adds handles to the members of a schema.
fn parameters(root: &Json, schema: &Json) -> Json {
    let Json::Object(object) = schema else { return schema.clone() };
    let member = |(key, value): (&str, &Json)| -> (Key, Json) {
        let value = match (key, value) {
            ("properties", Json::Object(members)) => {
                let parameter =
                    |(name, value): (&str, &Json)| (name.to_owned().into(), parameter(root, value));
                Json::Object(members.iter().map(parameter).collect())
            }
            ("anyOf" | "oneOf" | "allOf", Json::Array(members)) => {
                Json::Array(members.iter().map(|member| parameters(root, member)).collect())
            }
            _ => value.clone(),
        };
        (key.to_owned().into(), value)
    };
    Json::Object(object.iter().map(member).collect())
}

/// Adds a handle to the schema of a parameter that takes data.
fn parameter(root: &Json, schema: &Json) -> Json {
    let Json::Object(object) = schema else { return schema.clone() };
    if !takes_data(root, schema) {
        return schema.clone();
    }
    // Annotations of the parameter stay where they were.
    let (mut out, mut form) = (Object::new(), Object::new());
    for (key, value) in object.clone() {
        let is_about = matches!(key.as_ref(), "title" | "description" | "default");
        if is_about { &mut out } else { &mut form }.push(key, value);
    }
    let mut branches = match form.remove("anyOf") {
        Some(Json::Array(branches)) if form.is_empty() => branches,
        union => {
            form.insert_some("anyOf", union);
            vec![Json::Object(form)]
        }
    };
    branches.push(object! {"type": "string", "description": HINT}.into());
    out.push("anyOf", branches);
    Json::Object(out)
}

/// Whether the types of a parameter include arrays or objects, and no strings.
fn takes_data(root: &Json, schema: &Json) -> bool {
    let mut takes = false;
    for schema in expand(root, vec![schema]) {
        let types: Vec<&str> = match schema.get("type") {
            Some(Json::String(one)) => vec![one.as_str()],
            Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        let is_listed = schema.get("enum").is_some() || schema.get("const").is_some();
        if types.contains(&"string") || is_listed {
            return false;
        }
        takes |= types.iter().any(|name| matches!(*name, "array" | "object"));
    }
    takes
}
