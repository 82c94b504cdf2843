//! The stored form of parts, calls and outcomes. A part has one field for its kind, and fields for
//! attached data.

use toolwright_json::{Json, Object, Text, object};

use super::{DocumentError, ObjectReader, Result, text};
use crate::model::call::{Arguments, Call};
use crate::model::dialect::Dialect;
use crate::model::extra::Extra;
use crate::model::outcome::Outcome;
use crate::model::part::{
    Body, CacheMark, Media, MediaKind, MediaSource, Opaque, Part, Reasoning, Section, SectionKind,
    Signature,
};
use crate::model::usage::Usage;

const MEDIA: [(&str, MediaKind); 4] = [
    ("image", MediaKind::Image),
    ("document", MediaKind::Document),
    ("audio", MediaKind::Audio),
    ("video", MediaKind::Video),
];

/// Writes a part with its signature and extra fields.
pub fn write_part(part: &Part) -> Object {
    let mut out = match &part.body {
        Body::Text(text) => object! {"text": text.clone()},
        Body::Refusal(text) => object! {"refusal": text.clone()},
        Body::Json(value) => object! {"json": value.clone()},
        Body::Media(media) => object! {"media": write_media(media)},
        Body::Reasoning(reasoning) => object! {"reasoning": write_reasoning(reasoning)},
        Body::Call(call) => object! {"call": write_call(call)},
        Body::Outcome(outcome) => object! {"outcome": write_outcome(outcome)},
        Body::Opaque(opaque) => object! {
            "opaque": object! {"dialect": opaque.dialect.id(), "value": opaque.value.clone()},
        },
    };
    out.insert_some(
        "signature",
        part.signature
            .as_ref()
            .map(|own| object! {"dialect": own.dialect.id(), "value": own.value.as_str()}),
    );
    out.insert_some("cache", part.cache.as_ref().map(|own| object! {"ttl": own.ttl.clone()}));
    out.insert_some("extra", write_extra(&part.extra));
    out
}

/// Reads what [`write_part`] wrote.
pub fn read_part(document: &Json) -> Result<Part> {
    let fields = ObjectReader::of(document)?;
    let (kind, value) =
        fields.as_object().iter().next().ok_or_else(|| DocumentError::new("a part"))?;
    let text = || text(value).map(Text::from);
    let body = match kind {
        "text" => text().map(Body::Text),
        "refusal" => text().map(Body::Refusal),
        "json" => Ok(Body::Json(value.clone())),
        "media" => read_media(value).map(Body::Media),
        "reasoning" => read_reasoning(value).map(Body::Reasoning),
        "call" => read_call(value).map(Body::Call),
        "outcome" => read_outcome(value).map(Body::Outcome),
        "opaque" => read_opaque(value).map(Body::Opaque),
        _ => return Err(DocumentError::new("a known kind of part")),
    };
    let signature = fields.optional("signature", |own| {
        let own = ObjectReader::of(own)?;
        let value = own.text("value")?.to_owned();
        Ok(Signature { dialect: read_dialect(own, "dialect")?, value })
    })?;
    let cache = fields.optional("cache", |own| {
        Ok(CacheMark { ttl: ObjectReader::of(own)?.owned("ttl")?, ..CacheMark::default() })
    })?;
    let extra = read_extra(fields)?;
    Ok(Part { signature, cache, extra, ..Part::new(body.map_err(|error| error.within(kind))?) })
}

/// Writes a call, with the exact text of its arguments.
pub fn write_call(call: &Call) -> Object {
    object! {
        "id": call.id.clone(),
        "name": call.name.as_str(),
        "form": form(&call.arguments),
        "arguments": call.arguments.as_str(),
    }
}

/// Reads what [`write_call`] wrote.
pub fn read_call(document: &Json) -> Result<Call> {
    let fields = ObjectReader::of(document)?;
    let arguments = with_form(fields.text("form")?, fields.text("arguments")?)
        .ok_or_else(|| DocumentError::new("text of the form that is named").within("arguments"))?;
    Ok(Call { id: fields.owned("id")?, name: fields.text("name")?.to_owned(), arguments })
}

/// Writes an outcome.
pub fn write_outcome(outcome: &Outcome) -> Object {
    object! {
        "call_id": outcome.call_id.clone(),
        "name": outcome.name.clone(),
        "content": outcome.content.iter().map(write_part).collect::<Vec<_>>(),
        "error": outcome.error,
    }
}

/// Reads what [`write_outcome`] wrote.
pub fn read_outcome(document: &Json) -> Result<Outcome> {
    let fields = ObjectReader::of(document)?;
    Ok(Outcome {
        call_id: fields.owned("call_id")?,
        name: fields.owned("name")?,
        content: fields.list("content", read_part)?,
        error: fields.optional_flag("error")?,
    })
}

