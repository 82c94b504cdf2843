//! Tools that the format defines by type and that the client runs. For a model of another vendor
//! they are functions.

use toolwright_core::tool::{qualified_name, split_name};
use toolwright_core::{Tool, ToolKind};
use toolwright_json::{Json, Path, object};

use super::super::wire::{CLIENT_TOOLS, DIALECT, SEARCH, SHELL};
use crate::codec::{Fields, Result};

/// Whether an element or an item is a tool search that the client runs. By default the vendor runs
/// it.
pub(in super::super) fn is_client_search(wire: &Json) -> bool {
    wire.get("execution").and_then(Json::as_str) == Some("client")
}

/// Whether a shell runs on the client. The vendor runs one in a container.
pub(in super::super) fn is_local(wire: &Json) -> bool {
    let environment = wire.get("environment").filter(|own| !own.is_null());
    environment.is_none_or(|own| own.get("type").and_then(Json::as_str) == Some("local"))
}

/// Whether an element of `tools` is a tool that the client runs.
pub(super) fn is_client(wire: &Json) -> bool {
    match wire.get("type").and_then(Json::as_str) {
        Some(SEARCH) => is_client_search(wire),
        Some(SHELL) => is_local(wire),
        Some(kind) => CLIENT_TOOLS.iter().any(|tool| tool.kind == kind),
        None => false,
    }
}

/// Decodes a tool that the client runs.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Tool> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let kind = fields.need_string("type")?;
    let (description, parameters) = if kind == SEARCH {
        fields.take("execution");
        (fields.string("description")?, fields.take("parameters"))
    } else {
        let known = CLIENT_TOOLS.iter().find(|tool| tool.kind == kind);
        let described = known.and_then(|tool| tool.function).map(|function| function());
        described.map_or((None, None), |(text, schema)| {
            (Some(text.to_owned()), Some(Json::Object(schema)))
        })
    };
    Ok(Tool {
        name: qualified_name("", &kind),
        description,
        kind: ToolKind::Function(parameters),
        origin: fields.origin(),
        extra: fields.into_extra(),
        ..Tool::default()
    })
}

/// Encodes a tool that the client runs.
pub(super) fn encode(tool: &Tool) -> Json {
    let (_, kind) = split_name(&tool.name);
    let mut object = object! {"type": kind};
    if kind == SEARCH {
        object.insert("execution", "client");
        object.insert_some("description", tool.description.as_deref());
        object.insert_some("parameters", tool.parameters().cloned());
    }
    tool.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}
