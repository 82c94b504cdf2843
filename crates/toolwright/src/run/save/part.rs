//! A part: one field that says what it is, and what is attached to it.

use toolwright_core::json::Object;
use toolwright_core::part::{
    Body, CacheMark, Media, MediaKind, MediaSource, Opaque, Reasoning, Section, SectionKind,
    Signature,
};
use toolwright_core::{Call, Json, Outcome, Part, object};

use super::field::{Bad, Fields};
use super::message::{read_dialect, read_extra, write_extra};
use crate::call::approve;

const MEDIA: [(&str, MediaKind); 4] = [
    ("image", MediaKind::Image),
    ("document", MediaKind::Document),
    ("audio", MediaKind::Audio),
    ("video", MediaKind::Video),
];

pub(super) fn write(part: &Part) -> Object {
    let mut out = match &part.body {
        Body::Text(text) => object! {"text": text.as_str()},
        Body::Refusal(text) => object! {"refusal": text.as_str()},
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

pub(super) fn read(document: &Json) -> Result<Part, Bad> {
    let fields = Fields::of(document)?;
    let (kind, value) = document
        .as_object()
        .and_then(|object| object.iter().next())
        .ok_or_else(|| Bad::new("a part"))?;
    let text = || value.as_str().map(str::to_owned).ok_or_else(|| Bad::new("text"));
    let body = match kind {
        "text" => text().map(Body::Text),
        "refusal" => text().map(Body::Refusal),
        "json" => Ok(Body::Json(value.clone())),
        "media" => read_media(value).map(Body::Media),
        "reasoning" => read_reasoning(value).map(Body::Reasoning),
        "call" => read_call(value).map(Body::Call),
        "outcome" => read_outcome(value).map(Body::Outcome),
        "opaque" => read_opaque(value).map(Body::Opaque),
        _ => return Err(Bad::new("a known kind of part")),
    };
    let signature = fields.optional("signature", |own| {
        let own = Fields::of(own)?;
        let value = own.text("value")?.to_owned();
        Ok(Signature { dialect: read_dialect(own, "dialect")?, value })
    })?;
    let cache = fields.optional("cache", |own| {
        Ok(CacheMark { ttl: Fields::of(own)?.owned("ttl")?, ..CacheMark::default() })
    })?;
    let extra = read_extra(fields)?;
    Ok(Part { signature, cache, extra, ..Part::new(body.map_err(|bad| bad.within(kind))?) })
}

/// A call, its arguments as the exact text.
pub(super) fn write_call(call: &Call) -> Object {
    object! {
        "id": call.id.clone(),
        "name": call.name.as_str(),
        "form": approve::form(&call.arguments),
        "arguments": call.arguments.as_str(),
    }
}

pub(super) fn read_call(document: &Json) -> Result<Call, Bad> {
    let fields = Fields::of(document)?;
    let arguments = approve::of_form(fields.text("form")?, fields.text("arguments")?)
        .ok_or_else(|| Bad::new("text of the form that is named").within("arguments"))?;
    Ok(Call { id: fields.owned("id")?, name: fields.text("name")?.to_owned(), arguments })
}

pub(super) fn write_outcome(outcome: &Outcome) -> Object {
    object! {
        "call_id": outcome.call_id.clone(),
        "name": outcome.name.clone(),
        "content": outcome.content.iter().map(write).collect::<Vec<_>>(),
        "error": outcome.error,
    }
}

pub(super) fn read_outcome(document: &Json) -> Result<Outcome, Bad> {
    let fields = Fields::of(document)?;
    Ok(Outcome {
        call_id: fields.owned("call_id")?,
        name: fields.owned("name")?,
        content: fields.list("content", read)?,
        error: fields.flag("error")?,
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

fn read_reasoning(document: &Json) -> Result<Reasoning, Bad> {
    let fields = Fields::of(document)?;
    let sections = fields.list("sections", |section| {
        let section = Fields::of(section)?;
        let kind = match section.text("kind")? {
            "full" => SectionKind::Full,
            "summary" => SectionKind::Summary,
            _ => return Err(Bad::new("full or summary").within("kind")),
        };
        Ok(Section { kind, text: section.text("text")?.to_owned() })
    })?;
    Ok(Reasoning { sections, redacted: fields.flag("redacted")?.unwrap_or_default() })
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

fn read_media(document: &Json) -> Result<Media, Bad> {
    let fields = Fields::of(document)?;
    let word = fields.text("kind")?;
    let kind = MEDIA.iter().find(|row| row.0 == word);
    let kind = kind.ok_or_else(|| Bad::new("a kind of media").within("kind"))?.1;
    let source = if let Some(text) = fields.owned("base64")? {
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

fn read_opaque(document: &Json) -> Result<Opaque, Bad> {
    let fields = Fields::of(document)?;
    let value = fields.required("value", |value| Ok(value.clone()))?;
    Ok(Opaque { dialect: read_dialect(fields, "dialect")?, value })
}
