//! Content blocks, calls and outcomes, for requests, responses and streams.

use toolwright_core::part::{Media, MediaKind, MediaSource, Reasoning};
use toolwright_core::{Arguments, Body, Call, Extra, Origin, Outcome, Part, note};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{DIALECT, PLAN, TOOL_PLAN};
use crate::codec::{DecodeError, Fields, Result, elements};

/// A note on a text in an outcome: it was the data of a document.
const DOCUMENT: &str = note!("document");

/// Decodes content: a string, or blocks.
pub(super) fn decode_content(content: Json, path: Path<'_>) -> Result<Vec<Part>> {
    match content {
        Json::String(text) => Ok(vec![Part::text(text).with_origin(Origin::at(&path))]),
        Json::Array(blocks) => elements(blocks, &path, decode),
        _ => Err(DecodeError::expected(DIALECT, &path, "a string or an array of blocks")),
    }
}

/// Decodes an assistant message: plan, text and calls.
pub(super) fn decode_assistant(fields: &mut Fields<'_>) -> Result<Vec<Part>> {
    let path = fields.path();
    let mut parts = Vec::new();
    let plan = fields.string(TOOL_PLAN)?.filter(|plan| !plan.is_empty());
    parts.extend(plan.map(|plan| plan_part(plan).with_origin(Origin::at(&path.key(TOOL_PLAN)))));
    if let Some(content) = fields.take("content") {
        parts.extend(decode_content(content, path.key("content"))?);
    }
    let calls = fields.array("tool_calls")?;
    parts.extend(elements(calls, &path.key("tool_calls"), decode_call)?);
    Ok(parts)
}

/// Creates the part of a plan.
pub(super) fn plan_part(plan: String) -> Part {
    let mut part = Part::text(plan);
    part.extra.insert(DIALECT, PLAN, true);
    part
}

/// Decodes a block.
pub(super) fn decode(block: Json, path: Path<'_>) -> Result<Part> {
    let whole = block.clone();
    let mut fields = Fields::new(block, path, DIALECT)?;
    let origin = fields.origin();
    let mut note = false;
    let body = match fields.string("type")?.as_deref() {
        Some("text") => Body::Text(fields.need_text("text")?),
        Some("thinking") => Body::Reasoning(Reasoning::text(fields.need_string("thinking")?)),
        Some("image_url") => {
            let at = path.key("image_url");
            let mut image = Fields::new(fields.need("image_url")?, at, DIALECT)?;
            let body = Body::Media(decode_url(image.need_string("url")?));
            fields.put_back_rest("image_url", image.into_object());
            body
        }
        Some("document") => {
            let at = path.key("document");
            let mut document = Fields::new(fields.need("document")?, at, DIALECT)?;
            let body = match document.take("data") {
                Some(data @ Json::Object(_)) => Body::Json(data),
                Some(Json::String(text)) => {
                    note = true;
                    Body::Text(text)
                }
                _ => return Ok(Part::opaque(DIALECT, whole).with_origin(origin)),
            };
            fields.put_back_rest("document", document.into_object());
            body
        }
        _ => return Ok(Part::opaque(DIALECT, whole).with_origin(origin)),
    };
    let mut extra = fields.into_extra();
    if note {
        extra.insert(DIALECT, DOCUMENT, true);
    }
    Ok(Part::new(body).with_origin(origin).with_extra(extra))
}

/// Decodes an image by its URL, which may contain the data.
fn decode_url(url: String) -> Media {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (mime, source) = match inline {
        Some((mime, data)) => (Some(mime.to_owned()), MediaSource::Base64(data.to_owned())),
        None => (None, MediaSource::Url(url)),
    };
    Media { kind: MediaKind::Image, mime, source, name: None }
}

/// Decodes a call.
pub(super) fn decode_call(wire: Json, path: Path<'_>) -> Result<Part> {
    let mut outer = Fields::new(wire, path, DIALECT)?;
    let mut function = Fields::new(outer.need("function")?, path.key("function"), DIALECT)?;
    if outer.tag("type") == Some("function") {
        outer.take("type");
    }
    let call = Call {
        id: outer.filled("id")?,
        name: function.need_string("name")?,
        arguments: Arguments::from_text(function.string("arguments")?.unwrap_or_default()),
    };
    outer.put_back_rest("function", function.into_object());
    Ok(Part::call(call).with_origin(outer.origin()).with_extra(outer.into_extra()))
}

