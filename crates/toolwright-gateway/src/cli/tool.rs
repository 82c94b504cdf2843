//! A tool's definition in whichever dialect's shape a file has it.

use toolwright_core::{Dialect, Json, Tool};

/// Reads one definition. A list of one is that one.
pub(crate) fn read(definition: Json) -> Result<Tool, String> {
    let definition = match definition {
        Json::Array(mut list) if list.len() == 1 => list.pop().unwrap_or_default(),
        Json::Array(list) => return Err(format!("{} tools, where one is wanted", list.len())),
        other => other,
    };
    // Gemini's declarations are told by their keys, or by types in capitals; the other shapes are
    // told apart by every codec.
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
    let read = dialect.tool_codec().decode_tool(definition);
    read.map_err(|error| format!("not a tool: {error}"))
}
