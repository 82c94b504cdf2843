//! Responses, and the parts of them that each line of a stream repeats.
//!
//! Fields without a canonical name, such as durations, are in the last line of a stream. They are
//! extra fields of the stop in both, so that a complete reply and its stream give the same value.

use toolwright_core::event::Start;
use toolwright_core::{Extra, Part, Response, Stop, Usage, note};
use toolwright_json::{Json, Object, Path, object};

use super::part;
use super::wire::{self, DIALECT, STOPS};
use crate::codec::{Fields, ReplyContext, Result, WireReply};

/// A note on a stop: the server gave no reason.
const NO_REASON: &str = note!("no_reason");

/// Durations in nanoseconds. Clients divide by them, so every reply has them.
const DURATIONS: [&str; 4] =
    ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"];

/// The value of an unknown duration, which must not be zero.
const UNMEASURED: u64 = 1;

/// Decodes a body.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    fields.require_reply(&["message"])?;
    if fields.boolean("done")? == Some(false) {
        return Err(fields.expected("done", "true, for this is no stream"));
    }
    let parts = decode_message(&mut fields, 0)?;
    let Start { id, model, extra } = decode_start(&mut fields)?;
    let usage = decode_usage(&mut fields)?;
    let stop = decode_stop(&mut fields)?;
    let stop = Stop { extra: merged(fields.into_object(), stop.extra), ..stop }.reconciled(&parts);
    Ok(Response { id, model, parts, stop, usage, extra })
}

/// Decodes `message`; its remaining fields stay extra.
pub(super) fn decode_message(fields: &mut Fields<'_>, calls: usize) -> Result<Vec<Part>> {
    let Some(wire) = fields.take("message") else { return Ok(vec![]) };
    let mut message = Fields::new(wire, Path::ROOT.key("message"), DIALECT)?;
    message.take("role");
    let parts = part::decode_all(&mut message, calls)?;
    fields.put_back_rest("message", message.into_object());
    Ok(parts)
}

/// Decodes the fields that a response shares with each line of a stream.
pub(super) fn decode_start(fields: &mut Fields<'_>) -> Result<Start> {
    let mut start = Start { model: fields.string("model")?, ..Start::default() };
    if let Some(created) = fields.string("created_at")? {
        start.extra.insert(DIALECT, "created_at", created);
    }
    Ok(start)
}

/// Decodes the stop reason; an absent one means an end.
pub(super) fn decode_stop(fields: &mut Fields<'_>) -> Result<Stop> {
    for key in DURATIONS {
        if fields.peek(key).and_then(Json::as_u64) == Some(UNMEASURED) {
            fields.take(key);
        }
    }
    let word = fields.string("done_reason")?.unwrap_or_default();
    let mut stop = Stop::default();
    match STOPS.iter().find(|(_, own)| *own == word) {
        Some((reason, _)) => stop.reason = *reason,
        None if word.is_empty() => stop.extra.insert(DIALECT, NO_REASON, true),
        None => stop.extra.insert(DIALECT, "done_reason", word),
    }
    Ok(stop)
}

/// Decodes usage, which the server omits if it is zero.
pub(super) fn decode_usage(fields: &mut Fields<'_>) -> Result<Option<Usage>> {
    let (input, output) = (fields.u64("prompt_eval_count")?, fields.u64("eval_count")?);
    let said = input.is_some() || output.is_some();
    Ok(said.then(|| Usage { input, output, ..Usage::default() }))
}

/// Merges the remaining fields of the lines with the extra fields of the stop.
pub(super) fn merged(rest: Object, own: Extra) -> Extra {
    let mut extra = Extra::new(DIALECT, rest);
    extra.update(own);
    extra
}

/// Encodes a body.
pub(super) fn encode(response: Response, reply_context: &ReplyContext) -> Json {
    let message = part::encode_all("assistant", &response.parts);
    let start = Start { id: None, model: response.model, extra: response.extra };
    Json::Object(encode_last(
        &start,
        reply_context,
        message,
        &response.stop,
        response.usage.as_ref(),
    ))
}

/// Encodes the fields that every line of a stream repeats.
pub(super) fn encode_start(start: &Start, reply_context: &ReplyContext) -> Object {
    let created = start.extra.get(DIALECT, "created_at").cloned();
    object! {
        "model": start.model.as_deref().or(reply_context.model.as_deref()).unwrap_or_default(),
        "created_at": created.unwrap_or_else(|| wire::timestamp(reply_context.created).into()),
    }
}

/// Encodes the last line, which is also the form of a complete reply.
pub(super) fn encode_last(
    start: &Start,
    reply_context: &ReplyContext,
    message: Object,
    stop: &Stop,
    usage: Option<&Usage>,
) -> Object {
    let mut object = encode_start(start, reply_context);
    object.push("message", message);
    object.push("done", true);
    let word = wire::stop_word(stop.reason);
    if word != "stop" || stop.extra.get(DIALECT, NO_REASON).is_none() {
        let own = stop.extra.get(DIALECT, "done_reason").cloned();
        object.insert("done_reason", own.unwrap_or_else(|| word.into()));
    }
    if let Some(usage) = usage {
        object.insert_some("prompt_eval_count", usage.input.map(|_| usage.input_total()));
        object.insert_some("eval_count", usage.output);
    }
    stop.extra.write_into(DIALECT, &mut object);
    for key in DURATIONS {
        if !object.contains_key(key) {
            object.insert(key, UNMEASURED);
        }
    }
    object
}
