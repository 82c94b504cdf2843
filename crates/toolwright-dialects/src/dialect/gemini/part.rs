//! Content parts, for requests, responses and streams.

mod base64;
mod partial;

use toolwright_core::part::{Media, MediaKind, MediaSource, Reasoning, Signature};
use toolwright_core::{Arguments, Body, Call, Origin, Outcome, Part, note};
use toolwright_json::{Json, Object, Path, object};

pub(super) use partial::{Assembler, assemble};

use super::wire::{self, DIALECT};
use crate::codec::{DecodeError, Fields, Result, elements};

/// The members of the union that have a canonical form. Code, its result and hosted tools stay as
/// they are.
const KINDS: [&str; 5] = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];

/// A note on a result: it is the whole `response`, not a member of it.
const WHOLE: &str = note!("whole");

/// Addresses that only this vendor can access.
const OWN_FILES: [&str; 2] = ["https://generativelanguage.googleapis.com/", "gs://"];

/// Decodes parts. A call that spans several parts is joined.
pub(super) fn decode_all(parts: Vec<Json>, path: Path<'_>) -> Result<Vec<Part>> {
    Ok(assemble(decode_each(parts, path)?))
}

/// Decodes parts, one by one.
pub(super) fn decode_each(parts: Vec<Json>, path: Path<'_>) -> Result<Vec<Part>> {
    elements(parts, &path, decode)
}

/// Encodes parts.
pub(super) fn encode_all(parts: &[Part]) -> Vec<Json> {
    parts.iter().filter_map(encode).collect()
}

/// Decodes a part.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Part> {
    let origin = Origin::at(&path);
    let Some(kind) = kind(&wire) else { return opaque(wire, path) };
    let mut fields = wire::open(wire, path)?;
    let signature = fields.string("thoughtSignature")?.filter(|value| !value.is_empty());
    let signature = signature.map(|value| Signature { dialect: DIALECT, value });
    // An explicit `false` is the default.
    if fields.peek("thought") == Some(&Json::Bool(false)) {
        fields.take("thought");
    }
    if kind != "text" && fields.tag("text") == Some("") {
        fields.take("text");
    }
    let body = match kind {
        "text" => decode_text(&mut fields)?,
        "functionCall" => {
            let mut own = wire::open(fields.need("functionCall")?, path.key("functionCall"))?;
            let call = decode_call(&mut own)?;
            fields.put_back_rest("functionCall", own.into_object());
            Body::Call(call)
        }
        "functionResponse" => {
            let key = "functionResponse";
            let mut own = wire::open(fields.need(key)?, path.key(key))?;
            let outcome = decode_outcome(&mut own)?;
            fields.put_back_rest(key, own.into_object());
            Body::Outcome(outcome)
        }
        key => {
            let mut own = wire::open(fields.take(key).unwrap_or_default(), path.key(key))?;
            let mut media = decode_media(&mut own)?;
            fields.put_back_rest(key, own.into_object());
            if let MediaSource::Base64(data) = &mut media.source {
                let (standard, padded) = base64::standard(std::mem::take(data));
                *data = standard;
                if let Some(padded) = padded {
                    fields.put_back(base64::URL_SAFE, padded);
                }
            }
            Body::Media(media)
        }
    };
    Ok(Part { signature, origin, extra: fields.into_extra(), ..Part::new(body) })
}

/// Decodes a part that stays as it is.
fn opaque(wire: Json, path: Path<'_>) -> Result<Part> {
    if wire.as_object().is_none() {
        return Err(DecodeError::expected(DIALECT, &path, "an object"));
    }
    Ok(Part::opaque(DIALECT, wire).with_origin(Origin::at(&path)))
}

/// Returns the member of the union that is set, if it is a known one and the only one. An empty
/// text beside another member is ignored.
fn kind(wire: &Json) -> Option<&'static str> {
    let object = wire.as_object()?;
    let set = |kind: &&str| wire::member(object, kind).is_some_and(|value| !value.is_null());
    let kinds: Vec<&str> = KINDS.into_iter().filter(set).collect();
    match kinds.as_slice() {
        [only] => Some(only),
        ["text", other] if wire::member(object, "text")?.as_str() == Some("") => Some(other),
        _ => None,
    }
}

