//! Tool definitions and tool choice.

mod client;
mod namespace;

use toolwright_core::tool::split_name;
use toolwright_core::{Tool, ToolChoice, ToolKind};
use toolwright_json::{Json, Object, Path, object};

pub(super) use client::{is_client_search, is_local};
pub(super) use namespace::{decode_all, encode_all};

use super::wire::DIALECT;
use crate::codec::{DecodeError, Fields, Result};
use crate::dialect::shape;

/// Decodes an element of `tools` that is one tool.
pub(super) fn decode_one(wire: Json) -> Result<Tool> {
    let mut tools = Vec::new();
    namespace::decode_element(wire, Path::ROOT, &mut tools)?;
    match (tools.pop(), tools.is_empty()) {
        (Some(tool), true) => Ok(tool),
        _ => Err(DecodeError::expected(DIALECT, &Path::ROOT, "one tool")),
    }
}

/// Decodes an element of `tools`: a flat or a nested function, a custom tool, a tool that the
/// client runs by its type, or a hosted tool.
fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    match wire.get("type").and_then(Json::as_str) {
        None | Some("function") => shape::decode(wire, path, DIALECT),
        Some("custom") => custom(wire, path),
        Some(_) if client::is_client(&wire) => client::decode(wire, path),
        Some(_) => hosted(wire, path),
    }
}

/// Decodes a tool with free text, flat or nested as in Chat.
fn custom(wire: Json, path: Path<'_>) -> Result<Tool> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    fields.take("type");
    if let Some(inner) = fields.take("custom") {
        fields = Fields::new(inner, path.key("custom"), DIALECT)?;
    }
    let format = shape::take_format(&mut fields, DIALECT)?;
    Ok(Tool {
        name: fields.need_string("name")?,
        description: fields.string("description")?,
        kind: ToolKind::Custom(format.map(nested_format)),
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Converts a format to its canonical form: a nested grammar, as in Chat.
fn nested_format(format: Json) -> Json {
    match format {
        Json::Object(mut flat) if !flat.contains_key("grammar") => {
            let Some(kind) = flat.remove("type") else { return Json::Object(flat) };
            let mut format = object! {"type": kind};
            format.insert_filled("grammar", flat);
            Json::Object(format)
        }
        other => other,
    }
}

/// Converts a format to the form of this dialect.
fn flat_format(format: Json) -> Json {
    match format {
        Json::Object(format) => Json::Object(unwrapped(format, "grammar")),
        other => other,
    }
}

/// Replaces an inner object by its members.
fn unwrapped(mut outer: Object, wrapper: &str) -> Object {
    if let Some(Json::Object(inner)) = outer.get(wrapper) {
        let inner = inner.clone();
        outer.remove(wrapper);
        outer.merge(&inner);
    }
    outer
}

/// Decodes a hosted tool, by its type. It never becomes a function (case 12).
fn hosted(wire: Json, path: Path<'_>) -> Result<Tool> {
    let mut fields = Fields::new(wire.clone(), path, DIALECT)?;
    let kind = fields.string("type")?;
    let name = fields.string("name")?.or(kind).unwrap_or_default();
    Ok(Tool { name, kind: ToolKind::Hosted(wire), origin: fields.origin(), ..Tool::default() })
}

/// Encodes the definition of a tool, under its own name. The SDK's type requires the keys
/// `parameters` and `strict`.
fn definition(tool: &Tool) -> Json {
    let (_, name) = split_name(&tool.name);
    let mut object = match &tool.kind {
        ToolKind::Hosted(wire) => return wire.clone(),
        ToolKind::Function(_) => object! {"type": "function", "name": name},
        ToolKind::Custom(_) => object! {"type": "custom", "name": name},
    };
    object.insert_some("description", tool.description.as_deref());
    if let ToolKind::Custom(format) = &tool.kind {
        object.insert_some("format", format.clone().map(flat_format));
    } else {
        object.insert("parameters", tool.parameters().cloned());
        object.insert("strict", tool.strict);
        object.insert_some("output_schema", tool.output.clone());
    }
    tool.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Decodes `tool_choice`; a choice that would be encoded differently stays opaque.
pub(super) fn decode_choice(wire: Json, path: Path<'_>, tools: &[Tool]) -> Result<ToolChoice> {
    let wire = match wire {
        Json::String(_) => wire,
        Json::Object(object) => Json::Object(flat_choice(object)),
        _ => return Err(DecodeError::expected(DIALECT, &path, "a string or an object")),
    };
    let choice = match wire.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required") => Some(ToolChoice::Required),
        _ => named_choice(&wire),
    };
    let choice = choice.map(|choice| qualified(choice, tools));
    let known = choice.filter(|choice| encode_choice(choice, tools).same(&wire));
    Ok(known.unwrap_or(ToolChoice::Other(wire)))
}

/// Converts a choice to the form of this dialect, from flat or nested as in Chat (case 11).
fn flat_choice(mut choice: Object) -> Object {
    for wrapper in ["function", "custom", "allowed_tools"] {
        choice = unwrapped(choice, wrapper);
    }
    if let Some(Json::Array(tools)) = choice.get_mut("tools") {
        for tool in tools.iter_mut().filter_map(Json::as_object_mut) {
            *tool = flat_choice(std::mem::take(tool));
        }
    }
    choice
}

fn named_choice(wire: &Json) -> Option<ToolChoice> {
    let name = |wire: &Json| wire.get("name").and_then(Json::as_str).map(str::to_owned);
    match wire.get("type").and_then(Json::as_str)? {
        "function" | "custom" => name(wire).map(ToolChoice::Tool),
        "allowed_tools" => {
            let names = wire.get("tools")?.as_array()?.iter().map(name).collect::<Option<_>>()?;
            let required = wire.get("mode").and_then(Json::as_str) == Some("required");
            Some(ToolChoice::Allowed { names, required })
        }
        _ => None,
    }
}

/// Resolves the names in a choice: there is no namespace here, so a tool in a namespace is meant by
/// its own name if no other tool has it.
fn qualified(choice: ToolChoice, tools: &[Tool]) -> ToolChoice {
    let find = |name: String| {
        let mut own =
            tools.iter().filter(|tool| tool.name == name || split_name(&tool.name).1 == name);
        match (own.next(), own.next()) {
            (Some(tool), None) => tool.name.clone(),
            _ => name,
        }
    };
    match choice {
        ToolChoice::Tool(name) => ToolChoice::Tool(find(name)),
        ToolChoice::Allowed { names, required } => {
            ToolChoice::Allowed { names: names.into_iter().map(find).collect(), required }
        }
        choice => choice,
    }
}

/// Encodes `tool_choice`. The words depend on which tools are custom.
pub(super) fn encode_choice(choice: &ToolChoice, tools: &[Tool]) -> Json {
    let named = |name: &String| {
        let custom = |tool: &Tool| tool.name == *name && matches!(tool.kind, ToolKind::Custom(_));
        let kind = if tools.iter().any(custom) { "custom" } else { "function" };
        Json::Object(object! {"type": kind, "name": split_name(name).1})
    };
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => named(name),
        ToolChoice::Allowed { names, required } => Json::Object(object! {
            "type": "allowed_tools",
            "mode": if *required { "required" } else { "auto" },
            "tools": Json::Array(names.iter().map(named).collect()),
        }),
        ToolChoice::Other(wire) => wire.clone(),
    }
}
