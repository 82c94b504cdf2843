//! Content blocks of a result.

use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::{Body, Origin, Part};
use toolwright_json::{Json, Object, Path, object};

use super::super::wire::DIALECT;
use crate::codec::{Fields, Result};

/// Decodes a block. An embedded resource becomes its text or media; its URI stays extra. Content
/// that must be fetched, such as a link, stays as it is.
pub(super) fn decode(block: Json, path: Path<'_>) -> Result<Part> {
    let origin = Origin::at(&path);
    let resource = block.get("resource");
    let embeds = |key| resource.and_then(|own| own.get(key)).is_some();
    let kind = match block.get("type").and_then(Json::as_str) {
        Some("text") => "text",
        Some("image") => "image",
        Some("audio") => "audio",
        Some("resource") if embeds("text") || embeds("blob") => "resource",
        _ => {
            Fields::new(block.clone(), path, DIALECT)?;
            return Ok(Part::opaque(DIALECT, block).with_origin(origin));
        }
    };
    let mut fields = Fields::new(block, path, DIALECT)?;
    fields.take("type");
    let body = match kind {
        "text" => Body::Text(fields.need_text("text")?),
        "resource" => decode_resource(&mut fields)?,
        kind => Body::Media(Media {
            kind: if kind == "image" { MediaKind::Image } else { MediaKind::Audio },
            mime: Some(fields.need_string("mimeType")?),
            source: MediaSource::Base64(fields.need_string("data")?),
            name: None,
        }),
    };
    Ok(Part::new(body).with_origin(origin).with_extra(fields.into_extra()))
}

fn decode_resource(fields: &mut Fields<'_>) -> Result<Body> {
    let path = fields.path();
    let mut resource = Fields::new(fields.need("resource")?, path.key("resource"), DIALECT)?;
    let body = if let Some(text) = resource.text("text")? {
        Body::Text(text)
    } else {
        let mime = resource.string("mimeType")?;
        let kind = mime.as_deref().map_or(MediaKind::Document, kind_of);
        let source = MediaSource::Base64(resource.need_string("blob")?);
        Body::Media(Media { kind, mime, source, name: None })
    };
    fields.put_back("resource", resource.into_object());
    Ok(body)
}

fn kind_of(mime: &str) -> MediaKind {
    match mime.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    }
}

/// Encodes a block; `None` for parts that a result cannot contain.
pub(super) fn encode(part: &Part) -> Option<Json> {
    let embedded = part.extra.get(DIALECT, "resource").is_some();
    let mut object = match &part.body {
        Body::Text(text) if embedded => embed(object! {"text": text.clone()}),
        Body::Text(text) | Body::Refusal(text) => object! {"type": "text", "text": text.clone()},
        Body::Json(value) => object! {"type": "text", "text": value.compact()},
        Body::Media(media) => encode_media(media, embedded)?,
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        Body::Reasoning(_) | Body::Call(_) | Body::Outcome(_) | Body::Opaque(_) => return None,
    };
    part.extra.write_into(DIALECT, &mut object);
    if let (Body::Media(media), Some(Json::Object(resource))) =
        (&part.body, object.get_mut("resource"))
        && !resource.contains_key("uri")
    {
        resource.insert("uri", address(media));
    }
    Some(Json::Object(object))
}

fn embed(resource: Object) -> Object {
    object! {"type": "resource", "resource": resource}
}

/// Encodes media: images and audio have their own blocks; everything else is a resource.
fn encode_media(media: &Media, embedded: bool) -> Option<Object> {
    let mime = media.mime.as_deref();
    let data = match &media.source {
        MediaSource::Base64(data) => data.as_str(),
        MediaSource::Text(text) => {
            let mime = mime.unwrap_or("text/plain");
            return Some(embed(object! {"mimeType": mime, "text": text.as_str()}));
        }
        MediaSource::Url(url) => {
            let name = media.name.as_deref().unwrap_or(url);
            let mut link = object! {"type": "resource_link", "uri": url.as_str(), "name": name};
            link.insert_some("mimeType", mime);
            return Some(link);
        }
        MediaSource::File(..) => return None,
    };
    let (kind, fallback) = match media.kind {
        MediaKind::Image => ("image", "image/png"),
        MediaKind::Audio => ("audio", "audio/wav"),
        MediaKind::Document | MediaKind::Video => ("resource", ""),
    };
    if embedded || kind == "resource" {
        let mut resource = object! {"blob": data};
        resource.insert_some("mimeType", mime);
        return Some(embed(resource));
    }
    Some(object! {"type": kind, "data": data, "mimeType": mime.unwrap_or(fallback)})
}

/// Creates the URI that the protocol requires, for a resource without one.
fn address(media: &Media) -> String {
    format!("file:///{}", media.name.as_deref().unwrap_or("attachment"))
}
