//! The journal record of a finished call.

use toolwright_core::document::{DocumentError, ObjectReader, read_part, write_part};
use toolwright_core::{Json, Part, object};

use crate::error::{CallError, CallErrorKind};

/// The record of a finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The content that the model received
    pub(crate) content: Vec<Part>,
    /// Where the complete output is; null if it was not recorded
    pub(crate) output: Json,
    /// The error, if the call failed
    pub(crate) error: Option<CallError>,
}

/// Writes the content that the model received, where the complete output is, and the error if the call
/// failed.
pub(crate) fn write(content: &[Part], output: Json, error: Option<&CallError>) -> Json {
    let parts: Vec<Json> = content.iter().map(|part| write_part(part).into()).collect();
    let mut out = object! {"content": parts};
    if output != Json::Null {
        out.insert("output", output);
    }
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

/// Reads a record.
pub(crate) fn read(record: &Json) -> Result<Record, DocumentError> {
    let fields = ObjectReader::of(record)?;
    Ok(Record {
        content: fields.list("content", read_part)?,
        output: record.get("output").cloned().unwrap_or_default(),
        error: fields.optional("error", read_error)?,
    })
}

fn read_error(document: &Json) -> Result<CallError, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(CallError {
        kind: fields.word("kind", "a kind of error", CallErrorKind::from_name)?,
        text: fields.text("text")?.to_owned(),
        tool_kind: fields.owned("tool_kind")?,
        retryable: fields.flag("retryable")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Record, read, write};
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
            let output = if error.is_some() { Json::Null } else { Json::from(3) };
            let record = write(&content, output.clone(), error.as_ref());
            let record = Json::parse(&record.compact()).unwrap();
            assert_eq!(read(&record), Ok(Record { content: content.clone(), output, error }));
        }
        assert!(read(&Json::Null).is_err());
    }
    #[test]
    fn media_are_read_as_earlier_versions_wrote_them() {
        let record =
            r#"{"content":[{"media":{"kind":"image","form":"url","source":"https://a.b/c"}}]}"#;
        let content = read(&Json::parse(record).unwrap()).unwrap().content;
        let Body::Media(media) = &content[0].body else { panic!("{content:?}") };
        assert_eq!(media.source, MediaSource::Url("https://a.b/c".to_owned()));
    }
}
