//! Tool definitions, nested as in OpenAI Chat. There is no tool choice.

use toolwright_core::{Tool, ToolKind};
use toolwright_json::{Json, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result};
use crate::dialect::shape;

/// Decodes an element of `tools`.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    let kind = wire.get("type").and_then(Json::as_str);
    if wire.get("function").is_some() || matches!(kind, None | Some("function" | "custom")) {
        return shape::decode_nested(wire, path, DIALECT);
    }
    let fields = Fields::new(wire.clone(), path, DIALECT)?;
    let name = fields.tag("name").or(kind).unwrap_or_default().to_owned();
    Ok(Tool { name, origin: fields.origin(), kind: ToolKind::Hosted(wire), ..Tool::default() })
}

/// Encodes an element of `tools`.
pub(super) fn encode(tool: &Tool) -> Json {
    let parameters = match &tool.kind {
        ToolKind::Hosted(wire) => return wire.clone(),
        ToolKind::Function(parameters) => parameters.as_ref(),
        ToolKind::Custom(_) => None,
    };
    let mut function = object! {"name": tool.name.as_str()};
    function.insert_some("description", tool.description.as_deref());
    function.insert_some("parameters", parameters.cloned());
    // The server ignores these; they are returned to clients that sent them.
    function.insert_some("strict", tool.strict);
    function.insert_some("output_schema", tool.output.clone());
    shape::encode_nested(function, &tool.extra, DIALECT)
}
