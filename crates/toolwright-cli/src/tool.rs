//! Reads tool definitions in the form of any dialect.

use toolwright_core::{Dialect, Json, Tool};
use toolwright_dialects::dialect;

/// Reads one definition, or a list of one.
pub(crate) fn read(definition: Json) -> Result<Tool, String> {
    let definition = match definition {
        Json::Array(mut list) if list.len() == 1 => list.pop().unwrap_or_default(),
        Json::Array(list) => return Err(format!("{} tools, where one is wanted", list.len())),
        other => other,
    };
    decode(definition)
}

/// Reads a list of definitions, one definition, or an object with a list under `tools`.
pub(crate) fn read_all(definitions: Json) -> Result<Vec<Tool>, String> {
    let list = match definitions {
        Json::Array(list) => list,
        Json::Object(mut object) => match object.remove("tools") {
            Some(Json::Array(list)) => list,
            Some(other) => return Err(format!("'tools' is a list, not {}", other.kind())),
            None => vec![object.into()],
        },
        other => vec![other],
    };
    let mut tools = Vec::with_capacity(list.len());
    for (index, definition) in list.into_iter().enumerate() {
        let keys = ["functionDeclarations", "function_declarations"];
        let group = keys.iter().find_map(|key| definition.get(key)?.as_array());
        let single = || std::slice::from_ref(&definition);
        for definition in group.unwrap_or_else(single) {
            let tool = decode(definition.clone());
            tools.push(tool.map_err(|error| format!("/{index}: {error}"))?);
        }
    }
    Ok(tools)
}

fn decode(definition: Json) -> Result<Tool, String> {
    // Gemini's declarations are recognized by their keys or by uppercase types; every codec
    // recognizes the other forms.
    let kind = definition.pointer("/parameters/type").and_then(Json::as_str).unwrap_or_default();
    let capitals = kind.starts_with(|letter: char| letter.is_ascii_uppercase());
    let keys = [
        "functionDeclarations",
        "function_declarations",
        "parametersJsonSchema",
        "parameters_json_schema",
    ];
    let is_gemini = capitals || keys.iter().any(|key| definition.get(key).is_some());
    let dialect = if is_gemini { Dialect::Gemini } else { Dialect::OpenaiChat };
    let read = dialect::tool_codec(dialect).decode_tool(definition);
    read.map_err(|error| format!("not a tool: {error}"))
}
