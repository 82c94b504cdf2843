//! Tool definitions and tool choice. Strictness is set once, on the request.

use toolwright_core::{Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result};
use crate::dialect::shape;

/// Decodes an element of `tools`.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    let kind = wire.get("type").and_then(Json::as_str);
    if wire.get("function").is_some() || matches!(kind, None | Some("function" | "custom")) {
        let mut tool = shape::decode_nested(wire, path, DIALECT)?;
        // On a tool it has no meaning for this vendor, so it must not become that of the request.
        if let Some(strict) = tool.strict.take() {
            tool.extra.insert(DIALECT, "strict", strict);
        }
        return Ok(tool);
    }
    let fields = Fields::new(wire.clone(), path, DIALECT)?;
    let name = fields.tag("name").or(kind).unwrap_or_default().to_owned();
    Ok(Tool { name, origin: fields.origin(), kind: ToolKind::Hosted(wire), ..Tool::default() })
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
    // The vendor ignores it; it is returned to clients that sent it.
    function.insert_some("output_schema", tool.output.clone());
    shape::encode_nested(function, &tool.extra, DIALECT)
}

/// Decodes `tool_choice`.
pub(super) fn decode_choice(wire: Json) -> ToolChoice {
    match wire.as_str() {
        Some("REQUIRED") => ToolChoice::Required,
        Some("NONE") => ToolChoice::None,
        _ => ToolChoice::Other(wire),
    }
}

/// Encodes `tool_choice`; auto is omitted. For a choice of one tool, [`fit`](crate::fit) has
/// reduced the list to that tool.
pub(super) fn encode_choice(choice: ToolChoice) -> Option<Json> {
    match choice {
        ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => None,
        ToolChoice::None => Some("NONE".into()),
        ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::Allowed { required: true, .. } => {
            Some("REQUIRED".into())
        }
        ToolChoice::Other(wire) => Some(wire),
    }
}

/// Decodes `strict_tools`, which applies to all tools; without tools it stays extra.
pub(super) fn decode_strict(fields: &mut Fields<'_>, tools: &mut [Tool]) -> Result<()> {
    let Some(strict) = fields.boolean("strict_tools")? else { return Ok(()) };
    if tools.is_empty() {
        fields.put_back("strict_tools", strict);
    }
    for tool in tools {
        tool.strict = Some(strict);
    }
    Ok(())
}

/// Encodes `strict_tools`: true if all tools are strict.
pub(super) fn encode_strict(tools: &[Tool]) -> Option<bool> {
    tools.iter().find_map(|tool| tool.strict)?;
    Some(tools.iter().all(|tool| tool.strict == Some(true)))
}
