//! Content parts of a message item or of a call's output.

use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::{Body, Origin, Part};
use toolwright_json::{Json, Object, Path, object};

use super::super::wire::{self, DIALECT};
use crate::codec::{DecodeError, Fields, Result, elements};

/// The side of a text: there is one type for input and another for output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Side {
    Input,
    Output,
}

impl Side {
    fn text_type(self) -> &'static str {
        match self {
            Side::Input => "input_text",
            Side::Output => "output_text",
        }
    }
}

/// Decodes content: a string, or parts.
pub(in super::super) fn decode_all(content: Json, path: Path<'_>, side: Side) -> Result<Vec<Part>> {
    match content {
        Json::String(text) => Ok(vec![Part::text(text).with_origin(Origin::at(&path))]),
        Json::Array(parts) => elements(parts, &path, |part, path| decode(part, path, side)),
        _ => Err(DecodeError::expected(DIALECT, &path, "a string or an array of parts")),
    }
}

/// Decodes a part.
fn decode(wire: Json, path: Path<'_>, side: Side) -> Result<Part> {
    let known = match wire.get("type").and_then(Json::as_str) {
        Some("input_text" | "output_text" | "text" | "refusal" | "input_audio") => true,
        Some("input_image") => has_source(&wire, &["image_url", "file_id"]),
        Some("input_file") => has_source(&wire, &["file_data", "file_url", "file_id"]),
        _ => false,
    };
    let origin = Origin::at(&path);
    if !known {
        Fields::new(wire.clone(), path, DIALECT)?;
        return Ok(Part::opaque(DIALECT, wire).with_origin(origin));
    }
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let cache = wire::take_cache(&mut fields);
    let kind = fields.need_string("type")?;
    let body = match kind.as_str() {
        "input_image" => Body::Media(decode_image(&mut fields)?),
        "input_file" => Body::Media(decode_file(&mut fields)?),
        "input_audio" => Body::Media(decode_audio(&mut fields)?),
        "refusal" => Body::Refusal(fields.need_text("refusal")?),
        _ => {
            take_empty(&mut fields, "annotations");
            take_empty(&mut fields, "logprobs");
            Body::Text(fields.need_text("text")?)
        }
    };
    let mut part = Part { body, signature: None, cache, origin, extra: fields.into_extra() };
    // Chat's `text` is encoded as the type of this dialect.
    if matches!(kind.as_str(), "input_text" | "output_text") && kind != side.text_type() {
        part.extra.insert(DIALECT, wire::TYPE, kind);
    }
    Ok(part)
}

fn has_source(wire: &Json, keys: &[&str]) -> bool {
    keys.iter().any(|key| wire.get(key).is_some_and(|value| !value.is_null()))
}

/// Drops an empty list, which the encoder adds.
fn take_empty(fields: &mut Fields<'_>, key: &str) {
    if fields.peek(key).and_then(Json::as_array).is_some_and(<[Json]>::is_empty) {
        fields.take(key);
    }
}

fn decode_image(fields: &mut Fields<'_>) -> Result<Media> {
    if fields.tag("detail") == Some("auto") {
        fields.take("detail");
    }
    let (mime, source) = match fields.string("image_url")? {
        Some(url) => decode_url(url),
        None => (None, MediaSource::File(DIALECT, fields.need_string("file_id")?)),
    };
    Ok(Media { kind: MediaKind::Image, mime, source, name: None })
}

fn decode_file(fields: &mut Fields<'_>) -> Result<Media> {
    let (mime, source) = if let Some(data) = fields.string("file_data")? {
        match decode_url(data) {
            // Base64 without the prefix of a `data:` URL.
            (_, MediaSource::Url(data)) => (None, MediaSource::Base64(data)),
            known => known,
        }
    } else if let Some(url) = fields.string("file_url")? {
        (None, MediaSource::Url(url))
    } else {
        (None, MediaSource::File(DIALECT, fields.need_string("file_id")?))
    };
    Ok(Media { kind: MediaKind::Document, mime, source, name: fields.string("filename")? })
}

