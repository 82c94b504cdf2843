//! Response bodies, and the parts of them that streams repeat.

mod summary;

use toolwright_core::event::Start;
use toolwright_core::{Response, Stop, StopReason, Usage};
use toolwright_json::{Json, Object, Path, object};

pub(super) use summary::summarize;

use super::part;
use super::wire::{DIALECT, STOPS};
use crate::codec::{Fields, ReplyContext, Result, WireReply, elements};

/// The container of hosted tools. A stream sends it with the stop (the SDK's
/// `RawMessageDeltaEvent`), so it belongs to the stop of a complete reply, too.
const CONTAINER: &str = "container";

/// Decodes a body.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    fields.require_reply(&["content"])?;
    let parts = elements(fields.array("content")?, &Path::ROOT.key("content"), part::decode)?;
    let mut stop = decode_stop(&mut fields)?.unwrap_or_default().reconciled(&parts);
    stop.details = stop.details.or_else(|| fields.take("stop_details"));
    let usage = decode_usage(&mut fields, Path::ROOT)?;
    let Start { id, model, extra } = decode_start(fields)?;
    Ok(Response { id, model, parts, stop, usage, extra })
}

/// Decodes the fields that a response shares with the first event of a stream.
pub(super) fn decode_start(mut fields: Fields<'_>) -> Result<Start> {
    for key in ["type", "role", "content", "stop_reason", "stop_sequence"] {
        fields.take(key);
    }
    // A stream sends these again at its end.
    for key in ["stop_details", CONTAINER] {
        if fields.peek(key).is_none() {
            fields.take(key);
        }
    }
    Ok(Start {
        id: fields.string("id")?,
        model: fields.string("model")?,
        extra: fields.into_extra(),
    })
}

/// Decodes the stop reason, of a response or a `message_delta`.
pub(super) fn decode_stop(fields: &mut Fields<'_>) -> Result<Option<Stop>> {
    let Some(word) = fields.string("stop_reason")? else { return Ok(None) };
    let mut stop = Stop::default();
    match STOPS.iter().find(|(_, own)| *own == word) {
        Some((reason, _)) => stop.reason = *reason,
        None => stop.extra.insert(DIALECT, "stop_reason", word),
    }
    stop.sequence = fields.string("stop_sequence")?;
    stop.details = fields.take("stop_details");
    if let Some(container) = fields.take(CONTAINER) {
        stop.extra.insert(DIALECT, CONTAINER, container);
    }
    Ok(Some(stop))
}

/// Decodes usage; input already excludes cached tokens.
pub(super) fn decode_usage(fields: &mut Fields<'_>, path: Path<'_>) -> Result<Option<Usage>> {
    let Some(wire) = fields.take("usage") else { return Ok(None) };
    let path = path.key("usage");
    let mut own = Fields::new(wire, path, DIALECT)?;
    let mut usage = Usage {
        input: own.u64("input_tokens")?,
        cache_read: own.u64("cache_read_input_tokens")?,
        cache_write: own.u64("cache_creation_input_tokens")?,
        output: own.u64("output_tokens")?,
        ..Usage::default()
    };
    if let Some(details) = own.take("output_tokens_details") {
        let mut details = Fields::new(details, path.key("output_tokens_details"), DIALECT)?;
        usage.reasoning = details.u64("thinking_tokens")?;
        own.put_back_rest("output_tokens_details", details.into_object());
    }
    usage.extra = own.into_extra();
    Ok(Some(usage))
}

/// Encodes a body.
pub(super) fn encode(response: Response, reply_context: &ReplyContext) -> Json {
    let content = part::encode_all(response.parts);
    let start = Start { id: response.id, model: response.model, extra: response.extra };
    let mut object = encode_start(&start, reply_context, content);
    for (key, value) in encode_stop(&response.stop) {
        object.insert(key, value);
    }
    object.insert("usage", encode_usage(&response.usage.unwrap_or_default()));
    start.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Encodes the fields that a response shares with the first event of a stream.
pub(super) fn encode_start(
    start: &Start,
    reply_context: &ReplyContext,
    content: Vec<Json>,
) -> Object {
    object! {
        "id": start.id.as_deref().unwrap_or("msg_0"),
        "type": "message",
        "role": "assistant",
        "model": start.model.as_deref().or(reply_context.model.as_deref()).unwrap_or_default(),
        "content": Json::Array(content),
    }
}

/// Encodes the stop reason.
pub(super) fn encode_stop(stop: &Stop) -> Object {
    let word = STOPS.iter().find(|(reason, _)| *reason == stop.reason).map(|(_, word)| *word);
    let own = stop.extra.get(DIALECT, "stop_reason").and_then(Json::as_str);
    let own = own.filter(|_| matches!(stop.reason, StopReason::End | StopReason::ToolUse));
    let mut object = object! {
        "stop_reason": own.or(word).unwrap_or("end_turn"),
        "stop_sequence": stop.sequence.as_deref(),
    };
    object.insert_some("stop_details", stop.details.clone());
    object.insert_some(CONTAINER, stop.extra.get(DIALECT, CONTAINER).cloned());
    object
}

/// Encodes usage; the two counts that the SDK's type requires are always present.
pub(super) fn encode_usage(usage: &Usage) -> Object {
    let mut object = object! {"input_tokens": usage.input.unwrap_or(0)};
    object.insert_some("cache_creation_input_tokens", usage.cache_write);
    object.insert_some("cache_read_input_tokens", usage.cache_read);
    object.insert("output_tokens", usage.output.unwrap_or(0));
    if let Some(reasoning) = usage.reasoning {
        object.insert("output_tokens_details", object! {"thinking_tokens": reasoning});
    }
    usage.extra.write_into(DIALECT, &mut object);
    object
}
