//! Tool definitions and tool choice.

use super::wire::DIALECT;
use crate::dialect::{DecodeError, Fields, shape};
use crate::json::{Json, Object, Path};
use crate::object;
use crate::tool::{Tool, ToolChoice, ToolKind};

/// Reads an element of `tools`.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool, DecodeError> {
    let kind = wire.get("type").and_then(Json::as_str);
    if !matches!(kind, None | Some("function" | "custom")) {
        return hosted(wire, path);
    }
    if wire.pointer("/function/parameters").is_none() {
        return shape::decode(wire, path, DIALECT);
    }
    let mut outer = Fields::new(wire, path, DIALECT)?;
    let mut fields = Fields::new(outer.need("function")?, path.key("function"), DIALECT)?;
    outer.take("type");
    let outer = outer.into_object();
    if !outer.is_empty() {
        fields.put_back("@outer", outer);
    }
    Ok(Tool {
        name: fields.need_string("name")?,
        description: fields.string("description")?,
        kind: ToolKind::Function(fields.take("parameters")),
        strict: fields.boolean("strict")?,
        origin: fields.origin(),
        extra: fields.rest(),
        ..Tool::default()
    })
}

/// A tool that Mistral runs: `image_generation`, `document_library`, `connector`, …
fn hosted(wire: Json, path: Path<'_>) -> Result<Tool, DecodeError> {
    let mut fields = Fields::new(wire.clone(), path, DIALECT)?;
    let name = fields.need_string("type")?;
    Ok(Tool { name, kind: ToolKind::Hosted(wire), origin: fields.origin(), ..Tool::default() })
}

/// Writes an element of `tools`.
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
    tool.extra.write_into(DIALECT, &mut function);
    let mut object = object! {"type": "function", "function": function};
    if let Some(Json::Object(outer)) = tool.extra.get(DIALECT, "@outer") {
        object.merge(outer);
    }
    Json::Object(object)
}

/// Reads `tool_choice`.
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

/// Writes `tool_choice`; `required` is the word that the client used where `any` is the usual one.
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
