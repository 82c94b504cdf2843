//! The parts of `content`, for requests and responses.

use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::{Body, Origin, Part};
use toolwright_json::{Json, Object, Path, object};

use crate::codec::{Fields, Result, elements};
use crate::dialect::openai_chat::Quirks;
use crate::dialect::openai_chat::wire::{self, CONTENT, PLACE};

/// Takes `content`: nothing, a string, or parts. Records the form of an empty one, if we would
/// write another.
pub(in crate::dialect::openai_chat) fn decode_content(
    fields: &mut Fields<'_>,
    nothing: &Json,
    quirks: &Quirks,
) -> Result<Vec<Part>> {
    let path = fields.path();
    let path = path.key("content");
    let content = fields.take("content").unwrap_or_default();
    let empty = match &content {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(parts) => parts.is_empty(),
        _ => false,
    };
    if empty {
        if content != *nothing {
            fields.put_back(CONTENT, content);
        }
        return Ok(vec![]);
    }
    match content {
        Json::String(text) => Ok(vec![Part::text(text).with_origin(Origin::at(&path))]),
        Json::Array(parts) => elements(parts, &path, |part, path| decode(part, path, quirks)),
        _ => Err(fields.expected("content", "a string or an array of parts")),
    }
}

/// Encodes `content`, as a string if possible.
pub(in crate::dialect::openai_chat) fn encode_content<'a>(
    parts: impl IntoIterator<Item = &'a Part>,
    nothing: Json,
    quirks: &Quirks,
) -> Json {
    let items: Vec<Json> = parts.into_iter().filter_map(|part| encode(part, quirks)).collect();
    match items.as_slice() {
        [] => nothing,
        [Json::Object(only)] if only.len() == 2 && only.get("type") == Some(&"text".into()) => {
            // An empty string would be decoded as no content.
            match only.get("text") {
                Some(Json::String(text)) if !text.is_empty() => text.clone().into(),
                _ => Json::Array(items),
            }
        }
        _ => Json::Array(items),
    }
}

/// The types of parts that have a canonical form. Qwen, Zhipu, OpenRouter and vLLM accept
/// `video_url`.
const KINDS: [&str; 6] = ["text", "refusal", "image_url", "video_url", "input_audio", "file"];

/// Decodes a part.
fn decode(wire: Json, path: Path<'_>, quirks: &Quirks) -> Result<Part> {
    let mut fields = Fields::new(wire, path, quirks.dialect)?;
    let origin = fields.origin();
    let kind = fields.tag("type").unwrap_or_default().to_owned();
    if !KINDS.contains(&kind.as_str()) {
        let whole = Json::Object(fields.into_object());
        return Ok(Part::opaque(quirks.dialect, whole).with_origin(origin));
    }
    fields.take("type");
    let cache = wire::take_cache(&mut fields);
    let body = match kind.as_str() {
        "text" => Body::Text(fields.need_text("text")?),
        "refusal" => {
            fields.put_back(PLACE, "content");
            Body::Refusal(fields.need_text("refusal")?)
        }
        "image_url" => {
            Body::Media(decode_link(&mut fields, "image_url", MediaKind::Image, quirks)?)
        }
        "video_url" => {
            Body::Media(decode_link(&mut fields, "video_url", MediaKind::Video, quirks)?)
        }
        "input_audio" => Body::Media(decode_audio(&mut fields, quirks)?),
        _ => Body::Media(decode_file(&mut fields, quirks)?),
    };
    Ok(Part { body, signature: None, cache, origin, extra: fields.into_extra() })
}

/// Decodes media by URL or `data:` URL.
fn decode_link(
    fields: &mut Fields<'_>,
    key: &'static str,
    kind: MediaKind,
    quirks: &Quirks,
) -> Result<Media> {
    let path = fields.path();
    let url = match fields.need(key)? {
        Json::String(url) => url.into_string(),
        own => {
            let mut own = Fields::new(own, path.key(key), quirks.dialect)?;
            let url = own.need_string("url")?;
            fields.put_back_rest(key, own.into_object());
            url
        }
    };
    let (mime, source) = match split_data_url(&url) {
        Some((mime, data)) => (Some(mime.to_owned()), MediaSource::Base64(data.to_owned())),
        None => (None, MediaSource::Url(url)),
    };
    Ok(Media { kind, mime, source, name: None })
}

