//! What a message says: thinking, one text, pictures and whole calls, each under its own key.

use super::wire::DIALECT;
use crate::codec::{DecodeError, Fields, elements};
use crate::json::{Json, Object, Path};
use crate::model::call::{Arguments, Call};
use crate::model::origin::Origin;
use crate::model::outcome::Outcome;
use crate::model::part::{Body, Media, MediaKind, MediaSource, Part, Reasoning};
use crate::object;

/// How base64 begins in the picture formats that models read. The wire says no media type, and
/// other vendors refuse a picture without one.
const PICTURES: &[(&str, &str)] = &[
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];

/// Reads what a message says, in the order in which the server writes it. An empty text says
/// nothing. `calls` is how many calls of the turn came before.
pub(super) fn decode_all(
    fields: &mut Fields<'_>,
    mut calls: usize,
) -> Result<Vec<Part>, DecodeError> {
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

fn decode_text(fields: &mut Fields<'_>) -> Result<Option<Part>, DecodeError> {
    let path = fields.path();
    let text = fields.string("content")?.filter(|text| !text.is_empty());
    Ok(text.map(|text| Part::text(text).with_origin(Origin::at(&path.key("content")))))
}

fn decode_image(wire: Json, path: Path<'_>) -> Result<Part, DecodeError> {
    let Json::String(data) = wire else {
        return Err(DecodeError::expected(DIALECT, &path, "an image in base64"));
    };
    let mime = PICTURES.iter().find(|(start, _)| data.starts_with(start));
    let media = Media {
        kind: MediaKind::Image,
        mime: mime.map(|(_, mime)| (*mime).to_owned()),
        source: MediaSource::Base64(data),
        name: None,
    };
    Ok(Part::new(Body::Media(media)).with_origin(Origin::at(&path)))
}

/// Reads a call. An `index` that is its position among the turn's calls says nothing new; any
/// other (servers repeat or omit it, case 5) is carried along.
pub(super) fn decode_call(
    wire: Json,
    path: Path<'_>,
    position: usize,
) -> Result<Part, DecodeError> {
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
    let rest = function.into_object();
    if !rest.is_empty() {
        outer.put_back("function", rest);
    }
    Ok(Part::call(call).with_origin(outer.origin()).with_extra(outer.into_extra()))
}

/// Reads a message of role `tool`.
pub(super) fn decode_outcome(wire: Json, path: Path<'_>) -> Result<Part, DecodeError> {
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

/// Writes what a message says.
pub(super) fn encode_all(role: &'static str, parts: &[Part]) -> Object {
    // A model's texts go on where the last one ended; in its stream nothing stands between them.
    let gap = if role == "assistant" { "" } else { "\n\n" };
    let mut object = object! {"role": role, "content": words(parts, gap)};
    let thinking: Vec<String> = parts.iter().filter_map(thinking).collect();
    if !thinking.is_empty() {
        object.insert("thinking", thinking.join("\n\n"));
    }
    let images: Vec<&str> = parts.iter().filter_map(image).collect();
    if !images.is_empty() {
        object.insert("images", images);
    }
    let calls = parts.iter().filter(|part| part.as_call().is_some()).enumerate();
    let calls: Vec<Json> = calls.map(|(position, part)| encode_call(part, position)).collect();
    if !calls.is_empty() {
        object.insert("tool_calls", calls);
    }
    object
}

/// The one text that there is place for.
fn words(parts: &[Part], gap: &str) -> String {
    let texts = parts.iter().filter_map(|part| match &part.body {
        Body::Text(text) | Body::Refusal(text) => Some(text.clone()),
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

/// Writes a call; `null` for what is none.
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

/// Writes a message of role `tool`; `null` for what is no outcome.
pub(super) fn encode_outcome(part: &Part) -> Json {
    let Some(outcome) = part.as_outcome() else { return Json::Null };
    let mut object = object! {"role": "tool", "content": words(&outcome.content, "\n\n")};
    object.insert_some("tool_name", outcome.name.as_deref());
    object.insert_some("tool_call_id", outcome.call_id.as_deref());
    part.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}
