//! Responses, and the parts of them that streams repeat.
//!
//! A stream sends citations and other fields without a canonical name after its start. They are
//! extra fields of the stop in both, so that a complete reply and its stream give the same value.

use toolwright_core::{Extra, Response, Stop, StopReason, Usage};
use toolwright_json::{Json, Object, Path, object};

use super::part;
use super::wire::{DIALECT, STOPS, TIMEOUT};
use crate::codec::{Fields, Result, WireReply};

/// The id of a reply from a vendor without ids.
const NO_ID: &str = "00000000-0000-0000-0000-000000000000";

/// Decodes a body.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    fields.require_reply(&["message"])?;
    let mut message = Fields::new(fields.need("message")?, Path::ROOT.key("message"), DIALECT)?;
    message.take("role");
    let parts = part::decode_assistant(&mut message)?;
    fields.put_back_rest("message", message.into_object());
    let id = fields.string("id")?;
    let usage = decode_usage(&mut fields)?;
    let stop = decode_stop(fields)?.reconciled(&parts);
    Ok(Response { id, model: None, parts, stop, usage, extra: Extra::NONE })
}

/// Decodes the stop reason, of a response or a `message-end`; remaining fields are its extra.
pub(super) fn decode_stop(mut fields: Fields<'_>) -> Result<Stop> {
    let word = fields.string("finish_reason")?.unwrap_or_default();
    let mut stop = Stop { extra: fields.into_extra(), ..Stop::default() };
    match STOPS.iter().find(|(_, own)| *own == word) {
        Some((reason, _)) => stop.reason = *reason,
        None if word.is_empty() => {}
        None => {
            if word == TIMEOUT {
                stop.reason = StopReason::Failed;
            }
            stop.extra.insert(DIALECT, "finish_reason", word);
        }
    }
    Ok(stop)
}

/// Decodes usage: `tokens` are the model's counts; `billed_units` are stored separately if they
/// differ from what the encoder would write.
///
/// Cohere defines `cached_tokens` as prompt tokens that hit a cache, so they are taken to be
/// included in `input_tokens`, as with OpenAI; if that is impossible, they are stored separately,
/// too.
pub(super) fn decode_usage(fields: &mut Fields<'_>) -> Result<Option<Usage>> {
    let path = fields.path();
    let path = path.key("usage");
    let Some(wire) = fields.take("usage") else { return Ok(None) };
    let mut own = Fields::new(wire, path, DIALECT)?;
    let mut usage = Usage::default();
    if let Some(wire) = own.take("tokens") {
        let mut tokens = Fields::new(wire, path.key("tokens"), DIALECT)?;
        usage.input = count(&mut tokens, "input_tokens")?;
        usage.output = count(&mut tokens, "output_tokens")?;
        own.put_back_rest("tokens", tokens.into_object());
    }
    if let Some(cached) = count(&mut own, "cached_tokens")? {
        match usage.input.and_then(|input| input.checked_sub(cached)) {
            Some(input) => (usage.input, usage.cache_read) = (Some(input), Some(cached)),
            None => own.put_back("cached_tokens", cached),
        }
    }
    let billed = own.peek(BILLED).and_then(Json::as_object).is_some_and(|billed| {
        let same = |key, count| billed.get(key).and_then(Json::as_u64) == count;
        let (input, output) = billed_units(Some(&usage));
        billed.len() == usize::from(input.is_some()) + usize::from(output.is_some())
            && same("input_tokens", input)
            && same("output_tokens", output)
    });
    let zeros = own.peek(BILLED).is_some_and(|billed| *billed == Json::Object(encode_billed(None)));
    if billed {
        own.take(BILLED);
    } else if zeros && usage == Usage::default() && own.is_sole(BILLED) {
        // The value that is encoded for a reply without usage.
        return Ok(None);
    }
    usage.extra = own.into_extra();
    Ok(Some(usage))
}

/// The billed units. The field is in every reply, because langchain-cohere reads it
/// unconditionally.
const BILLED: &str = "billed_units";

/// Returns the units of a reply whose vendor does not bill in them: all tokens.
fn billed_units(usage: Option<&Usage>) -> (Option<u64>, Option<u64>) {
    match usage {
        Some(usage) => (usage.input.map(|_| usage.input_total()), usage.output),
        None => (Some(0), Some(0)),
    }
}

fn encode_billed(usage: Option<&Usage>) -> Object {
    let (input, output) = billed_units(usage);
    let mut object = Object::new();
    object.insert_some("input_tokens", input);
    object.insert_some("output_tokens", output);
    object
}

/// Takes a count. All counts are floats here; a fraction is not a canonical count and stays extra.
fn count(fields: &mut Fields<'_>, key: &str) -> Result<Option<u64>> {
    match fields.peek(key) {
        None => Ok(None),
        Some(Json::Number(number)) if number.as_count().is_none() => Ok(None),
        Some(Json::Number(_)) => fields.u64(key),
        Some(_) => Err(fields.expected(key, "a number")),
    }
}

/// Encodes a body.
pub(super) fn encode(response: Response) -> Json {
    let mut object = object! {
        "id": encode_id(response.id.as_deref()),
        "finish_reason": encode_stop(&response.stop),
        "message": part::encode_assistant(&response.parts, Json::Array),
    };
    object.insert("usage", encode_usage(response.usage.as_ref()));
    response.stop.extra.write_into(DIALECT, &mut object);
    response.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Encodes the id, which every reply has.
pub(super) fn encode_id(id: Option<&str>) -> &str {
    id.unwrap_or(NO_ID)
}

/// Encodes the stop reason.
pub(super) fn encode_stop(stop: &Stop) -> Json {
    if let Some(own) = stop.extra.get(DIALECT, "finish_reason") {
        return own.clone();
    }
    let word = STOPS.iter().find(|(reason, _)| *reason == stop.reason).map(|(_, word)| *word);
    word.unwrap_or("COMPLETE").into()
}

/// Encodes usage.
pub(super) fn encode_usage(usage: Option<&Usage>) -> Object {
    let mut object = Object::new();
    if usage.is_none_or(|usage| usage.extra.get(DIALECT, BILLED).is_none()) {
        object.insert(BILLED, encode_billed(usage));
    }
    let Some(usage) = usage else { return object };
    let mut tokens = Object::new();
    tokens.insert_some("input_tokens", usage.input.map(|_| usage.input_total()));
    tokens.insert_some("output_tokens", usage.output);
    object.insert_filled("tokens", tokens);
    object.insert_some("cached_tokens", usage.cache_read);
    usage.extra.write_into(DIALECT, &mut object);
    object
}
