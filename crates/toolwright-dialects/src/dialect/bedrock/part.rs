//! Content blocks, for requests, responses and streams.
//!
//! A block is a union with one member, which contains all fields. Extra fields and origins are
//! those of the member, except for a text, whose member is a string.

use toolwright_core::part::{Media, MediaKind, MediaSource, Reasoning, Signature};
use toolwright_core::{Arguments, Body, Call, Extra, Origin, Outcome, Part, note};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, DIALECT};
use crate::codec::{DecodeError, Fields, Result};

/// A note: the `type` of a call or a result that only repeats its union's member.
const TYPE: &str = note!("type");

/// A note: the content of `citationsContent`, if it is not a single text with sources.
const CITED: &str = note!("cited");

/// Decodes a list of blocks. A cache breakpoint belongs to the block before it; one without such a
/// block, or a second one, stays as it is.
pub(super) fn decode_all(blocks: Vec<Json>, path: Path<'_>) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for (index, block) in blocks.into_iter().enumerate() {
        let path = path.index(index);
        match (parts.last_mut(), wire::decode_cache(&block, path)) {
            (Some(part), Some(cache)) if part.cache.is_none() => part.cache = Some(cache),
            _ => parts.push(decode(block, path)?),
        }
    }
    Ok(parts)
}

/// Encodes a list of blocks, each cache breakpoint after its block.
pub(super) fn encode_all(parts: &[Part]) -> Vec<Json> {
    let mut blocks = Vec::new();
    for part in parts {
        let Some(block) = encode(part) else { continue };
        blocks.push(block);
        blocks.extend(part.cache.as_ref().map(wire::encode_cache));
    }
    blocks
}

/// Decodes a block.
pub(super) fn decode(block: Json, path: Path<'_>) -> Result<Part> {
    let (kind, own) = wire::member(block.clone(), path)?;
    let inner = path.key(&kind);
    if let Some((media, _)) = wire::MEDIA.iter().find(|(_, word)| *word == kind) {
        return if has_own_bytes(*media, &own) {
            decode_media(*media, own, inner)
        } else {
            Ok(opaque(block, path))
        };
    }
    match (kind.as_ref(), own) {
        ("text", Json::String(text)) => Ok(Part::text(text).with_origin(Origin::at(&path))),
        ("text", _) => Err(DecodeError::expected(DIALECT, &inner, "a string")),
        ("toolUse", own) if !is_server_call(&own) => decode_call(own, inner),
        ("toolResult", own) if !is_server_result(&own) => decode_outcome(own, inner),
        ("reasoningContent", own) => match wire::member(own, inner)? {
            (kind, own) if kind == "reasoningText" => decode_reasoning(own, inner.key(&kind)),
            (kind, Json::String(blob)) if kind == "redactedContent" => {
                Ok(redacted(blob.into_string(), &inner))
            }
            _ => Ok(opaque(block, path)),
        },
        ("citationsContent", own) => {
            Ok(decode_cited(own, &inner).unwrap_or_else(|| opaque(block, path)))
        }
        _ => Ok(opaque(block, path)),
    }
}

fn opaque(block: Json, path: Path<'_>) -> Part {
    Part::opaque(DIALECT, block).with_origin(Origin::at(&path))
}

/// Whether Bedrock runs this call itself. Claude 4.5 and later mark ordinary calls with
/// `type: "tool_use"` (`docs/dialects/bedrock.md#known-quirks`).
pub(super) fn is_server_call(own: &Json) -> bool {
    own.get("type").and_then(Json::as_str) == Some("server_tool_use")
}

/// Whether this is the result of a tool that Bedrock ran itself. Its type names the tool, as in
/// `nova_code_interpreter_result`.
fn is_server_result(own: &Json) -> bool {
    own.get("type").and_then(Json::as_str).is_some_and(|kind| kind != "tool_result")
}

/// Turns a `type` that only repeats the name of the union's member into a note, so that it returns
/// to Bedrock and its absence elsewhere is no loss.
pub(super) fn note_type(fields: &mut Fields<'_>, kind: &str) {
    if fields.tag("type") == Some(kind) {
        fields.take("type");
        fields.put_back(TYPE, kind.to_owned());
    }
}

/// Encodes the `type` that [`note_type`] noted.
pub(super) fn encode_type(extra: &Extra, object: &mut Object) {
    object.insert_some("type", extra.get(DIALECT, TYPE).cloned());
}

