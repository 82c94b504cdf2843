//! Responses, and the parts of them that streams repeat.
//!
//! A body has no id and no model: the id is a header. A stream sends the fields beside the message
//! (`metrics`, `trace`, …) after the stop, so they belong to the stop in both.

use toolwright_core::{Response, Stop, StopReason, Usage};
use toolwright_json::{Json, Object, Path, object};

use super::part;
use super::wire::{self, DIALECT, REQUEST_ID, STOPS};
use crate::codec::{DecodeError, Fields, Result, WireReply};

/// The only extra field of a reply that a stream sends with `messageStop`.
pub(super) const ADDITIONAL: &str = "additionalModelResponseFields";

/// Decodes a reply.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let id = wire.header(REQUEST_ID).map(str::to_owned);
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    fields.require_reply(&["output"])?;
    let path = Path::ROOT.key("output");
    let (kind, message) = wire::member(fields.need("output")?, path)?;
    if kind != "message" {
        return Err(DecodeError::expected(DIALECT, &path, "a message"));
    }
    let path = path.key("message");
    let mut message = Fields::new(message, path, DIALECT)?;
    let parts = part::decode_all(message.array("content")?, path.key("content"))?;
    message.take("role");
    let rest = message.into_object();
    let usage = decode_usage(&mut fields)?;
    let mut stop = decode_stop(&mut fields)?.reconciled(&parts);
    decode_details(fields, &mut stop);
    if !rest.is_empty() {
        stop.extra.insert(DIALECT, "output", wire::union("message", rest));
    }
    Ok(Response { id, parts, stop, usage, ..Response::default() })
}

/// Decodes the stop reason, of a reply or `messageStop`.
pub(super) fn decode_stop(fields: &mut Fields<'_>) -> Result<Stop> {
    let mut stop = Stop::default();
    if let Some(word) = fields.string("stopReason")? {
        let reason = reason_of(&word);
        stop.reason = reason.unwrap_or_default();
        if reason.map(word_of) != Some(&word) {
            stop.extra.insert(DIALECT, "stopReason", word);
        }
    }
    if let Some(additional) = fields.take(ADDITIONAL) {
        stop.extra.insert(DIALECT, ADDITIONAL, additional);
    }
    Ok(stop)
}

/// Decodes the fields beside message, stop and usage, of a reply or `metadata`. Drops metrics that
/// [`encode_metrics`] would add.
pub(super) fn decode_details(mut fields: Fields<'_>, stop: &mut Stop) {
    if fields.peek("metrics").is_some_and(|metrics| metrics.same(&no_metrics())) {
        fields.take("metrics");
    }
    stop.extra.update(fields.into_extra());
}

fn reason_of(word: &str) -> Option<StopReason> {
    STOPS.iter().find(|(_, own)| *own == word).map(|(reason, _)| *reason)
}

fn word_of(reason: StopReason) -> &'static str {
    STOPS.iter().find(|(own, _)| *own == reason).map_or("end_turn", |(_, word)| *word)
}

/// Decodes usage. Input is assumed to exclude cached input, and the total to be the sum of input
/// and output (`docs/dialects/bedrock.md#usage`).
pub(super) fn decode_usage(fields: &mut Fields<'_>) -> Result<Option<Usage>> {
    let Some(wire) = fields.take("usage") else { return Ok(None) };
    let mut own = Fields::new(wire, Path::ROOT.key("usage"), DIALECT)?;
    let mut usage = Usage {
        input: own.u64("inputTokens")?,
        cache_read: own.u64("cacheReadInputTokens")?,
        cache_write: own.u64("cacheWriteInputTokens")?,
        output: own.u64("outputTokens")?,
        ..Usage::default()
    };
    if own.peek("totalTokens").and_then(Json::as_u64) == Some(total(&usage)) {
        own.take("totalTokens");
    }
    usage.extra = own.into_extra();
    Ok(Some(usage))
}

fn total(usage: &Usage) -> u64 {
    usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0))
}

/// Encodes a reply.
pub(super) fn encode(response: Response) -> WireReply {
    let content = part::encode_all(&response.parts);
    let message = object! {"role": "assistant", "content": content};
    let mut body = object! {
        "output": wire::union("message", message),
        "stopReason": stop_word(&response.stop),
        "usage": encode_usage(&response.usage.unwrap_or_default()),
    };
    response.stop.extra.write_into(DIALECT, &mut body);
    encode_metrics(&mut body);
    let mut reply = WireReply::ok(body);
    reply.headers.extend(response.id.map(|id| (REQUEST_ID.to_owned(), id)));
    reply
}

/// Returns the word of the stop reason: the vendor's own if it means the same. An unknown word was
/// decoded as a plain end, which calls may have changed since.
pub(super) fn stop_word(stop: &Stop) -> &str {
    let own = stop.extra.get(DIALECT, "stopReason").and_then(Json::as_str);
    let own = own.filter(|own| match reason_of(own) {
        Some(reason) => reason == stop.reason,
        None => matches!(stop.reason, StopReason::End | StopReason::ToolUse),
    });
    own.unwrap_or(word_of(stop.reason))
}

/// Adds the metrics that the SDKs' types require, if there are none.
pub(super) fn encode_metrics(object: &mut Object) {
    if !object.contains_key("metrics") {
        object.insert("metrics", no_metrics());
    }
}

fn no_metrics() -> Json {
    Json::Object(object! {"latencyMs": 0_u64})
}

/// Encodes usage; the three counts that the SDKs' types require are always present.
pub(super) fn encode_usage(usage: &Usage) -> Object {
    let own_total = usage.extra.get(DIALECT, "totalTokens").cloned();
    let mut object = object! {
        "inputTokens": usage.input.unwrap_or(0),
        "outputTokens": usage.output.unwrap_or(0),
        "totalTokens": own_total.unwrap_or_else(|| total(usage).into()),
    };
    object.insert_some("cacheReadInputTokens", usage.cache_read);
    object.insert_some("cacheWriteInputTokens", usage.cache_write);
    usage.extra.write_into(DIALECT, &mut object);
    object
}
