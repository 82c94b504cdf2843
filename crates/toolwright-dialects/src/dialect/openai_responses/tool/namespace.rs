//! The list of tools, with namespaces, whose tools are separate in the canonical model.

use toolwright_core::tool::{Namespace, qualified_name, split_name};
use toolwright_core::{Extra, Tool};
use toolwright_json::{Json, Path, object};

use super::super::wire::DIALECT;
use super::{client, decode, definition};
use crate::codec::{DecodeError, Fields, Result};

/// Decodes a list of tools.
pub(in super::super) fn decode_all(items: Vec<Json>, path: Path<'_>) -> Result<Vec<Tool>> {
    let mut tools = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        decode_element(item, path.index(index), &mut tools)?;
    }
    Ok(tools)
}

/// Decodes an element and appends its tools.
pub(super) fn decode_element(item: Json, path: Path<'_>, tools: &mut Vec<Tool>) -> Result<()> {
    if has_tools(&item) {
        return decode_namespace(item, path, tools);
    }
    tools.push(decode(item, path)?);
    Ok(())
}

/// Whether an element is a namespace with tools; an empty one stays opaque.
fn has_tools(item: &Json) -> bool {
    let is_namespace = item.get("type").and_then(Json::as_str) == Some("namespace");
    is_namespace && item.get("tools").and_then(Json::as_array) != Some(&[])
}

fn decode_namespace(wire: Json, path: Path<'_>, tools: &mut Vec<Tool>) -> Result<()> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    fields.take("type");
    let name = fields.need_string("name")?;
    if name.is_empty() {
        return Err(fields.expected("name", "a name"));
    }
    let description = fields.string("description")?;
    let Json::Array(items) = fields.need("tools")? else {
        return Err(fields.expected("tools", "an array"));
    };
    let origin = fields.origin();
    let mut namespace = Some(Namespace { description, origin, extra: fields.into_extra() });
    let list = path.key("tools");
    for (index, item) in items.into_iter().enumerate() {
        let path = list.index(index);
        if !matches!(item.get("type").and_then(Json::as_str), Some("function" | "custom")) {
            let path = path.key("type");
            return Err(DecodeError::expected(DIALECT, &path, "`function` or `custom`"));
        }
        let tool = decode(item, path)?;
        let name = qualified_name(&name, &tool.name);
        tools.push(Tool { name, namespace: namespace.take().map(Box::new), ..tool });
    }
    Ok(())
}

/// Encodes a list of tools, without those that items of the conversation define.
pub(in super::super) fn encode_all(tools: &[Tool]) -> Vec<Json> {
    let mut groups = Vec::new();
    for tool in tools.iter().filter(|tool| !tool.loaded) {
        let (Some(namespace), _) = split_name(&tool.name) else {
            groups.push(definition(tool));
            continue;
        };
        if namespace.is_empty() {
            groups.push(client::encode(tool));
            continue;
        }
        let open = groups.last_mut().filter(|group| {
            tool.namespace.is_none()
                && group.get("type").and_then(Json::as_str) == Some("namespace")
                && group.get("name").and_then(Json::as_str) == Some(namespace)
        });
        let list = open.and_then(|group| group.as_object_mut()?.get_mut("tools"));
        if let Some(Json::Array(list)) = list {
            list.push(definition(tool));
        } else {
            groups.push(encode_namespace(namespace, tool));
        }
    }
    groups
}

/// Begins a namespace. The SDK's type requires a description.
fn encode_namespace(name: &str, first: &Tool) -> Json {
    let own = first.namespace.as_deref();
    let description = own.and_then(|own| own.description.clone());
    let description = description.unwrap_or_else(|| format!("Tools in the {name} namespace."));
    let mut object = object! {
        "type": "namespace",
        "name": name,
        "description": description,
        "tools": Json::Array(vec![definition(first)]),
    };
    own.map_or(&Extra::NONE, |own| &own.extra).write_into(DIALECT, &mut object);
    Json::Object(object)
}
