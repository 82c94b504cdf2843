//! An assistant message, its calls and their outcomes, for requests, responses and streams.
//!
//! A message has one content beside a list of calls; their relative order cannot be expressed.

mod content;

use toolwright_core::part::Reasoning;
use toolwright_core::{Arguments, Body, Call, Extra, Origin, Outcome, Part};
use toolwright_json::{Json, Object, Path, object};

pub(super) use content::{decode_content, encode_content};

use super::Quirks;
use super::wire::{self, CONTENT, KEY, LEGACY, PLACE};
use crate::codec::{Fields, Result, elements};

/// The recipient of an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A vendor, which accepts several texts
    Vendor,
    /// A client, which accepts one
    Client,
}

/// Takes thinking, from any of its field names.
pub(super) fn take_reasoning(
    fields: &mut Fields<'_>,
    quirks: &Quirks,
) -> Option<(&'static str, String)> {
    let names = [quirks.reasoning, "reasoning_content", "reasoning"];
    let key = names.into_iter().find(|key| fields.tag(key).is_some())?;
    match fields.take(key) {
        Some(Json::String(text)) => Some((key, text.into_string())),
        _ => None,
    }
}

/// Stores the name of the field that thinking was read from, if it is not the preset's default.
pub(super) fn reasoning_extra(key: &'static str, quirks: &Quirks) -> Extra {
    let mut extra = Extra::NONE;
    if key != quirks.reasoning {
        extra.insert(quirks.dialect, KEY, key);
    }
    extra
}

/// Returns the field for thinking. The name in another dialect is irrelevant.
pub(super) fn reasoning_key(extra: &Extra, quirks: &Quirks) -> &'static str {
    let noted = extra.get(quirks.dialect, KEY).filter(|_| extra.dialect() == Some(quirks.dialect));
    match noted.and_then(Json::as_str) {
        Some("reasoning") => "reasoning",
        Some("reasoning_content") => "reasoning_content",
        _ => quirks.reasoning,
    }
}

