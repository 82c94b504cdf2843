//! Content blocks, for requests, responses and streams.

use toolwright_core::part::{Media, MediaKind, MediaSource, Reasoning, Signature};
use toolwright_core::{Arguments, Body, Call, Origin, Outcome, Part};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, DIALECT};
use crate::codec::{DecodeError, Fields, Result, elements};

/// Decodes content: a string, or blocks.
pub(super) fn decode_content(content: Json, path: Path<'_>) -> Result<Vec<Part>> {
    match content {
        Json::String(text) => Ok(vec![Part::text(text).with_origin(Origin::at(&path))]),
        Json::Array(blocks) => elements(blocks, &path, decode),
        _ => Err(DecodeError::expected(DIALECT, &path, "a string or an array of blocks")),
    }
}

/// Encodes content, as a string if possible.
pub(super) fn encode_content(mut parts: Vec<Part>) -> Json {
    match parts.as_mut_slice() {
        [Part { body: Body::Text(text), signature: None, cache: None, extra, .. }]
            if extra.is_empty() =>
        {
            Json::String(std::mem::take(text))
        }
        _ => Json::Array(encode_all(parts)),
    }
}

/// Encodes blocks.
pub(super) fn encode_all(parts: Vec<Part>) -> Vec<Json> {
    parts.into_iter().filter_map(encode).collect()
}

/// Decodes a block.
pub(super) fn decode(block: Json, path: Path<'_>) -> Result<Part> {
    let known = matches!(
        block.get("type").and_then(Json::as_str),
        Some(
            "text"
                | "image"
                | "document"
                | "thinking"
                | "redacted_thinking"
                | "tool_use"
                | "tool_result"
        )
    );
    let origin = Origin::at(&path);
    if !known || has_foreign_source(&block) {
        Fields::new(block.clone(), path, DIALECT)?;
        return Ok(Part::opaque(DIALECT, block).with_origin(origin));
    }
    let mut fields = Fields::new(block, path, DIALECT)?;
    let cache = wire::take_cache(&mut fields);
    let kind = fields.need_string("type")?;
    let mut signature = None;
    let body = match kind.as_str() {
        "text" => Body::Text(fields.need_text("text")?),
        "image" => Body::Media(decode_media(&mut fields, MediaKind::Image)?),
        "document" => Body::Media(decode_media(&mut fields, MediaKind::Document)?),
        "thinking" => {
            signature = sign(fields.string("signature")?);
            Body::Reasoning(Reasoning::text(fields.need_string("thinking")?))
        }
        "redacted_thinking" => {
            signature = sign(Some(fields.need_string("data")?));
            Body::Reasoning(Reasoning { sections: vec![], redacted: true })
        }
        "tool_use" => Body::Call(Call {
            id: Some(fields.need_string("id")?),
            name: fields.need_string("name")?,
            arguments: decode_input(&mut fields)?,
        }),
        _ => Body::Outcome(decode_outcome(&mut fields)?),
    };
    Ok(Part { body, signature, cache, origin, extra: fields.into_extra() })
}

/// Creates an Anthropic signature; `None` if the value is empty.
pub(super) fn sign(value: Option<String>) -> Option<Signature> {
    value.filter(|value| !value.is_empty()).map(|value| Signature { dialect: DIALECT, value })
}

/// Documents made of blocks, and unknown sources, stay as they are.
fn has_foreign_source(block: &Json) -> bool {
    block.get("source").is_some_and(|source| {
        !matches!(
            source.get("type").and_then(Json::as_str),
            Some("base64" | "url" | "file" | "text")
        )
    })
}

fn decode_input(fields: &mut Fields<'_>) -> Result<Arguments> {
    match fields.take("input") {
        None => Ok(Arguments::none()),
        Some(input @ Json::Object(_)) => Ok(Arguments::from_json(&input)),
        Some(_) => Err(fields.expected("input", "an object")),
    }
}

fn decode_outcome(fields: &mut Fields<'_>) -> Result<Outcome> {
    let path = fields.path();
    let path = path.key("content");
    Ok(Outcome {
        call_id: Some(fields.need_string("tool_use_id")?),
        name: None,
        content: fields
            .take("content")
            .map_or(Ok(vec![]), |content| decode_content(content, path))?,
        error: fields.boolean("is_error")?,
    })
}

fn decode_media(fields: &mut Fields<'_>, kind: MediaKind) -> Result<Media> {
    let path = fields.path();
    let mut source = Fields::new(fields.need("source")?, path.key("source"), DIALECT)?;
    let mime = source.string("media_type")?;
    let source = match source.need_string("type")?.as_str() {
        "base64" if mime.is_none() => return Err(source.missing("media_type")),
        "base64" => MediaSource::Base64(source.need_string("data")?),
        "text" => MediaSource::Text(source.need_string("data")?),
        "url" => MediaSource::Url(source.need_string("url")?),
        _ => MediaSource::File(DIALECT, source.need_string("file_id")?),
    };
    Ok(Media { kind, mime, source, name: fields.string("title")? })
}

/// Encodes a block; `None` for parts that [`fit`](crate::fit) removes.
pub(super) fn encode(part: Part) -> Option<Json> {
    let own_signature = part.signature.filter(|own| own.dialect.shares_signatures(DIALECT));
    let signature = own_signature.map_or(String::new(), |own| own.value);
    let mut object = match part.body {
        Body::Text(text) | Body::Refusal(text) => object! {"type": "text", "text": text},
        Body::Json(value) => object! {"type": "text", "text": value.compact()},
        Body::Media(media) => encode_media(media)?,
        Body::Reasoning(reasoning) if reasoning.redacted => {
            object! {"type": "redacted_thinking", "data": signature}
        }
        Body::Reasoning(reasoning) => {
            object! {"type": "thinking", "thinking": reasoning.joined(), "signature": signature}
        }
        Body::Call(call) => object! {
            "type": "tool_use",
            "id": call.id.unwrap_or_default(),
            "name": call.name,
            "input": call.arguments.to_object(),
        },
        Body::Outcome(outcome) => encode_outcome(outcome),
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value),
        Body::Opaque(_) => return None,
    };
    wire::put_cache(&mut object, part.cache.as_ref());
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}

fn encode_outcome(outcome: Outcome) -> Object {
    let mut object = object! {
        "type": "tool_result",
        "tool_use_id": outcome.call_id.unwrap_or_default(),
    };
    if !outcome.content.is_empty() {
        object.insert("content", encode_content(outcome.content));
    }
    object.insert_some("is_error", outcome.error);
    object
}

fn encode_media(media: Media) -> Option<Object> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Document => "document",
        MediaKind::Audio | MediaKind::Video => return None,
    };
    let usual = match (media.kind, &media.source) {
        (_, MediaSource::Url(_) | MediaSource::File(..)) => None,
        (_, MediaSource::Text(_)) => Some("text/plain"),
        (MediaKind::Image, _) => Some("image/png"),
        _ => Some("application/pdf"),
    };
    let mut source = match media.source {
        MediaSource::Base64(data) => object! {"type": "base64", "data": data},
        MediaSource::Text(data) => object! {"type": "text", "data": data},
        MediaSource::Url(url) => object! {"type": "url", "url": url},
        MediaSource::File(_, id) => object! {"type": "file", "file_id": id},
    };
    if let Some(usual) = usual {
        source.insert("media_type", media.mime.unwrap_or_else(|| usual.to_owned()));
    }
    let mut object = object! {"type": kind, "source": source};
    object.insert_some("title", media.name);
    Some(object)
}
