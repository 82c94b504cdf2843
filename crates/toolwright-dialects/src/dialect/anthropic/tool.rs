//! Tool definitions and tool choice.

mod client;

use toolwright_core::{Request, Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, CLIENT, DIALECT};
use crate::codec::{Fields, Result};
use crate::dialect::shape;

/// Decodes an element of `tools`.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    let kind = wire.get("type").and_then(Json::as_str);
    let own = wire.get("input_schema").is_some();
    if !own && !matches!(kind, None | Some("function" | "custom")) {
        return match client::find(&wire) {
            Some(tool) => client::decode(tool, wire, path),
            None => hosted(wire, path),
        };
    }
    if !own && (kind == Some("function") || shape::has_schema(&wire)) {
        return shape::decode(wire, path, DIALECT);
    }
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let (description, schema) = (fields.string("description")?, fields.take("input_schema"));
    function(fields, description, schema)
}

/// Decodes a tool that the client runs, with its other fields.
fn function(
    mut fields: Fields<'_>,
    description: Option<String>,
    schema: Option<Json>,
) -> Result<Tool> {
    Ok(Tool {
        name: fields.need_string("name")?,
        description,
        kind: ToolKind::Function(schema),
        strict: fields.boolean("strict")?,
        cache: wire::take_cache(&mut fields),
        examples: fields.array("input_examples")?,
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Decodes a hosted tool, by its dated type.
fn hosted(wire: Json, path: Path<'_>) -> Result<Tool> {
    let mut fields = Fields::new(wire.clone(), path, DIALECT)?;
    let kind = fields.string("type")?;
    let name = fields.string("name")?.or(kind).unwrap_or_default();
    Ok(Tool { name, kind: ToolKind::Hosted(wire), origin: fields.origin(), ..Tool::default() })
}

/// Encodes an element of `tools`.
pub(super) fn encode(tool: Tool) -> Json {
    let parameters = match tool.kind {
        ToolKind::Hosted(wire) => return wire,
        ToolKind::Function(Some(parameters)) => parameters,
        ToolKind::Function(None) | ToolKind::Custom(_) => {
            Json::Object(object! {"type": "object", "properties": Object::new()})
        }
    };
    let mut object = object! {"name": tool.name};
    // For a tool that the client runs, the type implies the rest.
    if tool.extra.get(DIALECT, CLIENT).is_none() {
        object.insert_some("description", tool.description);
        object.insert("input_schema", parameters);
    }
    object.insert_some("strict", tool.strict);
    object.insert_filled("input_examples", tool.examples);
    wire::put_cache(&mut object, tool.cache.as_ref());
    tool.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Decodes `tool_choice`, which also contains the switch for parallel calls. Returns its remaining
/// fields.
pub(super) fn decode_choice(wire: Json, path: Path<'_>, request: &mut Request) -> Result<Object> {
    let whole = wire.clone();
    let mut fields = Fields::new(wire, path, DIALECT)?;
    request.parallel = fields.boolean("disable_parallel_tool_use")?.map(|disabled| !disabled);
    let kind = fields.need_string("type")?;
    let name = fields.string("name")?;
    let mut rest = fields.into_object();
    request.tool_choice = Some(match (kind.as_str(), name) {
        ("auto", None) => ToolChoice::Auto,
        ("any", None) => ToolChoice::Required,
        ("none", None) => ToolChoice::None,
        ("tool", Some(name)) => ToolChoice::Tool(name),
        _ => {
            request.parallel = None;
            rest = Object::new();
            ToolChoice::Other(whole)
        }
    });
    Ok(rest)
}

/// Encodes `tool_choice`; none if nothing was set.
pub(super) fn encode_choice(choice: Option<ToolChoice>, parallel: Option<bool>) -> Option<Json> {
    let mut object = match choice {
        None if parallel.is_none() => return None,
        None | Some(ToolChoice::Auto | ToolChoice::Allowed { required: false, .. }) => {
            object! {"type": "auto"}
        }
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => {
            object! {"type": "any"}
        }
        // The switch is not allowed with `none`.
        Some(ToolChoice::None) => return Some(Json::Object(object! {"type": "none"})),
        Some(ToolChoice::Tool(name)) => object! {"type": "tool", "name": name},
        Some(ToolChoice::Other(wire)) => return Some(wire),
    };
    object.insert_some("disable_parallel_tool_use", parallel.map(|parallel| !parallel));
    Some(Json::Object(object))
}
