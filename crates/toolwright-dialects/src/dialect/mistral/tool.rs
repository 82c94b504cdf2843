//! Tool definitions and tool choice.

use toolwright_core::{Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result};
use crate::dialect::shape;

/// Decodes an element of `tools`.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    let kind = wire.get("type").and_then(Json::as_str);
    if !matches!(kind, None | Some("function" | "custom")) {
        return hosted(wire, path);
    }
    shape::decode_nested(wire, path, DIALECT)
}

/// Decodes a hosted tool: `image_generation`, `document_library`, `connector`, …
fn hosted(wire: Json, path: Path<'_>) -> Result<Tool> {
    let mut fields = Fields::new(wire.clone(), path, DIALECT)?;
    let name = fields.need_string("type")?;
    Ok(Tool { name, kind: ToolKind::Hosted(wire), origin: fields.origin(), ..Tool::default() })
}

/// Encodes an element of `tools`.
pub(super) fn encode(tool: &Tool) -> Json {
    let parameters = match &tool.kind {
        ToolKind::Hosted(wire) => return wire.clone(),
        ToolKind::Function(Some(parameters)) => parameters.clone(),
        ToolKind::Function(None) | ToolKind::Custom(_) => {
            Json::Object(object! {"type": "object", "properties": Object::new()})
        }
    };
    let mut function = object! {"name": tool.name.as_str()};
    function.insert_some("description", tool.description.as_deref());
    function.insert("parameters", parameters);
    function.insert_some("strict", tool.strict);
    // The vendor ignores it; it is returned to clients that sent it.
    function.insert_some("output_schema", tool.output.clone());
    shape::encode_nested(function, &tool.extra, DIALECT)
}

/// Decodes `tool_choice`.
pub(super) fn decode_choice(wire: Json) -> ToolChoice {
    match wire.as_str() {
        Some("auto") => return ToolChoice::Auto,
        Some("none") => return ToolChoice::None,
        Some("any" | "required") => return ToolChoice::Required,
        _ => {}
    }
    let named = object! {"name": wire.pointer("/function/name").cloned()};
    let whole = Json::Object(object! {"type": "function", "function": named});
    match wire.pointer("/function/name").and_then(Json::as_str) {
        Some(name) if wire.same(&whole) => ToolChoice::Tool(name.to_owned()),
        _ => ToolChoice::Other(wire),
    }
}

/// Encodes `tool_choice`; `required` is the client's word if it was not `any`.
pub(super) fn encode_choice(choice: ToolChoice, required: Option<&Json>) -> Json {
    match choice {
        ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required | ToolChoice::Allowed { required: true, .. } => {
            required.cloned().unwrap_or_else(|| "any".into())
        }
        ToolChoice::Tool(name) => {
            Json::Object(object! {"type": "function", "function": object! {"name": name}})
        }
        ToolChoice::Other(wire) => wire,
    }
}
