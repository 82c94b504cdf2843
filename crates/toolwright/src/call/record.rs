//! How a call ended, as the journal keeps it, and back.

use toolwright_core::part::{Body, Media, MediaKind, MediaSource, Part};
use toolwright_core::{Json, object};

use crate::error::{CallError, CallErrorKind};

/// What the model saw, and why the call failed if it did.
pub(crate) fn write(content: &[Part], error: Option<&CallError>) -> Json {
    let parts: Vec<Json> = content.iter().filter_map(write_part).collect();
    let mut out = object! {"content": parts};
    if let Some(error) = error {
        let mut fields = object! {
            "kind": error.kind.as_str(),
            "text": error.text.as_str(),
            "retryable": error.retryable,
        };
        fields.insert_some("tool_kind", error.tool_kind.as_deref());
        out.insert("error", fields);
    }
    out.into()
}

/// Reads a record; `None` if it is not one of ours.
pub(crate) fn read(record: &Json) -> Option<(Vec<Part>, Option<CallError>)> {
    let content = record.get("content")?.as_array()?;
    let content = content.iter().map(read_part).collect::<Option<Vec<Part>>>()?;
    let error = match record.get("error") {
        Some(error) => Some(CallError {
            kind: CallErrorKind::from_word(error.get("kind")?.as_str()?)?,
            text: error.get("text")?.as_str()?.to_owned(),
            tool_kind: error.get("tool_kind").and_then(Json::as_str).map(str::to_owned),
            retryable: error.get("retryable")?.as_bool()?,
        }),
        None => None,
    };
    Some((content, error))
}

/// Text, JSON and media: an outcome of ours has no other parts.
fn write_part(part: &Part) -> Option<Json> {
    Some(Json::from(match &part.body {
        Body::Text(text) => object! {"text": text.as_str()},
        Body::Json(value) => object! {"json": value.clone()},
        Body::Media(media) => object! {"media": write_media(media)?},
        _ => return None,
    }))
}

fn read_part(part: &Json) -> Option<Part> {
    let (kind, value) = part.as_object()?.iter().next()?;
    Some(match kind {
        "text" => Part::text(value.as_str()?),
        "json" => Part::new(Body::Json(value.clone())),
        "media" => Part::new(Body::Media(read_media(value)?)),
        _ => return None,
    })
}

fn write_media(media: &Media) -> Option<Json> {
    let (form, source) = match &media.source {
        MediaSource::Base64(text) => ("base64", text),
        MediaSource::Text(text) => ("text", text),
        MediaSource::Url(text) => ("url", text),
        // A file at a vendor belongs to a conversation, not to a tool.
        MediaSource::File(..) => return None,
    };
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Document => "document",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
    };
    let mut out = object! {"kind": kind, "form": form, "source": source.as_str()};
    out.insert_some("mime", media.mime.as_deref());
    out.insert_some("name", media.name.as_deref());
    Some(out.into())
}

fn read_media(media: &Json) -> Option<Media> {
    let text = |name: &str| media.get(name).and_then(Json::as_str).map(str::to_owned);
    let source = text("source")?;
    Some(Media {
        kind: match media.get("kind")?.as_str()? {
            "image" => MediaKind::Image,
            "document" => MediaKind::Document,
            "audio" => MediaKind::Audio,
            "video" => MediaKind::Video,
            _ => return None,
        },
        source: match media.get("form")?.as_str()? {
            "base64" => MediaSource::Base64(source),
            "text" => MediaSource::Text(source),
            "url" => MediaSource::Url(source),
            _ => return None,
        },
        mime: text("mime"),
        name: text("name"),
    })
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use crate::error::{CallError, CallErrorKind};
    use toolwright_core::Json;
    use toolwright_core::part::{Body, Media, MediaKind, MediaSource, Part};

    #[test]
    fn a_record_reads_as_it_was_written() {
        let media = Media {
            kind: MediaKind::Image,
            mime: Some("image/png".to_owned()),
            source: MediaSource::Base64("aGk=".to_owned()),
            name: None,
        };
        let content = vec![
            Part::text("words"),
            Part::new(Body::Json(Json::parse(r#"{"id":9007199254740993}"#).unwrap())),
            Part::new(Body::Media(media)),
        ];
        let error = CallError::new(CallErrorKind::Failed, "no").retryable();
        for error in [None, Some(error)] {
            let record = Json::parse(&write(&content, error.as_ref()).compact()).unwrap();
            assert_eq!(read(&record), Some((content.clone(), error)));
        }
        assert_eq!(read(&Json::Null), None);
    }
}
