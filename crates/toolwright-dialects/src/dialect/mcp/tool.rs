//! Tool definitions, as elements of `tools/list`.

use toolwright_core::{Tool, ToolKind};
use toolwright_json::{Json, Object, Path, object};

use super::Era;
use super::wire::DIALECT;
use crate::codec::{Fields, Result};
use crate::dialect::shape;

/// Decodes a definition. Icons, execution hints and `_meta` stay extra.
pub(super) fn decode(wire: Json, path: Path<'_>, era: Era) -> Result<Tool> {
    let kind = wire.get("type").and_then(Json::as_str);
    let own = wire.get("inputSchema").is_some();
    if !own && (kind == Some("function") || shape::has_schema(&wire)) {
        return shape::decode(wire, path, DIALECT);
    }
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let output = fields.take("outputSchema");
    if output.as_ref().is_some_and(|schema| !admits(era, schema)) {
        return Err(fields.expected("outputSchema", "a schema of an object"));
    }
    Ok(Tool {
        name: fields.need_string("name")?,
        title: fields.string("title")?,
        description: fields.string("description")?,
        kind: ToolKind::Function(fields.take("inputSchema")),
        output,
        annotations: fields.object("annotations")?,
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Whether an era accepts a schema for results: only objects before 2026-07-28
/// (`docs/dialects/mcp.md#known-quirks`).
fn admits(era: Era, schema: &Json) -> bool {
    era == Era::Stateless || schema.get("type").and_then(Json::as_str) == Some("object")
}

/// Encodes a definition.
pub(super) fn encode(tool: &Tool, era: Era) -> Json {
    let parameters = match &tool.kind {
        ToolKind::Hosted(wire) => return wire.clone(),
        ToolKind::Function(Some(parameters)) => parameters.clone(),
        ToolKind::Function(None) | ToolKind::Custom(_) => {
            Json::Object(object! {"type": "object", "properties": Object::new()})
        }
    };
    let mut object = object! {"name": tool.name.as_str()};
    object.insert_some("title", tool.title.as_deref());
    object.insert_some("description", tool.description.as_deref());
    object.insert("inputSchema", parameters);
    object.insert_some("outputSchema", tool.output.clone().filter(|own| admits(era, own)));
    object.insert_some("annotations", tool.annotations.clone());
    tool.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}