fn decode_audio(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Media> {
    let path = fields.path();
    let mut own =
        Fields::new(fields.need("input_audio")?, path.key("input_audio"), quirks.dialect)?;
    let source = MediaSource::Base64(own.need_string("data")?);
    let mime = own.string("format")?.map(|format| match format.as_str() {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    });
    fields.put_back_rest("input_audio", own.into_object());
    Ok(Media { kind: MediaKind::Audio, mime, source, name: None })
}

fn decode_file(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Media> {
    let path = fields.path();
    let mut own = Fields::new(fields.need("file")?, path.key("file"), quirks.dialect)?;
    let (mime, source) = match own.string("file_data")? {
        Some(data) => match split_data_url(&data) {
            Some((mime, data)) => (Some(mime.to_owned()), MediaSource::Base64(data.to_owned())),
            None if is_address(&data) => (None, MediaSource::Url(data)),
            None => (None, MediaSource::Base64(data)),
        },
        None => (None, MediaSource::File(quirks.dialect, own.need_string("file_id")?)),
    };
    let name = own.string("filename")?;
    fields.put_back_rest("file", own.into_object());
    Ok(Media { kind: MediaKind::Document, mime, source, name })
}

/// Whether `file_data` is the URL of a file, as OpenRouter accepts it.
fn is_address(data: &str) -> bool {
    data.starts_with("https://") || data.starts_with("http://")
}

/// Splits `data:…;base64,…` into media type and data.
fn split_data_url(url: &str) -> Option<(&str, &str)> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    (!mime.is_empty()).then_some((mime, data))
}

/// Encodes a part of `content`; `None` for parts that [`fit`](crate::fit) removes.
fn encode(part: &Part, quirks: &Quirks) -> Option<Json> {
    let mut object = match &part.body {
        Body::Text(text) => object! {"type": "text", "text": text.clone()},
        Body::Refusal(text) => object! {"type": "refusal", "refusal": text.clone()},
        Body::Json(value) => object! {"type": "text", "text": value.compact()},
        Body::Media(media) => encode_media(media, quirks)?,
        Body::Opaque(own) if own.dialect.shares_wire(quirks.dialect) => {
            return Some(own.value.clone());
        }
        _ => return None,
    };
    wire::put_cache(&mut object, part.cache.as_ref(), quirks);
    part.extra.write_into(quirks.dialect, &mut object);
    Some(Json::Object(object))
}

/// Creates a part with the URL of media.
fn link(kind: &'static str, url: &str) -> Object {
    let mut object = object! {"type": kind};
    object.insert(kind, object! {"url": url});
    object
}

fn encode_media(media: &Media, quirks: &Quirks) -> Option<Object> {
    let mime = media.mime.as_deref();
    Some(match (media.kind, &media.source) {
        (MediaKind::Image, MediaSource::Url(url)) => link("image_url", url),
        (MediaKind::Image, MediaSource::Base64(data)) => {
            link("image_url", &format!("data:{};base64,{data}", mime.unwrap_or("image/png")))
        }
        (MediaKind::Video, MediaSource::Url(url)) => link("video_url", url),
        (MediaKind::Video, MediaSource::Base64(data)) => {
            link("video_url", &format!("data:{};base64,{data}", mime.unwrap_or("video/mp4")))
        }
        (MediaKind::Audio, MediaSource::Base64(data)) => {
            let format = mime.and_then(|mime| mime.strip_prefix("audio/")).unwrap_or("wav");
            let format = if format == "mpeg" { "mp3" } else { format };
            let audio = object! {"data": data.as_str(), "format": format};
            object! {"type": "input_audio", "input_audio": audio}
        }
        (MediaKind::Document, source) => {
            let mut file = match source {
                MediaSource::Base64(data) => object! {"file_data": match mime {
                    Some(mime) => format!("data:{mime};base64,{data}"),
                    None => data.clone(),
                }},
                MediaSource::Url(url) => object! {"file_data": url.as_str()},
                MediaSource::File(dialect, id) if dialect.shares_wire(quirks.dialect) => {
                    object! {"file_id": id.as_str()}
                }
                _ => return None,
            };
            file.insert_some("filename", media.name.as_deref());
            object! {"type": "file", "file": file}
        }
        _ => return None,
    })
}
