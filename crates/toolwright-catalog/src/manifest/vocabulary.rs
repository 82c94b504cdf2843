//! The vocabulary of parameters, files and returns, lowered to JSON Schema.
//!
//! It is JSON Schema with three differences. A property says itself whether it is required
//! (`"required": true`, `"optional": true`), parameters are a list with a `name` each, and files have
//! the types `InputFile` and `OutputFile`, whose values are links.

use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::Node;
use super::function::{FileDirection, FileParameter};

/// Keywords that are kept as they are.
const KEPT: &[&str] = &[
    "title",
    "description",
    "enum",
    "const",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minProperties",
    "maxProperties",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Keywords that are read here.
const READ: &[&str] = &[
    "type",
    "items",
    "properties",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "required",
    "optional",
    "default",
];

const TYPES: &[(&str, &str)] = &[
    ("string", "string"),
    ("number", "number"),
    ("integer", "integer"),
    ("boolean", "boolean"),
    ("array", "array"),
    ("object", "object"),
    ("null", "null"),
    ("InputFile", "string"),
    ("OutputFile", "string"),
];

/// Whether a property that does not say so is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmarked {
    /// Parameters
    Optional,
    /// Returned properties
    Required,
}

/// Lowers the list of parameters to the schema of an object. Returns their names as well.
pub(super) fn parameters(node: &Node<'_>) -> Option<(Object, Vec<String>)> {
    let mut properties = Object::new();
    let mut required: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for item in node.items()? {
        let Some(object) = item.object() else { continue };
        let mut schema = Object::with_capacity(object.len());
        lower_members(&item, object, Unmarked::Optional, Some("name"), &mut schema);
        let is_required = is_required(&item, object).unwrap_or(false);
        let Some(name) = object.get("name") else {
            item.fault_at("/name", "this member is required");
            continue;
        };
        let name = item.below("name", name);
        let Some(text) = name.text_of(1, 128) else { continue };
        if names.contains(&text) {
            name.fault("another parameter has this name");
        }
        if is_required {
            required.push(text.clone());
        }
        properties.push(text.clone(), schema);
        names.push(text);
    }
    let schema = object! {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    };
    Some((schema, names))
}

/// Lowers a schema of the vocabulary.
pub(super) fn lower(node: &Node<'_>, unmarked: Unmarked) -> Json {
    if matches!(node.value, Json::Bool(_)) {
        return node.value.clone();
    }
    let mut schema = Object::new();
    if let Some(object) = node.object() {
        lower_members(node, object, unmarked, None, &mut schema);
    }
    Json::Object(schema)
}

fn lower_members(
    node: &Node<'_>,
    object: &Object,
    unmarked: Unmarked,
    skip: Option<&str>,
    out: &mut Object,
) {
    for (key, value) in object.iter() {
        let here = node.below(key, value);
        match key {
            _ if Some(key) == skip => {}
            "type" => lower_type(&here, out),
            "items" => out.push("items", lower(&here, unmarked)),
            "additionalProperties" => out.push("additionalProperties", lower(&here, unmarked)),
            "properties" => {
                let members = here.members().unwrap_or_default();
                let mut properties = Object::with_capacity(members.len());
                for (name, property) in members {
                    properties.push(name.to_owned(), lower(&property, unmarked));
                }
                out.push("properties", properties);
            }
            "anyOf" | "oneOf" | "allOf" => {
                let items = here.items().unwrap_or_default();
                let schemas: Vec<Json> = items.iter().map(|item| lower(item, unmarked)).collect();
                out.push(key.to_owned(), schemas);
            }
            // A flag belongs to the object around; a list is the keyword of JSON Schema.
            "required" if value.as_array().is_some() => drop(here.texts()),
            "required" | "optional" => drop(here.flag()),
            // Generated manifests write `null` for a parameter without a default.
            "default" if value.is_null() => {}
            "default" => out.push("default", value.clone()),
            _ if KEPT.contains(&key) => out.push(key.to_owned(), value.clone()),
            _ => {
                let known = [READ, KEPT].concat();
                let hint = toolwright_core::suggest(key, known.iter().copied());
                let hint = hint.map(|hint| format!("; did you mean '{hint}'?")).unwrap_or_default();
                here.fault(format!("this is not a keyword of parameters, files and returns{hint}"));
            }
        }
    }
    let required = required_properties(node, object, unmarked);
    if !required.is_empty() {
        out.push("required", required);
    }
}

fn lower_type(node: &Node<'_>, out: &mut Object) {
    let one = |node: &Node<'_>| node.one_of(TYPES).map(Json::from);
    let types = match node.value {
        Json::Array(_) => {
            let types = node.items().unwrap_or_default();
            Some(Json::Array(types.iter().filter_map(one).collect()))
        }
        _ => one(node),
    };
    let Some(types) = types else { return };
    out.push("type", types);
    if file_direction(node.value).is_some() {
        out.push("format", "uri");
    }
}

