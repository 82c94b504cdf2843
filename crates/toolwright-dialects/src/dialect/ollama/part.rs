//! The parts of a message: thinking, one text, images and complete calls, each under its own key.

use toolwright_core::part::{Media, MediaKind, MediaSource, Reasoning};
use toolwright_core::{Arguments, Body, Call, Origin, Outcome, Part};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{DecodeError, Fields, Result, elements};

/// Prefixes of base64 for the supported image formats. The wire has no media type, and other
/// vendors refuse an image without one.
const PICTURES: &[(&str, &str)] = &[
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];

/// Decodes the parts of a message, in the order in which the server writes them. An empty text is
/// skipped. `calls` is the number of earlier calls of the turn.
pub(super) fn decode_all(fields: &mut Fields<'_>, mut calls: usize) -> Result<Vec<Part>> {
    let path = fields.path();
    let mut parts = Vec::new();
    let thinking = fields.string("thinking")?.filter(|text| !text.is_empty());
    parts.extend(thinking.map(|text| {
        let body = Body::Reasoning(Reasoning::text(text));
        Part::new(body).with_origin(Origin::at(&path.key("thinking")))
    }));
    parts.extend(decode_text(fields)?);
    parts.extend(elements(fields.array("images")?, &path.key("images"), decode_image)?);
    let wire = fields.array("tool_calls")?;
    parts.extend(elements(wire, &path.key("tool_calls"), |wire, path| {
        calls += 1;
        decode_call(wire, path, calls - 1)
    })?);
    Ok(parts)
}

fn decode_text(fields: &mut Fields<'_>) -> Result<Option<Part>> {
    let path = fields.path();
    let text = fields.text("content")?.filter(|text| !text.is_empty());
    Ok(text.map(|text| Part::text(text).with_origin(Origin::at(&path.key("content")))))
}

fn decode_image(wire: Json, path: Path<'_>) -> Result<Part> {
    let Json::String(data) = wire else {
        return Err(DecodeError::expected(DIALECT, &path, "an image in base64"));
    };
    let mime = PICTURES.iter().find(|(start, _)| data.starts_with(start));
    let media = Media {
        kind: MediaKind::Image,
        mime: mime.map(|(_, mime)| (*mime).to_owned()),
        source: MediaSource::Base64(data.into_string()),
        name: None,
    };
    Ok(Part::new(Body::Media(media)).with_origin(Origin::at(&path)))
}

/// Decodes a call. An `index` that equals its position among the calls of the turn is dropped; any
/// other (servers repeat or omit it, case 5) is stored.
pub(super) fn decode_call(wire: Json, path: Path<'_>, position: usize) -> Result<Part> {
    let mut outer = Fields::new(wire, path, DIALECT)?;
    let mut function = Fields::new(outer.need("function")?, path.key("function"), DIALECT)?;
    if function.peek("index").and_then(Json::as_u64) == u64::try_from(position).ok() {
        function.take("index");
    }
    let call = Call {
        id: outer.string("id")?,
        name: function.need_string("name")?,
        arguments: match function.take("arguments") {
            None => Arguments::none(),
            Some(object @ Json::Object(_)) => Arguments::from_json(&object),
            Some(_) => return Err(function.expected("arguments", "an object")),
        },
    };
    outer.put_back_rest("function", function.into_object());
    Ok(Part::call(call).with_origin(outer.origin()).with_extra(outer.into_extra()))
}

/// Decodes a message of role `tool`.
pub(super) fn decode_outcome(wire: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    fields.take("role");
    let outcome = Outcome {
        call_id: fields.string("tool_call_id")?,
        name: fields.string("tool_name")?,
        content: decode_text(&mut fields)?.into_iter().collect(),
        error: None,
    };
    Ok(Part::outcome(outcome).with_origin(fields.origin()).with_extra(fields.into_extra()))
}

/// Encodes the parts of a message.
pub(super) fn encode_all(role: &'static str, parts: &[Part]) -> Object {
    // Consecutive texts of a model are joined without a separator, as in a stream.
    let gap = if role == "assistant" { "" } else { "\n\n" };
    let mut object = object! {"role": role, "content": words(parts, gap)};
    let thinking: Vec<String> = parts.iter().filter_map(thinking).collect();
    if !thinking.is_empty() {
        object.insert("thinking", thinking.join("\n\n"));
    }
    let images: Vec<&str> = parts.iter().filter_map(image).collect();
    object.insert_filled("images", images);
    let calls = parts.iter().filter(|part| part.as_call().is_some()).enumerate();
    let calls: Vec<Json> = calls.map(|(position, part)| encode_call(part, position)).collect();
    object.insert_filled("tool_calls", calls);
    object
}

/// Joins the texts, because there is only one field.
fn words(parts: &[Part], gap: &str) -> String {
    let texts = parts.iter().filter_map(|part| match &part.body {
        Body::Text(text) | Body::Refusal(text) => Some(text.as_str().to_owned()),
        Body::Json(value) => Some(value.compact()),
        _ => None,
    });
    texts.collect::<Vec<String>>().join(gap)
}

fn thinking(part: &Part) -> Option<String> {
    match &part.body {
        Body::Reasoning(reasoning) if !reasoning.redacted => Some(reasoning.joined()),
        _ => None,
    }
}

fn image(part: &Part) -> Option<&str> {
    match &part.body {
        Body::Media(Media {
            kind: MediaKind::Image, source: MediaSource::Base64(data), ..
        }) => Some(data),
        _ => None,
    }
}

/// Encodes a call; `null` for any other part.
pub(super) fn encode_call(part: &Part, position: usize) -> Json {
    let Some(call) = part.as_call() else { return Json::Null };
    let index = part.extra.get(DIALECT, "function").and_then(|function| function.get("index"));
    let mut object = Object::new();
    object.insert_some("id", call.id.as_deref());
    object.insert(
        "function",
        object! {
            "index": index.cloned().unwrap_or(position.into()),
            "name": call.name.as_str(),
            "arguments": call.arguments.to_object(),
        },
    );
    part.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Encodes a message of role `tool`; `null` for a part that is not an outcome.
pub(super) fn encode_outcome(part: &Part) -> Json {
    let Some(outcome) = part.as_outcome() else { return Json::Null };
    let mut object = object! {"role": "tool", "content": words(&outcome.content, "\n\n")};
    object.insert_some("tool_name", outcome.name.as_deref());
    object.insert_some("tool_call_id", outcome.call_id.as_deref());
    part.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}