/// Decodes a message of role `tool`.
pub(super) fn decode_outcome(wire: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    fields.take("role");
    let outcome = Outcome {
        call_id: Some(fields.need_string("tool_call_id")?),
        name: None,
        content: decode_content(fields.need("content")?, path.key("content"))?,
        error: None,
    };
    Ok(Part::outcome(outcome).with_origin(fields.origin()).with_extra(fields.into_extra()))
}

/// Encodes content, as a string if possible.
pub(super) fn encode_content(parts: &[Part]) -> Json {
    shortest(parts.iter().filter_map(encode).collect())
}

/// Returns a single plain text as a string, anything else as blocks.
pub(super) fn shortest(blocks: Vec<Json>) -> Json {
    match blocks.as_slice() {
        [Json::Object(block)]
            if block.len() == 2 && block.get("type") == Some(&Json::from("text")) =>
        {
            block.get("text").cloned().unwrap_or_default()
        }
        _ => Json::Array(blocks),
    }
}

/// Encodes an assistant message; `content` encodes its blocks.
pub(super) fn encode_assistant(parts: &[Part], content: fn(Vec<Json>) -> Json) -> Object {
    let mut object = object! {"role": "assistant"};
    let plans: Vec<&str> = parts.iter().filter_map(plan).collect();
    if !plans.is_empty() {
        object.insert(TOOL_PLAN, plans.join("\n\n"));
    }
    let calls: Vec<Json> =
        parts.iter().filter(|part| part.as_call().is_some()).map(encode_call).collect();
    object.insert_filled("tool_calls", calls);
    let blocks: Vec<Json> =
        parts.iter().filter(|part| plan(part).is_none()).filter_map(encode).collect();
    if !blocks.is_empty() {
        object.insert("content", content(blocks));
    }
    object
}

/// Returns the text of a plan, if the part is one.
fn plan(part: &Part) -> Option<&str> {
    part.extra.get(DIALECT, PLAN).and_then(|_| part.as_text())
}

/// Encodes a block; `None` for calls and outcomes, which are not content, and for parts that
/// [`fit`](crate::fit) removes.
pub(super) fn encode(part: &Part) -> Option<Json> {
    let mut object = match &part.body {
        Body::Text(text) if part.extra.get(DIALECT, DOCUMENT).is_some() => {
            document(text.clone().into())
        }
        Body::Text(text) | Body::Refusal(text) => object! {"type": "text", "text": text.clone()},
        Body::Json(data @ Json::Object(_)) => document(data.clone()),
        Body::Json(value) => object! {"type": "text", "text": value.compact()},
        Body::Media(media) => encode_media(media)?,
        Body::Reasoning(reasoning) if !reasoning.redacted => {
            object! {"type": "thinking", "thinking": reasoning.joined()}
        }
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        Body::Reasoning(_) | Body::Call(_) | Body::Outcome(_) | Body::Opaque(_) => return None,
    };
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}

fn document(data: Json) -> Object {
    object! {"type": "document", "document": object! {"data": data}}
}

fn encode_media(media: &Media) -> Option<Object> {
    let url = match &media.source {
        _ if media.kind != MediaKind::Image => return None,
        MediaSource::Url(url) => url.clone(),
        MediaSource::Base64(data) => {
            format!("data:{};base64,{data}", media.mime.as_deref().unwrap_or("image/png"))
        }
        MediaSource::Text(_) | MediaSource::File(..) => return None,
    };
    Some(object! {"type": "image_url", "image_url": object! {"url": url}})
}

/// Encodes a call; `null` for any other part.
pub(super) fn encode_call(part: &Part) -> Json {
    let Some(call) = part.as_call() else { return Json::Null };
    let arguments = call.arguments.as_str();
    Json::Object(encode_call_head(call.id.as_deref(), &call.name, arguments, &part.extra))
}

/// Encodes a call from its fields; the start event of a stream has no arguments yet.
pub(super) fn encode_call_head(
    id: Option<&str>,
    name: &str,
    arguments: &str,
    extra: &Extra,
) -> Object {
    let mut object = object! {
        "id": id.unwrap_or_default(),
        "type": extra.get(DIALECT, "type").cloned().unwrap_or_else(|| "function".into()),
        "function": object! {"name": name, "arguments": arguments},
    };
    extra.write_into(DIALECT, &mut object);
    object
}

/// Encodes a message of role `tool`; `null` for a part that is not an outcome.
pub(super) fn encode_outcome(part: &Part) -> Json {
    let Some(outcome) = part.as_outcome() else { return Json::Null };
    let mut object = object! {
        "role": "tool",
        "tool_call_id": outcome.call_id.as_deref().unwrap_or_default(),
        "content": encode_content(&outcome.content),
    };
    part.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}