fn decode_audio(fields: &mut Fields<'_>) -> Result<Media> {
    let path = fields.path();
    let mut audio = Fields::new(fields.need("input_audio")?, path.key("input_audio"), DIALECT)?;
    let source = MediaSource::Base64(audio.need_string("data")?);
    let mime = match audio.need_string("format")?.as_str() {
        "mp3" => "audio/mpeg".to_owned(),
        format => format!("audio/{format}"),
    };
    fields.put_back_rest("input_audio", audio.into_object());
    Ok(Media { kind: MediaKind::Audio, mime: Some(mime), source, name: None })
}

/// Splits a `data:` URL of the form `data:<type>;base64,<data>`; any other stays a URL.
fn decode_url(url: String) -> (Option<String>, MediaSource) {
    let parts = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match parts {
        Some((mime, data)) if !mime.is_empty() && !mime.contains([';', ',']) => {
            (Some(mime.to_owned()), MediaSource::Base64(data.to_owned()))
        }
        _ => (None, MediaSource::Url(url)),
    }
}

/// Encodes content as parts.
pub(in super::super) fn encode_all(parts: &[Part], side: Side) -> Vec<Json> {
    parts.iter().filter_map(|part| encode(part, side)).collect()
}

/// Encodes a part; `None` for parts that are not content, and for parts that [`fit`](crate::fit)
/// removes.
pub(in super::super) fn encode(part: &Part, side: Side) -> Option<Json> {
    let kind = part.extra.get(DIALECT, wire::TYPE).and_then(Json::as_str);
    let kind = kind.unwrap_or(side.text_type());
    let mut object = match &part.body {
        Body::Text(text) => object! {"type": kind, "text": text.clone()},
        Body::Json(value) => object! {"type": kind, "text": value.compact()},
        Body::Refusal(text) => object! {"type": "refusal", "refusal": text.clone()},
        Body::Media(media) => encode_media(media)?,
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        Body::Reasoning(_) | Body::Call(_) | Body::Outcome(_) | Body::Opaque(_) => return None,
    };
    wire::put_cache(&mut object, part.cache.as_ref());
    part.extra.write_into(DIALECT, &mut object);
    object.remove(wire::OUTER);
    object.remove(wire::JOINED);
    // Adds defaults that the SDK's types require.
    match object.get("type").and_then(Json::as_str) {
        Some("output_text") => object
            .merge(&object! {"annotations": Json::Array(vec![]), "logprobs": Json::Array(vec![])}),
        Some("input_image") => object.merge(&object! {"detail": "auto"}),
        _ => {}
    }
    Some(Json::Object(object))
}

fn encode_media(media: &Media) -> Option<Object> {
    let data_url = |data: &String, mime: &str| format!("data:{mime};base64,{data}");
    let mime = media.mime.as_deref();
    let mut object = match (media.kind, &media.source) {
        (MediaKind::Image, MediaSource::Base64(data)) => {
            let url = data_url(data, mime.unwrap_or("image/png"));
            object! {"type": "input_image", "image_url": url}
        }
        (MediaKind::Image, MediaSource::Url(url)) => {
            object! {"type": "input_image", "image_url": url.as_str()}
        }
        (MediaKind::Image, MediaSource::File(_, id)) => {
            object! {"type": "input_image", "file_id": id.as_str()}
        }
        (MediaKind::Document, MediaSource::Base64(data)) => {
            let data = mime.map_or(data.clone(), |mime| data_url(data, mime));
            object! {"type": "input_file", "file_data": data}
        }
        (MediaKind::Document, MediaSource::Url(url)) => {
            object! {"type": "input_file", "file_url": url.as_str()}
        }
        (MediaKind::Document, MediaSource::File(_, id)) => {
            object! {"type": "input_file", "file_id": id.as_str()}
        }
        (MediaKind::Audio, MediaSource::Base64(data)) => {
            let format = match mime {
                Some("audio/mpeg") | None => "mp3",
                Some(mime) => mime.strip_prefix("audio/").unwrap_or(mime),
            };
            let audio = object! {"data": data.as_str(), "format": format};
            object! {"type": "input_audio", "input_audio": audio}
        }
        _ => return None,
    };
    if media.kind == MediaKind::Document {
        object.insert_some("filename", media.name.as_deref());
    }
    Some(object)
}
