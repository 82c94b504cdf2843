//! The items of `input` and `output`: messages, reasoning, calls and their outputs.
//!
//! A turn of the model is several items here and one message in the canonical model. Each item
//! becomes a part, except for messages, whose content parts become separate parts; their extra
//! fields [`OUTER`] and [`JOINED`] record the grouping. An item without a canonical form stays
//! opaque.

pub(super) mod client;
pub(super) mod content;
mod write;

use toolwright_core::part::{Reasoning, Section, SectionKind, Signature};
use toolwright_core::tool::qualified_name;
use toolwright_core::{Arguments, Body, Call, Extra, Message, Origin, Outcome, Part, Role};
use toolwright_json::{Json, Object, Path};

pub(super) use write::{BEGUN, Writer, is_content, is_joined, take_usual};

use content::Side;

use super::wire::{CUSTOM, DIALECT, EMPTY, JOINED, LOADED, OUTER};
use crate::codec::{DecodeError, Fields, Result};

/// Returns the type of an item; a message may omit it.
pub(super) fn kind(item: &Json) -> Option<&str> {
    let message = || item.get("role").map(|_| "message");
    item.get("type").and_then(Json::as_str).or_else(message)
}

/// Decodes an item that is one part: a call or an outcome.
pub(super) fn decode_one(item: Json, path: Path<'_>) -> Result<Part> {
    let mut parts = Vec::new();
    decode(item, path, &mut parts)?;
    parts.pop().ok_or_else(|| DecodeError::expected(DIALECT, &path, "a call or its output"))
}

/// Decodes an item of a response, with the response's id and the item's index. Values that the
/// encoder adds are dropped.
pub(super) fn decode_output(
    mut item: Json,
    path: Path<'_>,
    place: (&str, usize),
    parts: &mut Vec<Part>,
) -> Result<()> {
    if is_known(&item) {
        take_usual(&mut item, place, write::COMPLETED);
    }
    decode(item, path, parts)
}

/// Decodes an item of a turn and appends its parts.
pub(super) fn decode(item: Json, path: Path<'_>, parts: &mut Vec<Part>) -> Result<()> {
    let part = match kind(&item).filter(|_| is_known(&item)) {
        Some("message") => return decode_turn(item, path, parts),
        Some("reasoning") => decode_reasoning(item, path)?,
        Some("function_call" | "custom_tool_call") => decode_call(item, path)?,
        Some("function_call_output" | "custom_tool_call_output") => decode_outcome(item, path)?,
        Some(_) if let Some(tool) = client::of_item(&item) => {
            client::decode_call(tool, item, path)?
        }
        Some(_) if let Some(tool) = client::of_output(&item) => {
            client::decode_outcome(tool, item, path)?
        }
        _ => {
            Fields::new(item.clone(), path, DIALECT)?;
            Part::opaque(DIALECT, item).with_origin(Origin::at(&path))
        }
    };
    parts.push(part);
    Ok(())
}

/// Whether an item of a turn has a canonical form.
pub(super) fn is_known(item: &Json) -> bool {
    match kind(item) {
        Some("message") => is_turn(item),
        Some("reasoning") => has_plain_sections(item),
        Some("shell_call_output") => false,
        Some(_) if client::of_item(item).or_else(|| client::of_output(item)).is_some() => true,
        other => other.is_some_and(is_usual),
    }
}

/// Whether a type of item always has a canonical form.
fn is_usual(kind: &str) -> bool {
    matches!(
        kind,
        "function_call" | "custom_tool_call" | "function_call_output" | "custom_tool_call_output"
    )
}

/// Whether a message is the model's and has content to attach its fields to.
fn is_turn(item: &Json) -> bool {
    let own = item.get("role").is_none_or(|role| role.as_str() == Some("assistant"));
    own && item.get("content").is_some_and(|content| content.as_array() != Some(&[]))
}

fn decode_turn(item: Json, path: Path<'_>, parts: &mut Vec<Part>) -> Result<()> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    let content = fields.need("content")?;
    let mut outer = own_fields(fields);
    // A message with an id is completed by default; values that the encoder adds are dropped.
    let done = outer.get("status").and_then(Json::as_str) == Some(write::COMPLETED);
    if done && outer.contains_key("id") {
        outer.remove("status");
    }
    if content.as_array().is_some() {
        outer = step_out(outer);
    }
    let content = content::decode_all(content, path.key("content"), Side::Output)?;
    for (index, mut part) in content.into_iter().enumerate() {
        place(&mut part, index, &outer);
        parts.push(part);
    }
    Ok(())
}

/// Returns the fields beside the content of a message item.
fn own_fields(mut fields: Fields<'_>) -> Object {
    for key in ["type", "role", "content"] {
        fields.take(key);
    }
    fields.into_object()
}

