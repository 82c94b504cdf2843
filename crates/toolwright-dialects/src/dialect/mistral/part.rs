//! The parts of a message: content chunks, calls and outcomes, for requests, responses and streams.

mod media;

use toolwright_core::part::{Reasoning, Section, SectionKind, Signature};
use toolwright_core::{Arguments, Body, Call, Extra, Origin, Outcome, Part, note};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, DIALECT, NO_ID};
use crate::codec::{DecodeError, Fields, Result, elements};

/// A note: the form of an empty content, if not an empty string.
pub(super) const CONTENT: &str = note!("content");

/// A note: arguments came as an object.
const ARGUMENTS: &str = note!("arguments");

/// A note: a call came without its index.
const INDEX: &str = note!("index");

/// Takes `content` and `tool_calls` of an assistant's message.
pub(super) fn take_turn(fields: &mut Fields<'_>) -> Result<Vec<Part>> {
    let mut parts = take_content(fields)?;
    let path = fields.path();
    let mut position = 0;
    let calls = elements(fields.array("tool_calls")?, &path.key("tool_calls"), |call, path| {
        position += 1;
        decode_call(call, path, position - 1)
    })?;
    parts.extend(calls);
    Ok(parts)
}

/// Encodes an assistant's message.
pub(super) fn encode_turn(parts: &[Part], extra: &Extra) -> Object {
    let mut object = object! {"role": "assistant", "content": encode_content(parts, extra)};
    let calls = parts.iter().filter(|part| part.as_call().is_some()).enumerate();
    let calls: Vec<Json> = calls.filter_map(|(at, part)| encode_call(part, at)).collect();
    object.insert_filled("tool_calls", calls);
    object
}

/// Takes `content`: a string, chunks or nothing. An empty string is nothing.
pub(super) fn take_content(fields: &mut Fields<'_>) -> Result<Vec<Part>> {
    let path = fields.path();
    let path = path.key("content");
    let content = fields.take("content").unwrap_or_default();
    match content {
        Json::String(text) if text.is_empty() => Ok(vec![]),
        Json::String(text) => Ok(vec![Part::text(text).with_origin(Origin::at(&path))]),
        Json::Array(chunks) if !chunks.is_empty() => elements(chunks, &path, decode),
        Json::Null | Json::Array(_) => {
            fields.put_back(CONTENT, content);
            Ok(vec![])
        }
        _ => Err(DecodeError::expected(DIALECT, &path, "a string or an array of chunks")),
    }
}

/// Encodes content, as a string if possible. Calls are separate.
pub(super) fn encode_content(parts: &[Part], extra: &Extra) -> Json {
    let mut content = parts.iter().filter(|part| part.as_call().is_none());
    match (content.next(), content.next()) {
        (None, _) => extra.get(DIALECT, CONTENT).cloned().unwrap_or_else(|| "".into()),
        // An empty string would be decoded as no part.
        (Some(part @ Part { body: Body::Text(text), .. }), None)
            if part.is_plain_text() && !text.is_empty() =>
        {
            text.clone().into()
        }
        _ => Json::Array(parts.iter().filter_map(encode).collect()),
    }
}

/// Decodes a chunk.
pub(super) fn decode(chunk: Json, path: Path<'_>) -> Result<Part> {
    let origin = Origin::at(&path);
    if !is_known(&chunk) {
        Fields::new(chunk.clone(), path, DIALECT)?;
        return Ok(Part::opaque(DIALECT, chunk).with_origin(origin));
    }
    let mut fields = Fields::new(chunk, path, DIALECT)?;
    let mut signature = None;
    let body = match fields.need_string("type")?.as_str() {
        "text" => Body::Text(fields.need_text("text")?),
        "thinking" => {
            signature = fields
                .string("signature")?
                .filter(|value| !value.is_empty())
                .map(|value| Signature { dialect: DIALECT, value });
            let sections = fields.array("thinking")?.into_iter().filter_map(section).collect();
            Body::Reasoning(Reasoning { sections, redacted: false })
        }
        kind => Body::Media(media::decode(kind, &mut fields)?),
    };
    Ok(Part { body, signature, cache: None, origin, extra: fields.into_extra() })
}

/// Whether a chunk has a canonical form: references and resources have none, nor has thinking that
/// quotes them.
fn is_known(chunk: &Json) -> bool {
    let plain = |item: &Json| section(item.clone()).is_some();
    match chunk.get("type").and_then(Json::as_str) {
        Some("text" | "file" | "image_url" | "document_url" | "input_audio") => true,
        Some("thinking") => match chunk.get("thinking") {
            Some(Json::Array(items)) => items.iter().all(plain),
            _ => true,
        },
        _ => false,
    }
}

/// Returns a section of thinking, if it is only text.
fn section(item: Json) -> Option<Section> {
    let Json::Object(mut item) = item else { return None };
    let plain = item.get("type").and_then(Json::as_str) == Some("text");
    match item.remove("text") {
        Some(Json::String(text)) if plain => {
            Some(Section { kind: SectionKind::Full, text: text.into_string() })
        }
        _ => None,
    }
}

