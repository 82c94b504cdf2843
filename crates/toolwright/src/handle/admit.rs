//! The schema that a model is shown: a parameter that takes an array or an object takes a handle as
//! well.
//!
//! Resolving works in every slot; this is for the model, which should know, and for vendors that
//! hold it to the schema. Since it is paid for in tokens with every request, it is said only where
//! data goes, and once: of a tool's parameters, those that take an array or an object and no
//! string. Numbers and booleans are cheaper to write than to refer to; what is within a parameter
//! is passed with it.
//!
//! The form of a handle is in the description and not a `pattern`: a pattern is a loss for vendors
//! who do not know it, and what is passed is checked here in any case.

use toolwright_core::json::{Key, Object};
use toolwright_core::{Json, object};

use super::slot;

/// What models are told.
const HINT: &str = "Or a handle from an earlier result: tw:…";

/// A tool's schema as models shall see it. The same schema gives the same bytes.
pub fn admit(schema: &Json) -> Json {
    parameters(schema, schema)
}

/// A schema whose members admit handles.
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

/// The schema of a parameter, which admits a handle if it takes data.
fn parameter(root: &Json, schema: &Json) -> Json {
    let Json::Object(object) = schema else { return schema.clone() };
    if !takes_data(root, schema) {
        return schema.clone();
    }
    // What is told about the parameter stays where it was.
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

/// Whether a parameter takes arrays or objects, and no strings, as far as its types say.
fn takes_data(root: &Json, schema: &Json) -> bool {
    let mut takes = false;
    for schema in slot::expand(root, vec![schema]) {
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
