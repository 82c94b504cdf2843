//! Chunks with media: images and documents by URL or `data:` URL, audio, and files.

use toolwright_core::Extra;
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_json::{Json, Object, object};

use super::super::wire::DIALECT;
use crate::codec::{Fields, Result};

/// Decodes a chunk of a kind.
pub(super) fn decode(kind: &str, fields: &mut Fields<'_>) -> Result<Media> {
    match kind {
        "image_url" => decode_image(fields),
        "document_url" => {
            let name = fields.string("document_name")?;
            let media = located(MediaKind::Document, fields.need_string("document_url")?);
            Ok(Media { name, ..media })
        }
        "input_audio" => decode_audio(fields),
        _ => Ok(Media {
            kind: MediaKind::Document,
            mime: None,
            source: MediaSource::File(DIALECT, fields.need_string("file_id")?),
            name: None,
        }),
    }
}

/// Decodes `image_url`, a URL, or an object with it whose other fields stay extra.
fn decode_image(fields: &mut Fields<'_>) -> Result<Media> {
    let path = fields.path();
    let url = match fields.need("image_url")? {
        Json::String(url) => url.into_string(),
        wire => {
            let mut image = Fields::new(wire, path.key("image_url"), DIALECT)?;
            let url = image.need_string("url")?;
            fields.put_back("image_url", image.into_object());
            url
        }
    };
    Ok(located(MediaKind::Image, url))
}

/// Decodes `input_audio`, bytes, or an object with their format as in Chat Completions, whose other
/// fields stay extra.
fn decode_audio(fields: &mut Fields<'_>) -> Result<Media> {
    let path = fields.path();
    let path = path.key("input_audio");
    let wire = match fields.need("input_audio")? {
        Json::String(text) => return Ok(located(MediaKind::Audio, text.into_string())),
        wire => wire,
    };
    let mut audio = Fields::new(wire, path, DIALECT)?;
    let source = MediaSource::Base64(audio.need_string("data")?);
    let mime = audio.string("format")?.map(|format| match format.as_str() {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    });
    fields.put_back("input_audio", audio.into_object());
    Ok(Media { kind: MediaKind::Audio, mime, source, name: None })
}

/// Decodes media by URL, by `data:` URL, or (audio only) by base64.
fn located(kind: MediaKind, text: String) -> Media {
    let data = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (mime, source) = match data {
        Some((mime, data)) if !mime.is_empty() => {
            (Some(mime.to_owned()), MediaSource::Base64(data.to_owned()))
        }
        _ if kind == MediaKind::Audio && !text.contains(':') => (None, MediaSource::Base64(text)),
        _ => (None, MediaSource::Url(text)),
    };
    Media { kind, mime, source, name: None }
}

/// Encodes a chunk; `None` for parts that [`fit`](crate::fit) removes.
pub(super) fn encode(media: &Media, extra: &Extra) -> Option<Object> {
    let fallback = match media.kind {
        MediaKind::Image => "image/png",
        MediaKind::Document => "application/pdf",
        MediaKind::Audio => "",
        MediaKind::Video => return None,
    };
    let mime = media.mime.as_deref().unwrap_or(fallback);
    let url = match &media.source {
        MediaSource::Base64(data) if mime.is_empty() => data.clone(),
        MediaSource::Base64(data) => format!("data:{mime};base64,{data}"),
        MediaSource::Url(url) => url.clone(),
        MediaSource::File(_, id) => return Some(object! {"type": "file", "file_id": id.as_str()}),
        MediaSource::Text(_) => return None,
    };
    if let (MediaKind::Audio, MediaSource::Base64(data), Some(_)) =
        (media.kind, &media.source, extra.get(DIALECT, "input_audio"))
    {
        let mut audio = object! {"data": data.as_str()};
        let format = media.mime.as_deref().and_then(|mime| mime.strip_prefix("audio/"));
        audio.insert_some("format", format.map(|own| if own == "mpeg" { "mp3" } else { own }));
        return Some(object! {"type": "input_audio", "input_audio": audio});
    }
    Some(match media.kind {
        MediaKind::Image if extra.get(DIALECT, "image_url").is_some() => {
            object! {"type": "image_url", "image_url": object! {"url": url}}
        }
        MediaKind::Image => object! {"type": "image_url", "image_url": url},
        MediaKind::Document => {
            let mut object = object! {"type": "document_url", "document_url": url};
            object.insert_some("document_name", media.name.as_deref());
            object
        }
        _ => object! {"type": "input_audio", "input_audio": url},
    })
}