/// Takes the content of an assistant message: thinking, content, refusal and calls, in this order.
pub(super) fn decode_turn(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Vec<Part>> {
    let path = fields.path();
    let mut parts = Vec::new();
    if let Some((key, text)) = take_reasoning(fields, quirks) {
        let part = Part::new(Body::Reasoning(Reasoning::text(text)));
        let origin = Origin::at(&path.key(key));
        parts.push(part.with_origin(origin).with_extra(reasoning_extra(key, quirks)));
    }
    let mut said = Vec::new();
    if let Some(text) = fields.text("refusal")?.filter(|text| !text.is_empty()) {
        let origin = Origin::at(&path.key("refusal"));
        said.push(Part::new(Body::Refusal(text)).with_origin(origin));
    }
    if let Some(call) = fields.take("function_call").filter(|call| !is_zero_call(call)) {
        said.push(decode_legacy_call(call, path.key("function_call"), quirks)?);
    }
    let mut calls = fields.array("tool_calls")?;
    calls.retain(|call| !call.get("function").is_some_and(is_zero_call));
    let path = path.key("tool_calls");
    said.append(&mut elements(calls, &path, |call, path| decode_call(call, path, quirks))?);
    let content = decode_content(fields, &quirks.nothing(&said), quirks)?;
    parts.reserve_exact(content.len() + said.len());
    parts.extend(content);
    parts.append(&mut said);
    Ok(parts)
}

/// Encodes an assistant message. `note` is the empty content that it was decoded with.
pub(super) fn encode_turn(
    parts: &[Part],
    note: Option<&Json>,
    reader: Reader,
    quirks: &Quirks,
) -> Object {
    let mut object = object! {"role": "assistant"};
    let (mut content, mut calls, mut said) = (Vec::new(), Vec::new(), Object::new());
    for part in parts {
        let noted = |key| part.extra.get(quirks.dialect, key).is_some();
        match &part.body {
            Body::Reasoning(reasoning) if !reasoning.redacted => {
                let key = reasoning_key(&part.extra, quirks);
                let mut text = reasoning.joined();
                if let Some(Json::String(before)) = object.remove(key) {
                    text = format!("{before}\n\n{text}");
                }
                object.insert(key, text);
            }
            Body::Reasoning(_) | Body::Outcome(_) => {}
            Body::Refusal(text) if !noted(PLACE) => said.insert("refusal", text.clone()),
            Body::Call(call) if call.id.is_none() && noted(LEGACY) => {
                said.insert("function_call", function(part, call, quirks));
            }
            Body::Call(_) => calls.push(encode_call(part, quirks)),
            Body::Opaque(own) if noted(PLACE) => calls.push(own.value.clone()),
            _ => content.push(part),
        }
    }
    said.insert_filled("tool_calls", calls);
    let nothing = note.cloned().unwrap_or_else(|| quirks.nothing(parts));
    let is_text_only = !content.is_empty() && content.iter().all(|part| part.is_text());
    object.insert(
        "content",
        if reader == Reader::Client && is_text_only {
            Json::from(content.iter().filter_map(|part| part.as_text()).collect::<String>())
        } else {
            encode_content(content, nothing, quirks)
        },
    );
    if reader == Reader::Client {
        object.insert("refusal", Json::Null);
    }
    for (key, value) in said {
        object.insert(key, value);
    }
    object
}

/// Whether this is the placeholder of servers that always send the field, such as Snowflake Cortex.
fn is_zero_call(function: &Json) -> bool {
    let is_empty = |own: &Json| own.is_null() || own.as_str() == Some("");
    function.get("name").and_then(Json::as_str) == Some("")
        && function.get("arguments").is_none_or(is_empty)
}

/// Whether this is a call of a hosted tool, which stays among the calls.
pub(super) fn is_hosted_call(wire: &Json) -> bool {
    let kind = wire.get("type").and_then(Json::as_str);
    kind.is_some_and(|kind| !matches!(kind, "function" | "custom"))
        && wire.get("function").is_none()
}

/// Decodes an element of `tool_calls`.
pub(super) fn decode_call(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Part> {
    let hosted = is_hosted_call(&wire);
    let mut outer = Fields::new(wire, path, quirks.dialect)?;
    if hosted {
        let origin = outer.origin();
        let part = Part::opaque(quirks.dialect, Json::Object(outer.into_object()));
        let mut extra = Extra::NONE;
        extra.insert(quirks.dialect, PLACE, "tool_calls");
        return Ok(part.with_origin(origin).with_extra(extra));
    }
    // Some servers send an empty object of the other kind beside the call.
    let key = match outer.tag("type") {
        Some("function") if outer.peek("function").is_some() => "function",
        _ if outer.peek("custom").is_some() => "custom",
        _ => "function",
    };
    outer.take("type");
    let id = outer.filled("id")?;
    let mut inner = Fields::new(outer.need(key)?, path.key(key), quirks.dialect)?;
    let name = inner.need_string("name")?;
    let arguments = match key {
        "custom" => Arguments::Free(inner.string("input")?.unwrap_or_default()),
        _ => decode_arguments(&mut inner),
    };
    let origin = inner.origin();
    let extra = wire::beside(inner.into_extra(), outer, quirks);
    let part = Part::call(Call { id, name, arguments });
    Ok(part.with_origin(origin).with_extra(extra))
}

fn decode_legacy_call(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Part> {
    let mut fields = Fields::new(wire, path, quirks.dialect)?;
    let name = fields.need_string("name")?;
    let call = Call { id: None, name, arguments: decode_arguments(&mut fields) };
    let origin = fields.origin();
    fields.put_back(LEGACY, true);
    Ok(Part::call(call).with_origin(origin).with_extra(fields.into_extra()))
}

/// Arguments are text; some vendors send the value itself, which the SDK accepts.
fn decode_arguments(fields: &mut Fields<'_>) -> Arguments {
    match fields.take("arguments") {
        None => Arguments::none(),
        Some(Json::String(text)) => Arguments::from_text(text),
        Some(value) => Arguments::from_json(&value),
    }
}

/// Encodes an element of `tool_calls`.
pub(super) fn encode_call(part: &Part, quirks: &Quirks) -> Json {
    let call = match &part.body {
        Body::Call(call) => call,
        Body::Opaque(own) if own.dialect.shares_wire(quirks.dialect) => return own.value.clone(),
        _ => return Json::Null,
    };
    let free = matches!(call.arguments, Arguments::Free(_));
    let kind = if free { "custom" } else { "function" };
    let outer = object! {"id": call.id.as_deref().unwrap_or_default(), "type": kind};
    let mut inner = object! {"name": call.name.as_str()};
    inner.insert(if free { "input" } else { "arguments" }, call.arguments.as_str());
    Json::Object(wire::nest(outer, kind, inner, &part.extra, quirks))
}

fn function(part: &Part, call: &Call, quirks: &Quirks) -> Object {
    let mut object = object! {"name": call.name.as_str(), "arguments": call.arguments.as_str()};
    part.extra.write_into(quirks.dialect, &mut object);
    object
}

/// Decodes a message with the role `tool`, or the legacy `function`.
pub(super) fn decode_outcome(mut fields: Fields<'_>, quirks: &Quirks) -> Result<Part> {
    fields.take("role");
    let outcome = Outcome {
        call_id: fields.filled("tool_call_id")?,
        name: fields.string("name")?,
        content: decode_content(&mut fields, &Json::from(""), quirks)?,
        error: None,
    };
    let origin = fields.origin();
    Ok(Part::outcome(outcome).with_origin(origin).with_extra(fields.into_extra()))
}

/// Encodes an outcome as a separate message.
pub(super) fn encode_outcome(part: &Part, quirks: &Quirks) -> Json {
    let Some(outcome) = part.as_outcome() else { return Json::Null };
    let legacy = outcome.call_id.is_none() && outcome.name.is_some();
    let mut object = object! {"role": if legacy { "function" } else { "tool" }};
    if !legacy {
        object.insert("tool_call_id", outcome.call_id.as_deref().unwrap_or_default());
    }
    object.insert_some("name", outcome.name.as_deref());
    let note = part.extra.get(quirks.dialect, CONTENT);
    let nothing = note.cloned().unwrap_or_else(|| "".into());
    object.insert("content", encode_content(&outcome.content, nothing, quirks));
    part.extra.write_into(quirks.dialect, &mut object);
    Json::Object(object)
}