/// Returns the required properties of an object: those of its list, and those that say so themselves.
fn required_properties(node: &Node<'_>, object: &Object, unmarked: Unmarked) -> Vec<String> {
    let list = object.get("required").and_then(Json::as_array);
    let mut required: Vec<String> =
        list.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect();
    let unmarked = unmarked == Unmarked::Required && list.is_none();
    let properties = object.get("properties").and_then(Json::as_object);
    for (name, property) in properties.into_iter().flat_map(Object::iter) {
        let Some(members) = property.as_object() else { continue };
        let place = node.below("properties", property).below(name, property);
        let is_listed = required.iter().any(|own| own == name);
        if is_required(&place, members).unwrap_or(unmarked) && !is_listed {
            required.push(name.to_owned());
        }
    }
    required
}

/// Whether a property says that it is required; none if it does not say so.
fn is_required(node: &Node<'_>, members: &Object) -> Option<bool> {
    let flag = |key: &str| members.get(key).and_then(Json::as_bool);
    match (flag("required"), flag("optional")) {
        (Some(required), Some(optional)) if required == optional => {
            node.fault("'required' and 'optional' contradict each other");
            None
        }
        (Some(required), _) => Some(required),
        (None, Some(optional)) => Some(!optional),
        (None, None) => None,
    }
}

/// Reads the files of a function.
pub(super) fn files(node: &Node<'_>) -> Option<Vec<FileParameter>> {
    let mut files = Vec::new();
    for (key, declared) in node.members()? {
        // The key is the name of a folder for the function.
        let is_name = (1..=64).contains(&key.len())
            && key.bytes().all(|own| own.is_ascii_alphanumeric() || b"_-".contains(&own));
        if !is_name {
            declared.fault("the key of files has up to 64 letters, digits, '_' and '-'");
            continue;
        }
        let Some(object) = declared.object() else { continue };
        let Json::Object(mut schema) = lower(&declared, Unmarked::Optional) else { continue };
        let alone = object.get("type").and_then(file_direction);
        let items = object.get("items").and_then(|items| items.get("type"));
        let Some(direction) = alone.or_else(|| items.and_then(file_direction)) else {
            declared.fault("a file is an InputFile, an OutputFile, or an array of one of them");
            continue;
        };
        if alone.is_some() {
            // A single file is a list of one link as well.
            let description = schema.remove("description");
            schema = object! {"type": "array", "items": schema, "maxItems": 1_u64};
            schema.insert_some("description", description);
        }
        let is_required = is_required(&declared, object).unwrap_or(false);
        if is_required && !schema.contains_key("minItems") {
            schema.push("minItems", 1_u64);
        }
        files.push(FileParameter {
            key: key.to_owned(),
            direction,
            is_required,
            schema: schema.into(),
        });
    }
    Some(files)
}

fn file_direction(kind: &Json) -> Option<FileDirection> {
    match kind.as_str()? {
        "InputFile" => Some(FileDirection::Input),
        "OutputFile" => Some(FileDirection::Output),
        _ => None,
    }
}

/// Adds the member `files` to the schema of the arguments, if there are input files.
pub(super) fn add_files(schema: &mut Object, files: &[FileParameter]) {
    let inputs = || files.iter().filter(|file| file.direction == FileDirection::Input);
    if inputs().next().is_none() {
        return;
    }
    let mut properties = Object::new();
    for file in inputs() {
        properties.push(file.key.clone(), file.schema.clone());
    }
    let required: Vec<String> =
        inputs().filter(|file| file.is_required).map(|file| file.key.clone()).collect();
    let is_required = !required.is_empty();
    let member = object! {
        "type": "object",
        "description": "Links to files, as a list for each key",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    };
    match schema.get_mut("properties").and_then(Json::as_object_mut) {
        Some(properties) => properties.push("files", member),
        None => schema.insert("properties", object! {"files": member}),
    }
    if is_required {
        match schema.get_mut("required") {
            Some(Json::Array(required)) => required.push("files".into()),
            _ => schema.insert("required", vec!["files"]),
        }
    }
}

/// Compiles a schema of a function, and reports a failure at the place below the function that `origin` returns for the
/// segments of a pointer into the schema.
pub(super) fn compile(schema: &Json, function: &Node<'_>, origin: impl Fn(&[&str]) -> String) {
    use toolwright_core::schema::{Check, SchemaError};
    let Err(error) = Check::compile(schema) else { return };
    let (path, problem) = match &error {
        SchemaError::Invalid { path, reason } => (path.as_str(), reason.clone()),
        SchemaError::Limit { path, reason } => (path.as_str(), format!("the schema {reason}")),
        other => ("", other.to_string()),
    };
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    function.fault_at(&origin(&segments), problem);
}