fn decode_call(own: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(own, path, DIALECT)?;
    note_type(&mut fields, "tool_use");
    let id = Some(fields.need_string("toolUseId")?);
    let name = fields.need_string("name")?;
    let arguments = match fields.take("input") {
        None => Arguments::none(),
        Some(input @ Json::Object(_)) => Arguments::from_json(&input),
        Some(_) => return Err(fields.expected("input", "an object")),
    };
    let part = Part::call(Call { id, name, arguments }).with_origin(fields.origin());
    Ok(part.with_extra(fields.into_extra()))
}

fn decode_outcome(own: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(own, path, DIALECT)?;
    note_type(&mut fields, "tool_result");
    let call_id = Some(fields.need_string("toolUseId")?);
    let error = match fields.tag("status") {
        Some("success") => Some(false),
        Some("error") => Some(true),
        // An unknown word stays extra.
        _ => None,
    };
    if error.is_some() {
        fields.take("status");
    }
    let path = path.key("content");
    let mut content = Vec::new();
    for (index, block) in fields.array("content")?.into_iter().enumerate() {
        content.push(decode_result(block, path.index(index))?);
    }
    let outcome = Outcome { call_id, name: None, content, error };
    let part = Part::outcome(outcome).with_origin(fields.origin());
    Ok(part.with_extra(fields.into_extra()))
}

/// Decodes a block of an outcome, which may also be JSON.
fn decode_result(block: Json, path: Path<'_>) -> Result<Part> {
    match wire::member(block.clone(), path) {
        Ok((kind, value)) if kind == "json" => {
            Ok(Part::new(Body::Json(value)).with_origin(Origin::at(&path)))
        }
        _ => decode(block, path),
    }
}

fn decode_reasoning(own: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(own, path, DIALECT)?;
    let signature = sign(fields.string("signature")?);
    let reasoning = Reasoning::text(fields.need_string("text")?);
    let origin = fields.origin();
    Ok(Part {
        signature,
        origin,
        extra: fields.into_extra(),
        ..Part::new(Body::Reasoning(reasoning))
    })
}

/// Builds redacted reasoning. The blob is the base64 text of the wire, unchanged; Anthropic's `data`
/// is exchanged with it as it is (`docs/dialects/bedrock.md#reasoning`).
pub(super) fn redacted(blob: String, path: &Path<'_>) -> Part {
    let reasoning = Reasoning { sections: vec![], redacted: true };
    let part = Part { signature: sign(Some(blob)), ..Part::new(Body::Reasoning(reasoning)) };
    part.with_origin(Origin::at(path))
}

/// Creates a Bedrock signature; `None` if the value is empty.
pub(super) fn sign(value: Option<String>) -> Option<Signature> {
    value.filter(|value| !value.is_empty()).map(|value| Signature { dialect: DIALECT, value })
}

/// Decodes a text with its sources: a stream sends the same text with `citation` deltas. Other
/// content is stored in a note.
fn decode_cited(own: Json, path: &Path<'_>) -> Option<Part> {
    let Json::Object(mut own) = own else { return None };
    let content = own.remove("content")?;
    let blocks = content.as_array()?;
    let text =
        blocks.iter().map(|block| block.get("text")?.as_str()).collect::<Option<String>>()?;
    let cited = own.get("citations").and_then(Json::as_array).is_some_and(|own| !own.is_empty());
    if !cited || !content.same(&content_of(&text)) {
        own.insert(CITED, content);
    }
    Some(Part::text(text).with_origin(Origin::at(path)).with_extra(Extra::new(DIALECT, own)))
}

/// Returns the content of a text with sources.
fn content_of(text: &str) -> Json {
    Json::Array(vec![wire::union("text", text)])
}

/// Whether media are inline. Media in S3, or made of blocks, stay as they are.
fn has_own_bytes(kind: MediaKind, own: &Json) -> bool {
    own.get("source").and_then(Json::as_object).is_some_and(|source| {
        source.contains_key("bytes") || kind == MediaKind::Document && source.contains_key("text")
    })
}