fn write_reasoning(reasoning: &Reasoning) -> Object {
    let section = |own: &Section| {
        let kind = if own.kind == SectionKind::Summary { "summary" } else { "full" };
        object! {"kind": kind, "text": own.text.as_str()}
    };
    let sections: Vec<Object> = reasoning.sections.iter().map(section).collect();
    object! {"sections": sections, "redacted": reasoning.redacted}
}

fn read_reasoning(document: &Json) -> Result<Reasoning> {
    let fields = ObjectReader::of(document)?;
    let sections = fields.list("sections", |section| {
        let section = ObjectReader::of(section)?;
        let kind = section.word("kind", "full or summary", |word| match word {
            "full" => Some(SectionKind::Full),
            "summary" => Some(SectionKind::Summary),
            _ => None,
        })?;
        Ok(Section { kind, text: section.text("text")?.to_owned() })
    })?;
    Ok(Reasoning { sections, redacted: fields.optional_flag("redacted")?.unwrap_or_default() })
}

fn write_media(media: &Media) -> Object {
    let kind = MEDIA.iter().find(|row| row.1 == media.kind).map(|row| row.0);
    let mut out = object! {"kind": kind, "mime": media.mime.clone(), "name": media.name.clone()};
    match &media.source {
        MediaSource::Base64(text) => out.insert("base64", text.as_str()),
        MediaSource::Text(text) => out.insert("text", text.as_str()),
        MediaSource::Url(text) => out.insert("url", text.as_str()),
        MediaSource::File(dialect, id) => {
            out.insert("dialect", dialect.id());
            out.insert("file", id.as_str());
        }
    }
    out
}

fn read_media(document: &Json) -> Result<Media> {
    let fields = ObjectReader::of(document)?;
    let kind = fields.word("kind", "a kind of media", |word| {
        MEDIA.iter().find(|row| row.0 == word).map(|row| row.1)
    })?;
    let source = if let Some(form) = fields.optional_text("form")? {
        // The form in old journals.
        let text = fields.text("source")?.to_owned();
        match form {
            "base64" => MediaSource::Base64(text),
            "text" => MediaSource::Text(text),
            "url" => MediaSource::Url(text),
            _ => return Err(DocumentError::new("base64, text or url").within("form")),
        }
    } else if let Some(text) = fields.owned("base64")? {
        MediaSource::Base64(text)
    } else if let Some(text) = fields.owned("text")? {
        MediaSource::Text(text)
    } else if let Some(text) = fields.owned("url")? {
        MediaSource::Url(text)
    } else {
        MediaSource::File(read_dialect(fields, "dialect")?, fields.text("file")?.to_owned())
    };
    Ok(Media { kind, mime: fields.owned("mime")?, source, name: fields.owned("name")? })
}

fn read_opaque(document: &Json) -> Result<Opaque> {
    let fields = ObjectReader::of(document)?;
    let value = fields.required("value", |value| Ok(value.clone()))?;
    Ok(Opaque { dialect: read_dialect(fields, "dialect")?, value })
}

/// Writes extra fields with the dialect they belong to; `None` if there are none.
pub fn write_extra(extra: &Extra) -> Option<Object> {
    let (dialect, fields) = (extra.dialect()?, extra.fields()?);
    Some(object! {"dialect": dialect.id(), "fields": fields.clone()})
}

/// Reads the field `extra`, which [`write_extra`] wrote.
pub fn read_extra(fields: ObjectReader<'_>) -> Result<Extra> {
    let extra = fields.optional("extra", |extra| {
        let extra = ObjectReader::of(extra)?;
        let object = extra.object("fields")?.as_object();
        Ok(Extra::new(read_dialect(extra, "dialect")?, object.clone()))
    })?;
    Ok(extra.unwrap_or_default())
}

/// Reads the counts of tokens and extra fields of a usage.
pub fn read_usage(document: &Json) -> Result<Usage> {
    let fields = ObjectReader::of(document)?;
    Ok(Usage {
        input: fields.optional_count("input")?,
        cache_read: fields.optional_count("cache_read")?,
        cache_write: fields.optional_count("cache_write")?,
        output: fields.optional_count("output")?,
        reasoning: fields.optional_count("reasoning")?,
        extra: read_extra(fields)?,
    })
}

/// Reads the id of a dialect.
pub fn read_dialect(fields: ObjectReader<'_>, key: &str) -> Result<Dialect> {
    fields.word(key, "a dialect", |word| word.parse().ok())
}

/// Returns the word for the form of arguments.
fn form(arguments: &Arguments) -> &'static str {
    match arguments {
        Arguments::Json(_) => "json",
        Arguments::Malformed(_) => "malformed",
        Arguments::Free(_) => "free",
    }
}

/// Creates arguments from that word and their text, if they match.
fn with_form(form: &str, text: &str) -> Option<Arguments> {
    match form {
        "json" => Some(Arguments::from_text(text)).filter(|own| matches!(own, Arguments::Json(_))),
        "malformed" => Some(Arguments::Malformed(text.to_owned())),
        "free" => Some(Arguments::Free(text.to_owned())),
        _ => None,
    }
}