/// Encodes a chunk; `None` for parts with another position and parts that [`fit`](crate::fit)
/// removes.
pub(super) fn encode(part: &Part) -> Option<Json> {
    let mut object = match &part.body {
        Body::Text(text) | Body::Refusal(text) => object! {"type": "text", "text": text.clone()},
        Body::Json(value) => object! {"type": "text", "text": value.compact()},
        Body::Media(own) => media::encode(own, &part.extra)?,
        Body::Reasoning(reasoning) if reasoning.redacted => return None,
        Body::Reasoning(reasoning) => {
            let texts = reasoning.sections.iter().map(|own| own.text.as_str());
            let items: Vec<Object> =
                texts.map(|text| object! {"type": "text", "text": text}).collect();
            let mut object = object! {"type": "thinking", "thinking": items};
            let own = part.signature.as_ref().filter(|own| own.dialect == DIALECT);
            object.insert_some("signature", own.map(|own| own.value.as_str()));
            object
        }
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        Body::Call(_) | Body::Outcome(_) | Body::Opaque(_) => return None,
    };
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}

/// A call on the wire, or a fragment of one.
#[derive(Debug)]
pub(super) struct Fragment {
    pub id: Option<String>,
    pub name: Option<String>,
    pub text: String,
    pub index: Option<u64>,
    pub extra: Extra,
}

/// Decodes a call or a fragment. Arguments may be a string or an object
/// (`docs/dialects/mistral.md#messages`).
pub(super) fn decode_fragment(wire: Json, path: Path<'_>) -> Result<Fragment> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let mut function = Fields::new(fields.need("function")?, path.key("function"), DIALECT)?;
    let text = match function.take("arguments") {
        None => String::new(),
        Some(Json::String(text)) => text.into_string(),
        Some(arguments @ Json::Object(_)) => {
            fields.put_back(ARGUMENTS, "object");
            arguments.to_string()
        }
        Some(_) => return Err(function.expected("arguments", "a string or an object")),
    };
    let name = function.string("name")?;
    fields.put_back_rest("function", function.into_object());
    let id = wire::take_id(&mut fields, "id")?;
    let index = fields.u64("index")?;
    if fields.tag("type") == Some("function") {
        fields.take("type");
    }
    Ok(Fragment { id, name, text, index, extra: fields.into_extra() })
}

impl Fragment {
    /// Returns the extra fields of the call that begins here, including its index if it is not its
    /// position.
    pub(super) fn extra(&mut self, position: u64) -> Extra {
        let mut extra = std::mem::take(&mut self.extra);
        match self.index {
            None => extra.insert(DIALECT, INDEX, Json::Null),
            Some(index) if index != position => extra.insert(DIALECT, "index", index),
            Some(_) => {}
        }
        extra
    }
}

/// Decodes a complete call, at `position` in its message.
pub(super) fn decode_call(wire: Json, path: Path<'_>, position: u64) -> Result<Part> {
    let mut own = decode_fragment(wire, path)?;
    let extra = own.extra(position);
    let Some(name) = own.name else {
        let kind = crate::codec::DecodeErrorKind::Missing("name");
        return Err(DecodeError::new(DIALECT, &path.key("function"), kind));
    };
    let call = Call { id: own.id, name, arguments: Arguments::from_text(own.text) };
    Ok(Part::call(call).with_extra(extra).with_origin(Origin::at(&path)))
}

/// Encodes a call, at `position` in its message.
pub(super) fn encode_call(part: &Part, position: usize) -> Option<Json> {
    let call = part.as_call()?;
    let noted = |note| part.extra.get(DIALECT, note).is_some();
    let arguments = if noted(ARGUMENTS) && call.arguments.is_object() {
        Json::Object(call.arguments.to_object())
    } else {
        Json::from(call.arguments.as_str())
    };
    let function = object! {"name": call.name.as_str(), "arguments": arguments};
    let mut object = object! {"id": call.id.as_deref().unwrap_or(NO_ID), "type": "function", "function": function};
    if let Some(kind) = part.extra.get(DIALECT, "type") {
        object.insert("type", kind.clone());
    }
    part.extra.write_into(DIALECT, &mut object);
    if !noted("index") && !noted(INDEX) {
        object.insert("index", position);
    }
    Some(Json::Object(object))
}

/// Decodes a message with role `tool`.
pub(super) fn decode_outcome(wire: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    fields.take("role");
    let outcome = Outcome {
        call_id: wire::take_id(&mut fields, "tool_call_id")?,
        name: fields.string("name")?,
        content: take_content(&mut fields)?,
        error: None,
    };
    let part = Part::outcome(outcome).with_origin(fields.origin());
    Ok(part.with_extra(fields.into_extra()))
}

/// Encodes a message with role `tool`.
pub(super) fn encode_outcome(part: &Part) -> Option<Json> {
    let outcome = part.as_outcome()?;
    let mut object = object! {
        "role": "tool",
        "tool_call_id": outcome.call_id.as_deref().unwrap_or(NO_ID),
    };
    object.insert_some("name", outcome.name.as_deref());
    object.insert("content", encode_content(&outcome.content, &part.extra));
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}