/// Adjusts for the additional level of a list between an item and its parts.
fn step_out(own: Object) -> Object {
    if own.is_empty() { own } else { Object::from_iter([(OUTER.into(), own.into())]) }
}

/// Returns the extra fields of a text that has begun, by its position in a message item.
pub(super) fn begun(item: Json, index: usize) -> Extra {
    let own = Fields::new(item, Path::ROOT, DIALECT).map_or(Object::new(), own_fields);
    let mut part = Part::text("");
    place(&mut part, index, &step_out(own));
    part.extra
}

/// Records the position of a content part in a message item.
fn place(part: &mut Part, index: usize, outer: &Object) {
    if index > 0 || matches!(part.body, Body::Opaque(_)) {
        part.extra.insert(DIALECT, JOINED, index > 0);
    }
    if index == 0 && !outer.is_empty() {
        part.extra.insert(DIALECT, OUTER, outer.clone());
    }
}

/// Decodes a message that is not the model's.
pub(super) fn decode_message(item: Json, path: Path<'_>) -> Result<Message> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    let role = match fields.need_string("role")?.as_str() {
        "user" => Role::User,
        "system" => Role::System,
        "developer" => Role::Developer,
        _ => return Err(fields.expected("role", "user, assistant, system or developer")),
    };
    fields.take("type");
    let parts = content::decode_all(fields.need("content")?, path.key("content"), Side::Input)?;
    Ok(Message { role, parts, origin: fields.origin(), extra: fields.into_extra() })
}

fn decode_call(item: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    let id = Some(fields.need_string("call_id")?);
    let name = take_name(&mut fields)?.ok_or_else(|| fields.missing("name"))?;
    let arguments = if fields.need_string("type")? == "function_call" {
        Arguments::from_text(fields.need_string("arguments")?)
    } else {
        Arguments::Free(fields.need_string("input")?)
    };
    let origin = fields.origin();
    Ok(Part::call(Call { id, name, arguments }).with_origin(origin).with_extra(fields.into_extra()))
}

/// Takes the name of a tool, with its namespace.
fn take_name(fields: &mut Fields<'_>) -> Result<Option<String>> {
    let name = fields.string("name")?;
    match name {
        Some(name) => Ok(Some(match fields.filled("namespace")? {
            Some(namespace) if namespace == name => {
                fields.put_back(LOADED, true);
                name
            }
            Some(namespace) => qualified_name(&namespace, &name),
            None => name,
        })),
        None => Ok(None),
    }
}

fn decode_outcome(item: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    let custom = fields.need_string("type")? == "custom_tool_call_output";
    let output = fields.need("output")?;
    let empty = output.as_array() == Some(&[]);
    let content = match output {
        Json::String(text) if text.is_empty() => vec![],
        output => content::decode_all(output, path.key("output"), Side::Input)?,
    };
    let call_id = fields.filled("call_id")?;
    let outcome = Outcome { call_id, name: take_name(&mut fields)?, content, error: None };
    let origin = fields.origin();
    let mut part = Part::outcome(outcome).with_origin(origin).with_extra(fields.into_extra());
    if custom {
        part.extra.insert(DIALECT, CUSTOM, true);
    }
    if empty {
        part.extra.insert(DIALECT, EMPTY, Json::Array(vec![]));
    }
    Ok(part)
}

/// The lists of a reasoning item, with the type of their entries.
const SECTIONS: [(&str, &str, SectionKind); 2] = [
    ("summary", "summary_text", SectionKind::Summary),
    ("content", "reasoning_text", SectionKind::Full),
];

/// Whether reasoning consists only of sections.
fn has_plain_sections(item: &Json) -> bool {
    SECTIONS.iter().all(|(key, kind, _)| match item.get(key) {
        None | Some(Json::Null) => true,
        Some(list) => list.as_array().is_some_and(|entries| {
            entries.iter().all(|entry| {
                entry.get("type").and_then(Json::as_str) == Some(*kind)
                    && matches!(entry.get("text"), Some(Json::String(_)))
            })
        }),
    })
}

fn decode_reasoning(item: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    fields.take("type");
    let mut sections = Vec::new();
    for (key, _, kind) in SECTIONS {
        for entry in fields.array(key)? {
            let text = entry.get("text").and_then(Json::as_str).unwrap_or_default().to_owned();
            sections.push(Section { kind, text });
        }
    }
    let signature = fields.string("encrypted_content")?.filter(|value| !value.is_empty());
    let origin = fields.origin();
    Ok(Part {
        signature: signature.map(|value| Signature { dialect: DIALECT, value }),
        ..Part::new(Body::Reasoning(Reasoning { sections, redacted: false }))
            .with_origin(origin)
            .with_extra(fields.into_extra())
    })
}
