//! Calls and their results: `tools/call`.
//!
//! A result contains structured content twice, as a value and as its text (recommended for older
//! clients). Here it is one JSON part, which is encoded as both.

mod block;

use toolwright_core::{Arguments, Body, Call, Origin, Outcome, Part, note};
use toolwright_json::{Json, Path, object};

use super::Era;
use super::wire::DIALECT;
use crate::codec::{Fields, Result, elements};

/// A note: a call came without arguments.
const ARGUMENTS: &str = note!("arguments");

/// A note: the text of structured content, if it is not its compact form; null if there is none.
const TEXT: &str = note!("text");

/// The type of a complete result.
const COMPLETE: &str = "complete";

/// Decodes the parameters of a call. The id of JSON-RPC is not a call id: the protocol has none.
pub(super) fn decode(wire: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let name = fields.need_string("name")?;
    let arguments = match fields.take("arguments") {
        None => {
            fields.put_back(ARGUMENTS, Json::Null);
            Arguments::none()
        }
        Some(arguments @ Json::Object(_)) => Arguments::from_json(&arguments),
        Some(_) => return Err(fields.expected("arguments", "an object")),
    };
    let part = Part::call(Call { id: None, name, arguments }).with_origin(fields.origin());
    Ok(part.with_extra(fields.into_extra()))
}

/// Encodes the parameters of a call.
pub(super) fn encode(part: &Part) -> Option<Json> {
    let call = part.as_call()?;
    let mut object = object! {"name": call.name.as_str()};
    let arguments = call.arguments.to_object();
    if !arguments.is_empty() || part.extra.get(DIALECT, ARGUMENTS).is_none() {
        object.insert("arguments", arguments);
    }
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}

/// Decodes a result. One that asks for input is not an outcome and stays as it is.
pub(super) fn decode_outcome(wire: Json, path: Path<'_>, era: Era) -> Result<Part> {
    let mut fields = Fields::new(wire, path, DIALECT)?;
    let origin = fields.origin();
    if fields.tag("resultType").is_some_and(|own| own != COMPLETE) {
        let whole = Json::Object(fields.into_object());
        return Ok(Part::opaque(DIALECT, whole).with_origin(origin));
    }
    fields.string("resultType")?;
    let mut content = elements(fields.array("content")?, &path.key("content"), block::decode)?;
    if let Some(value) = fields.take("structuredContent") {
        if !admits(era, &value) {
            return Err(fields.expected("structuredContent", "an object"));
        }
        place(value, &mut content, &path.key("structuredContent"));
    }
    let error = fields.boolean("isError")?;
    let outcome = Outcome { content, error, ..Outcome::default() };
    Ok(Part::outcome(outcome).with_origin(origin).with_extra(fields.into_extra()))
}

/// Whether an era accepts a value as structured content: only objects before 2026-07-28
/// (`docs/dialects/mcp.md#outcomes`).
fn admits(era: Era, value: &Json) -> bool {
    era == Era::Stateless || value.as_object().is_some()
}

/// Puts structured content in place of the text that repeats it, or at the end.
fn place(value: Json, content: &mut Vec<Part>, path: &Path<'_>) {
    let repeats = |part: &&mut Part| {
        let text = part.as_text().filter(|_| part.extra.get(DIALECT, "resource").is_none());
        text.and_then(|text| Json::parse(text).ok()).is_some_and(|own| own.same(&value))
    };
    let Some(part) = content.iter_mut().find(repeats) else {
        let mut part = Part::new(Body::Json(value)).with_origin(Origin::at(path));
        part.extra.insert(DIALECT, TEXT, Json::Null);
        content.push(part);
        return;
    };
    let compact = value.compact();
    if let Body::Text(text) = std::mem::replace(&mut part.body, Body::Json(value))
        && text != compact
    {
        part.extra.insert(DIALECT, TEXT, text);
    }
}

/// Encodes a result. There is one field for structured content; further JSON becomes text.
pub(super) fn encode_outcome(part: &Part, era: Era) -> Option<Json> {
    let outcome = match &part.body {
        Body::Outcome(outcome) => outcome,
        Body::Opaque(opaque) if opaque.dialect == DIALECT => return Some(opaque.value.clone()),
        _ => return None,
    };
    let mut structured = None;
    let mut blocks = Vec::new();
    for own in &outcome.content {
        let mut block = block::encode(own);
        if let Body::Json(value) = &own.body
            && structured.is_none()
            && admits(era, value)
        {
            structured = Some(value.clone());
            match (own.extra.get(DIALECT, TEXT), block.as_mut().and_then(Json::as_object_mut)) {
                (Some(Json::Null), _) => block = None,
                (Some(text), Some(block)) => block.insert("text", text.clone()),
                _ => {}
            }
        }
        blocks.extend(block);
    }
    let mut object = object! {"content": blocks};
    object.insert_some("structuredContent", structured);
    object.insert_some("isError", outcome.error);
    if era == Era::Stateless {
        object.insert("resultType", COMPLETE);
    }
    part.extra.write_into(DIALECT, &mut object);
    Some(Json::Object(object))
}