fn decode_media(kind: MediaKind, own: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(own, path, DIALECT)?;
    let mut source = Fields::new(fields.need("source")?, path.key("source"), DIALECT)?;
    let source = match source.string("text")? {
        Some(text) => MediaSource::Text(text),
        None => MediaSource::Base64(source.need_string("bytes")?),
    };
    let format = fields.string("format")?;
    let mime = format.as_deref().and_then(|format| wire::mime_of(kind, format));
    // A format that its media type does not map back to is stored as well.
    if let Some(format) =
        format.filter(|own| mime.map(|mime| wire::format_of(kind, mime)) != Some(own))
    {
        fields.put_back("format", format);
    }
    let name = if kind == MediaKind::Document { fields.string("name")? } else { None };
    let media = Media { kind, mime: mime.map(str::to_owned), source, name };
    let part = Part::new(Body::Media(media)).with_origin(fields.origin());
    Ok(part.with_extra(fields.into_extra()))
}

/// Encodes a block; `None` for parts that [`fit`](crate::fit) removes.
pub(super) fn encode(part: &Part) -> Option<Json> {
    let own_signature =
        part.signature.as_ref().filter(|own| own.dialect.shares_signatures(DIALECT));
    let signature = own_signature.map(|own| own.value.as_str());
    let (member, mut object) = match &part.body {
        Body::Text(text) => {
            let noted = part.extra.get(DIALECT, CITED);
            if noted.is_none() && part.extra.get(DIALECT, "citations").is_none() {
                return Some(wire::union("text", text.clone()));
            }
            let content = noted.cloned().unwrap_or_else(|| content_of(text));
            ("citationsContent", object! {"content": content})
        }
        Body::Refusal(text) => return Some(wire::union("text", text.clone())),
        Body::Json(value) => return Some(wire::union("text", value.compact())),
        Body::Media(media) => encode_media(media, &part.extra)?,
        Body::Reasoning(reasoning) if reasoning.redacted => {
            let blob = object! {"redactedContent": signature.unwrap_or_default()};
            return Some(wire::union("reasoningContent", blob));
        }
        Body::Reasoning(reasoning) => {
            let mut text = object! {"text": reasoning.joined()};
            text.insert_some("signature", signature);
            part.extra.write_into(DIALECT, &mut text);
            return Some(wire::union("reasoningContent", object! {"reasoningText": text}));
        }
        Body::Call(call) => (
            "toolUse",
            object! {
                "toolUseId": call.id.as_deref().unwrap_or_default(),
                "name": call.name.as_str(),
                "input": call.arguments.to_object(),
            },
        ),
        Body::Outcome(outcome) => ("toolResult", encode_outcome(outcome)),
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        Body::Opaque(_) => return None,
    };
    encode_type(&part.extra, &mut object);
    part.extra.write_into(DIALECT, &mut object);
    Some(wire::union(member, object))
}

/// `content` is required, even if empty. It contains no cache breakpoints.
fn encode_outcome(outcome: &Outcome) -> Object {
    let content = outcome.content.iter().filter_map(|part| match &part.body {
        Body::Json(value) => Some(wire::union("json", value.clone())),
        _ => encode(part),
    });
    let mut object = object! {
        "toolUseId": outcome.call_id.as_deref().unwrap_or_default(),
        "content": Json::Array(content.collect()),
    };
    object
        .insert_some("status", outcome.error.map(|error| if error { "error" } else { "success" }));
    object
}

fn encode_media(media: &Media, extra: &Extra) -> Option<(&'static str, Object)> {
    let member = wire::MEDIA.iter().find(|(kind, _)| *kind == media.kind)?.1;
    let source = match &media.source {
        MediaSource::Base64(data) => object! {"bytes": data.as_str()},
        MediaSource::Text(text) => object! {"text": text.as_str()},
        MediaSource::Url(_) | MediaSource::File(..) => return None,
    };
    let mime = media.mime.as_deref();
    let own = extra.get(DIALECT, "format").and_then(Json::as_str);
    let own = own.filter(|own| wire::mime_of(media.kind, own) == mime);
    // Only a document may omit its format.
    let fallback = match media.kind {
        MediaKind::Image => Some("png"),
        MediaKind::Audio => Some("mp3"),
        MediaKind::Video => Some("mp4"),
        MediaKind::Document => None,
    };
    let mut object = Object::new();
    let format = own.or(mime.map(|mime| wire::format_of(media.kind, mime))).or(fallback);
    object.insert_some("format", format);
    if media.kind == MediaKind::Document {
        object.insert("name", media.name.as_deref().unwrap_or("document"));
    }
    object.insert("source", source);
    Some((member, object))
}