fn decode_text(fields: &mut Fields<'_>) -> Result<Body> {
    let text = fields.text("text")?.unwrap_or_default();
    Ok(match fields.boolean("thought")? {
        Some(true) => Body::Reasoning(Reasoning::text(text)),
        _ => Body::Text(text),
    })
}

fn decode_call(fields: &mut Fields<'_>) -> Result<Call> {
    Ok(Call {
        id: fields.string("id")?,
        // Only the first of several parts of a call has its name.
        name: match fields.string("name")? {
            None if fields.peek("args").is_some() => return Err(fields.missing("name")),
            name => name.unwrap_or_default(),
        },
        arguments: match fields.take("args") {
            None => Arguments::none(),
            Some(args @ Json::Object(_)) => Arguments::from_json(&args),
            Some(_) => return Err(fields.expected("args", "an object")),
        },
    })
}

fn decode_outcome(fields: &mut Fields<'_>) -> Result<Outcome> {
    let path = fields.path();
    let response = fields.object("response")?.unwrap_or_default();
    let (error, result) = decode_result(response, path.key("response"));
    let media = elements(fields.array("parts")?, &path.key("parts"), decode_aside)?;
    Ok(Outcome {
        call_id: fields.string("id")?,
        name: fields.filled("name")?,
        content: result.into_iter().chain(media).collect(),
        error,
    })
}

/// Decodes a part of a result, of which only media have a meaning.
fn decode_aside(wire: Json, path: Path<'_>) -> Result<Part> {
    if matches!(kind(&wire), Some("inlineData" | "fileData")) {
        return decode(wire, path);
    }
    opaque(wire, path)
}

/// Decodes a `response`: a result under `output`, a failure under `error`, otherwise all of it is
/// the result. An empty object is no result; `""` under `error` is a failure without text.
fn decode_result(mut response: Object, path: Path<'_>) -> (Option<bool>, Option<Part>) {
    let alone = |key: &str| response.len() == 1 && response.contains_key(key);
    if response.is_empty() {
        (None, None)
    } else if alone("output") {
        let value = response.remove("output").unwrap_or_default();
        (None, Some(decode_value(value, path.key("output"))))
    } else if alone("error") && response.get("error") != Some(&Json::Null) {
        let value = response.remove("error").unwrap_or_default();
        let silent = value.as_str() == Some("");
        (Some(true), (!silent).then(|| decode_value(value, path.key("error"))))
    } else {
        let mut part = Part::new(Body::Json(Json::Object(response)));
        part.extra.insert(DIALECT, WHOLE, true);
        (None, Some(part.with_origin(Origin::at(&path))))
    }
}

fn decode_value(value: Json, path: Path<'_>) -> Part {
    let body = match value {
        Json::String(text) => Body::Text(text),
        value => Body::Json(value),
    };
    Part::new(body).with_origin(Origin::at(&path))
}

fn decode_media(fields: &mut Fields<'_>) -> Result<Media> {
    let mime = fields.string("mimeType")?;
    let source = match fields.string("fileUri")? {
        Some(uri) if OWN_FILES.iter().any(|own| uri.starts_with(own)) => {
            MediaSource::File(DIALECT, uri)
        }
        Some(uri) => MediaSource::Url(uri),
        None if mime.is_none() => return Err(fields.missing("mimeType")),
        None => MediaSource::Base64(fields.need_string("data")?),
    };
    let kind = match mime.as_deref().and_then(|mime| mime.split('/').next()) {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    };
    Ok(Media { kind, mime, source, name: None })
}

