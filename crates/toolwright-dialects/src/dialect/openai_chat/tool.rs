//! Tool definitions and tool choice.

use toolwright_core::{Extra, Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, flatten, nest};
use super::{Quirks, ToolShape};
use crate::codec::{DecodeError, Fields, Result};
use crate::dialect::shape;

/// Decodes an element of `tools`, nested or flat (case 11).
pub(super) fn decode(mut wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Tool> {
    let dialect = quirks.dialect;
    let is_custom = match wire.get("type").and_then(Json::as_str) {
        None | Some("function") => false,
        Some("custom") => true,
        Some(_) => return hosted(wire, path, quirks),
    };
    let cache = wire::take_tool_cache(&mut wire, path);
    let tool = if is_custom && wire.get("custom").is_some() {
        let mut outer = Fields::new(wire, path, dialect)?;
        outer.take("type");
        let tool = custom(outer.need("custom")?, path.key("custom"), quirks)?;
        Tool { extra: wire::beside(tool.extra, outer, quirks), ..tool }
    } else if is_custom && wire.get("input_schema").is_none() {
        custom(wire, path, quirks)?
    } else {
        // Anthropic's functions are of the type `custom`, too.
        shape::decode_nested(wire, path, dialect)?
    };
    Ok(Tool { cache, ..tool })
}

fn custom(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Tool> {
    let mut fields = Fields::new(wire, path, quirks.dialect)?;
    fields.take("type");
    let format = shape::take_format(&mut fields, quirks.dialect)?;
    Ok(Tool {
        name: fields.need_string("name")?,
        description: fields.string("description")?,
        kind: ToolKind::Custom(format),
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Decodes a tool of an unknown type, which never becomes a nameless function (case 12).
fn hosted(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Tool> {
    let mut fields = Fields::new(wire.clone(), path, quirks.dialect)?;
    let kind = fields.string("type")?;
    let name = fields.string("name")?.or(kind).unwrap_or_default();
    Ok(Tool { name, kind: ToolKind::Hosted(wire), origin: fields.origin(), ..Tool::default() })
}

/// Encodes an element of `tools`.
pub(super) fn encode(tool: &Tool, quirks: &Quirks) -> Json {
    let kind = match &tool.kind {
        ToolKind::Hosted(wire) => return wire.clone(),
        ToolKind::Function(_) => "function",
        ToolKind::Custom(_) => "custom",
    };
    let mut wire = wrap(kind, definition(tool), &tool.extra, quirks);
    if let Some(object) = wire.as_object_mut() {
        wire::put_tool_cache(object, tool.cache.as_ref());
    }
    wire
}

/// Wraps as `{"type": kind, kind: {…}}`, or flat if the preset requires it.
fn wrap(kind: &'static str, inner: Object, extra: &Extra, quirks: &Quirks) -> Json {
    let outer = object! {"type": kind};
    Json::Object(match quirks.tool_shape {
        ToolShape::Nested => nest(outer, kind, inner, extra, quirks),
        ToolShape::Flat => flatten(outer, &inner, extra, quirks),
    })
}

/// Encodes an element of the legacy `functions`.
pub(super) fn encode_legacy(tool: &Tool, quirks: &Quirks) -> Json {
    Json::Object(flatten(Object::new(), &definition(tool), &tool.extra, quirks))
}

fn definition(tool: &Tool) -> Object {
    let mut object = object! {"name": tool.name.as_str()};
    object.insert_some("description", tool.description.as_deref());
    match &tool.kind {
        ToolKind::Custom(format) => object.insert_some("format", format.clone()),
        _ => object.insert_some("parameters", tool.parameters().cloned()),
    }
    object.insert_some("strict", tool.strict);
    object.insert_some("output_schema", tool.output.clone());
    object
}

/// Decodes `tool_choice` or the legacy `function_call`.
pub(super) fn decode_choice(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<ToolChoice> {
    let choice = match &wire {
        Json::String(word) => match word.as_str() {
            "auto" => Some(ToolChoice::Auto),
            "none" => Some(ToolChoice::None),
            "required" => Some(ToolChoice::Required),
            _ => None,
        },
        Json::Object(object) => reference(object).map(ToolChoice::Tool).or_else(|| allowed(object)),
        _ => return Err(DecodeError::expected(quirks.dialect, &path, "a string or an object")),
    };
    Ok(choice.unwrap_or(ToolChoice::Other(wire)))
}

/// Returns the name in `{"type": kind, kind: {"name"}}`, `{"type": kind, "name"}`, `{"function":
/// {"name"}}` or `{"name"}`.
fn reference(object: &Object) -> Option<String> {
    let kind = match object.get("type") {
        Some(kind) => kind.as_str().filter(|kind| matches!(*kind, "function" | "custom"))?,
        None => match object.get("function").and_then(Json::as_object) {
            Some(inner) if object.len() == 1 => return sole(inner, 1),
            _ => return sole(object, 1),
        },
    };
    match object.get(kind) {
        Some(inner) if object.len() == 2 => sole(inner.as_object()?, 1),
        Some(_) => None,
        None => sole(object, 2),
    }
}

/// Returns the name in an object with at most `len` members.
fn sole(object: &Object, len: usize) -> Option<String> {
    let name = object.get("name").and_then(Json::as_str).filter(|_| object.len() == len);
    name.map(str::to_owned)
}

fn allowed(object: &Object) -> Option<ToolChoice> {
    object.get("type").filter(|kind| kind.as_str() == Some("allowed_tools"))?;
    let (own, len) = match object.get("allowed_tools") {
        Some(inner) => (inner.as_object().filter(|_| object.len() == 2)?, 2),
        None => (object, 3),
    };
    let required = match own.get("mode")?.as_str()? {
        "auto" => false,
        "required" => true,
        _ => return None,
    };
    let tools = own.get("tools")?.as_array().filter(|_| own.len() == len)?;
    let names = tools.iter().map(|tool| reference(tool.as_object()?)).collect::<Option<_>>()?;
    Some(ToolChoice::Allowed { names, required })
}

/// Encodes `tool_choice`; the tools determine which names are of custom ones.
pub(super) fn encode_choice(choice: ToolChoice, tools: &[Tool], quirks: &Quirks) -> Json {
    let refer = |name: String| refer(name, tools, quirks);
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => refer(name),
        ToolChoice::Allowed { names, required } => {
            let mode = if required { "required" } else { "auto" };
            let names: Vec<Json> = names.into_iter().map(refer).collect();
            let inner = object! {"mode": mode, "tools": names};
            wrap("allowed_tools", inner, &Extra::NONE, quirks)
        }
        ToolChoice::Other(wire) => wire,
    }
}

/// Encodes the legacy `function_call`.
pub(super) fn encode_legacy_choice(choice: ToolChoice, quirks: &Quirks) -> Json {
    match choice {
        ToolChoice::Tool(name) => Json::Object(object! {"name": name}),
        choice => encode_choice(choice, &[], quirks),
    }
}

fn refer(name: String, tools: &[Tool], quirks: &Quirks) -> Json {
    let custom = |tool: &Tool| tool.name == name && matches!(tool.kind, ToolKind::Custom(_));
    let kind = if tools.iter().any(custom) { "custom" } else { "function" };
    wrap(kind, object! {"name": name}, &Extra::NONE, quirks)
}
