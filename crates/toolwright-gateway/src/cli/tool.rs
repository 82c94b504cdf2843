//! Reads a tool definition in the form of any dialect.

use toolwright_core::{Dialect, Json, Tool};

/// Reads one definition, or a list of one.
pub(crate) fn read(definition: Json) -> Result<Tool, String> {
    let definition = match definition {
        Json::Array(mut list) if list.len() == 1 => list.pop().unwrap_or_default(),
        Json::Array(list) => return Err(format!("{} tools, where one is wanted", list.len())),
        other => other,
    };
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
    let read = dialect.tool_codec().decode_tool(definition);
    read.map_err(|error| format!("not a tool: {error}"))
}