/// Encodes a part; `None` for parts that [`fit`](crate::fit) removes.
pub(super) fn encode(part: &Part) -> Option<Json> {
    let mut object = match &part.body {
        Body::Text(text) | Body::Refusal(text) => object! {"text": text.clone()},
        Body::Json(value) => object! {"text": value.compact()},
        Body::Media(media) => {
            let padded = part.extra.get(DIALECT, base64::URL_SAFE).and_then(Json::as_bool);
            encode_media(media, padded)?
        }
        Body::Reasoning(reasoning) if reasoning.redacted => return None,
        Body::Reasoning(reasoning) => object! {"text": reasoning.joined(), "thought": true},
        Body::Call(call) => object! {"functionCall": encode_call(call)},
        Body::Outcome(outcome) => object! {"functionResponse": encode_outcome(outcome)},
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        Body::Opaque(_) => return None,
    };
    // The SDK refuses a whole reply for a signature that is not base64; the vendor's own is.
    let own = part.signature.as_ref().filter(|own| own.dialect == DIALECT);
    object.insert_some("thoughtSignature", own.map(|own| own.value.as_str()));
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}

fn encode_call(call: &Call) -> Object {
    let mut object = Object::new();
    object.insert_some("id", call.id.as_deref());
    object.insert("name", call.name.as_str());
    object.insert("args", call.arguments.to_object());
    object
}

fn encode_outcome(outcome: &Outcome) -> Object {
    let mut object = Object::new();
    object.insert_some("id", outcome.call_id.as_deref());
    object.insert("name", outcome.name.as_deref().unwrap_or_default());
    object.insert("response", encode_result(outcome));
    let aside = |part: &&Part| matches!(part.body, Body::Media(_) | Body::Opaque(_));
    let media: Vec<Json> = outcome.content.iter().filter(aside).filter_map(encode).collect();
    object.insert_filled("parts", media);
    object
}

/// Encodes a `response`. Several values, which [`fit`](crate::fit) prevents, become a list.
fn encode_result(outcome: &Outcome) -> Json {
    let mut values = Vec::new();
    for part in &outcome.content {
        match &part.body {
            Body::Text(text) | Body::Refusal(text) => values.push(text.clone().into()),
            Body::Json(whole @ Json::Object(_)) if part.extra.get(DIALECT, WHOLE).is_some() => {
                return whole.clone();
            }
            Body::Json(value) => values.push(value.clone()),
            _ => {}
        }
    }
    let key = if outcome.is_error() { "error" } else { "output" };
    let value = match (values.pop(), values.is_empty()) {
        (None, _) if outcome.is_error() => "".into(),
        (None, _) => return Json::Object(Object::new()),
        (Some(only), true) => only,
        (Some(last), false) => {
            values.push(last);
            Json::Array(values)
        }
    };
    Json::Object(Object::from_iter([(key.into(), value)]))
}

/// Encodes media; `url_safe` is set if the data came in the URL-safe alphabet, padded or not.
fn encode_media(media: &Media, url_safe: Option<bool>) -> Option<Object> {
    let fallback = match media.kind {
        MediaKind::Image => "image/png",
        MediaKind::Document => "application/pdf",
        MediaKind::Audio => "audio/wav",
        MediaKind::Video => "video/mp4",
    };
    let mime = media.mime.as_deref();
    let mut object = match &media.source {
        MediaSource::Base64(data) => {
            let data = match url_safe {
                Some(padded) => base64::url_safe(data, padded),
                None => data.clone(),
            };
            let own = object! {"mimeType": mime.unwrap_or(fallback), "data": data};
            return Some(object! {"inlineData": own});
        }
        MediaSource::Text(text) => return Some(object! {"text": text.clone()}),
        MediaSource::Url(uri) | MediaSource::File(DIALECT, uri) => {
            object! {"fileUri": uri.as_str()}
        }
        MediaSource::File(..) => return None,
    };
    // An address without a type is decoded as a document.
    let mime = mime.or(Some(fallback).filter(|_| media.kind != MediaKind::Document));
    object.insert_some("mimeType", mime);
    Some(object! {"fileData": object})
}
