//! The definition of a function that clients receive.

use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::function::FILES;

/// Its members.
const SERVED: [&str; 5] = ["name", "description", "parameters", "files", "returns"];

/// Returns the definition for clients: the members as they were written, in their order.
pub(super) fn define(
    written: &Object,
    (input_schema, output_schema): (&Json, Option<&Json>),
    takes_files: bool,
    hidden: &[String],
) -> Json {
    let mut definition = Object::with_capacity(SERVED.len());
    for (key, value) in written.iter() {
        match key {
            "input_schema" => {
                definition.push("parameters", list_parameters(input_schema, takes_files));
                if !is_plain(value) {
                    definition.push("input_schema", value.clone());
                }
            }
            "output_schema" => definition.push("returns", value.clone()),
            key if SERVED.contains(&key) => definition.push(key.to_owned(), value.clone()),
            _ => {}
        }
    }
    if !definition.contains_key("parameters") {
        definition.push("parameters", list_parameters(input_schema, takes_files));
        if !is_plain(input_schema) {
            definition.push("input_schema", input_schema.clone());
        }
    }
    let mut missing = |key: &'static str, value: Option<&Json>| {
        if !definition.contains_key(key) {
            definition.push(key, value.cloned().unwrap_or_else(|| Object::new().into()));
        }
    };
    missing("files", None);
    missing("returns", output_schema);
    let mut definition = Json::Object(definition);
    hide(&mut definition, &|name| hidden.iter().any(|own| own == name));
    definition
}

/// Whether a list of parameters says all that a schema does.
fn is_plain(schema: &Json) -> bool {
    const LISTED: [&str; 7] = [
        "$schema",
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
    ];
    let has_other = |object: &Object| object.keys().any(|key| !LISTED.contains(&key));
    !schema.as_object().is_some_and(has_other)
}

/// Returns the properties of a schema as a list of parameters.
fn list_parameters(schema: &Json, takes_files: bool) -> Json {
    let properties = schema.get("properties").and_then(Json::as_object);
    let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
    let mut parameters: Vec<Json> = Vec::new();
    for (name, property) in properties.into_iter().flat_map(Object::iter) {
        if takes_files && name == FILES {
            continue;
        }
        let mut parameter = object! {"name": name};
        let members = property.as_object().into_iter().flat_map(Object::iter);
        for (key, value) in members.filter(|(key, _)| *key != "name") {
            // The lists of an object's required properties have the place of the flag.
            if key != "required" {
                parameter.push(key.to_owned(), value.clone());
            }
        }
        if required.iter().any(|own| own.as_str() == Some(name)) {
            parameter.push("required", true);
        }
        parameters.push(parameter.into());
    }
    Json::Array(parameters)
}

/// Removes hidden parameters from a definition.
pub(super) fn hide(definition: &mut Json, is_hidden: &dyn Fn(&str) -> bool) {
    let name =
        |parameter: &Json| parameter.get("name").and_then(Json::as_str).is_some_and(is_hidden);
    let hides = |parameters: &Json| parameters.as_array().is_some_and(|all| all.iter().any(name));
    if definition.get("parameters").is_some_and(hides)
        && let Some(Json::Array(parameters)) =
            definition.as_object_mut().and_then(|own| own.get_mut("parameters"))
    {
        parameters.retain(|parameter| !name(parameter));
    }
    if let Some(schema) = definition.as_object_mut().and_then(|own| own.get_mut("input_schema")) {
        hide_properties(schema, is_hidden);
    }
}

/// Removes hidden parameters from a schema of arguments.
pub(super) fn hide_properties(schema: &mut Json, is_hidden: &dyn Fn(&str) -> bool) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        let names: Vec<String> =
            properties.keys().filter(|name| is_hidden(name)).map(str::to_owned).collect();
        for name in names {
            properties.remove(&name);
        }
    }
    if let Some(Json::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !name.as_str().is_some_and(is_hidden));
    }
}
