//! `toolConfig`: tool definitions and tool choice.

use toolwright_core::{Origin, Request, Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, DIALECT};
use crate::codec::{Fields, Result};
use crate::dialect::shape;

/// Decodes `toolConfig`.
pub(super) fn decode_config(fields: &mut Fields<'_>, request: &mut Request) -> Result<()> {
    let Some(wire) = fields.take("toolConfig") else { return Ok(()) };
    let path = Path::ROOT.key("toolConfig");
    let mut own = Fields::new(wire, path, DIALECT)?;
    request.tools = decode_all(own.array("tools")?, path.key("tools"))?;
    if let Some(choice) = own.take("toolChoice") {
        request.tool_choice = Some(decode_choice(choice, path.key("toolChoice"))?);
    }
    fields.put_back_rest("toolConfig", own.into_object());
    Ok(())
}

/// Decodes `tools`. A cache breakpoint belongs to the definition before it.
pub(super) fn decode_all(items: Vec<Json>, path: Path<'_>) -> Result<Vec<Tool>> {
    let mut tools: Vec<Tool> = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let path = path.index(index);
        match (tools.last_mut(), wire::decode_cache(&item, path)) {
            (Some(tool), Some(cache)) if tool.cache.is_none() => tool.cache = Some(cache),
            _ => tools.push(decode(item, path)?),
        }
    }
    Ok(tools)
}

/// Decodes an element of `tools`.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    if wire.get("toolSpec").is_none() && (wire.get("name").or(wire.get("function"))).is_some() {
        return shape::decode(wire, path, DIALECT);
    }
    let (kind, own) = wire::member(wire.clone(), path)?;
    if kind != "toolSpec" {
        // A system tool by its name; an unknown kind by the kind.
        let name = own.get("name").and_then(Json::as_str).unwrap_or(&kind).to_owned();
        let origin = Origin::at(&path);
        return Ok(Tool { name, kind: ToolKind::Hosted(wire), origin, ..Tool::default() });
    }
    let path = path.key("toolSpec");
    let mut fields = Fields::new(own, path, DIALECT)?;
    let mut schema = Fields::new(fields.need("inputSchema")?, path.key("inputSchema"), DIALECT)?;
    let parameters = schema.need("json")?;
    fields.put_back_rest("inputSchema", schema.into_object());
    Ok(Tool {
        name: fields.need_string("name")?,
        description: fields.string("description")?,
        kind: ToolKind::Function(Some(parameters)),
        strict: fields.boolean("strict")?,
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Encodes `tools`, each cache breakpoint after its definition.
pub(super) fn encode_all(tools: &[Tool]) -> Vec<Json> {
    let mut items = Vec::new();
    for tool in tools {
        items.push(encode(tool));
        items.extend(tool.cache.as_ref().map(wire::encode_cache));
    }
    items
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
    let mut object = object! {"name": tool.name.as_str()};
    // The SDK refuses an empty one.
    object.insert_some("description", tool.description.as_deref().filter(|own| !own.is_empty()));
    object.insert("inputSchema", object! {"json": parameters});
    object.insert_some("strict", tool.strict);
    tool.extra.write_into(DIALECT, &mut object);
    wire::union("toolSpec", object)
}

fn decode_choice(wire: Json, path: Path<'_>) -> Result<ToolChoice> {
    let (kind, own) = wire::member(wire.clone(), path)?;
    let path = path.key(&kind);
    let mut fields = Fields::new(own, path, DIALECT)?;
    let name = if kind == "tool" { Some(fields.need_string("name")?) } else { None };
    let known = fields.into_extra().is_empty();
    Ok(match (kind.as_ref(), name) {
        ("auto", _) if known => ToolChoice::Auto,
        ("any", _) if known => ToolChoice::Required,
        ("tool", Some(name)) if known => ToolChoice::Tool(name),
        _ => ToolChoice::Other(wire),
    })
}

/// Encodes `toolConfig`; none if no tool may be called. There is no choice that forbids calls, so
/// omitting it enforces the restriction independently of [`fit`](crate::fit).
pub(super) fn encode_config(tools: &[Tool], choice: Option<ToolChoice>) -> Option<Object> {
    if tools.is_empty() || choice == Some(ToolChoice::None) {
        return None;
    }
    let mut object = object! {"tools": encode_all(tools)};
    let choice = choice.map(|choice| match choice {
        ToolChoice::Required | ToolChoice::Allowed { required: true, .. } => {
            wire::union("any", Object::new())
        }
        ToolChoice::Tool(name) => wire::union("tool", object! {"name": name}),
        ToolChoice::Other(wire) => wire,
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Allowed { .. } => {
            wire::union("auto", Object::new())
        }
    });
    object.insert_some("toolChoice", choice);
    Some(object)
}
