//! Responses, and the parts of them that streams repeat.
//!
//! Extra fields of the choice and of its message belong to the stop, because both are known when
//! the model stops, in a complete reply or a stream.

use toolwright_core::event::Start;
use toolwright_core::{Extra, Response, Stop, StopReason, Usage, note};
use toolwright_json::{Json, Object, Path, object};

use super::part;
use super::wire::{DIALECT, STOPS};
use crate::codec::{DecodeError, Fields, ReplyContext, Result, WireReply};

/// Decodes a body.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    fields.require_reply(&["choices"])?;
    let path = Path::ROOT.key("choices");
    let mut choices = fields.array("choices")?;
    if choices.is_empty() {
        return Err(DecodeError::expected(DIALECT, &path, "a choice"));
    }
    let path = path.index(0);
    let mut choice = Fields::new(choices.remove(0), path, DIALECT)?;
    let mut message = Fields::new(choice.need("message")?, path.key("message"), DIALECT)?;
    let parts = part::take_turn(&mut message)?;
    message.take("role");
    let mut message = message.into_object();
    if let Some(note) = message.remove(part::CONTENT) {
        choice.put_back(part::CONTENT, note);
    }
    choice.put_back_rest("message", message);
    choice.take("index");
    let word = choice.string("finish_reason")?;
    let stop = decode_stop(word, choice.into_object()).reconciled(&parts);
    let usage = decode_usage(&mut fields, Path::ROOT)?;
    if !choices.is_empty() {
        fields.put_back("choices", choices);
    }
    let Start { id, model, extra } = decode_start(fields)?;
    Ok(Response { id, model, parts, stop, usage, extra })
}

/// Decodes the fields that a response shares with each chunk of a stream.
pub(super) fn decode_start(mut fields: Fields<'_>) -> Result<Start> {
    fields.take("object");
    Ok(Start {
        id: fields.string("id")?,
        model: fields.string("model")?,
        extra: fields.into_extra(),
    })
}

/// Decodes the stop reason, with the other fields of the choice.
pub(super) fn decode_stop(word: Option<String>, rest: Object) -> Stop {
    let mut stop = Stop { extra: Extra::new(DIALECT, rest), ..Stop::default() };
    let Some(word) = word else { return stop };
    match STOPS.iter().find(|(_, own)| *own == word) {
        Some((reason, _)) => stop.reason = *reason,
        None => stop.extra.insert(DIALECT, "finish_reason", word),
    }
    stop
}

/// Cached tokens, in the spelling of some models.
const NUM_CACHED: &str = "num_cached_tokens";

/// A note on usage that used [`NUM_CACHED`].
const COUNTED: &str = note!("num_cached_tokens");

/// Decodes usage; `prompt_tokens` includes cached tokens.
pub(super) fn decode_usage(fields: &mut Fields<'_>, path: Path<'_>) -> Result<Option<Usage>> {
    let Some(wire) = fields.take("usage") else { return Ok(None) };
    let path = path.key("usage");
    let mut own = Fields::new(wire, path, DIALECT)?;
    let prompt = own.u64("prompt_tokens")?;
    let mut usage = Usage { output: own.u64("completion_tokens")?, ..Usage::default() };
    if let Some(details) = own.take("prompt_tokens_details") {
        let mut details = Fields::new(details, path.key("prompt_tokens_details"), DIALECT)?;
        match details.u64("cached_tokens")? {
            Some(read) if prompt.is_some_and(|prompt| read <= prompt) => {
                usage.cache_read = Some(read);
            }
            Some(odd) => details.put_back("cached_tokens", odd),
            None => {}
        }
        own.put_back_rest("prompt_tokens_details", details.into_object());
    }
    let read = own.u64(NUM_CACHED)?;
    let is_part = read <= prompt && usage.cache_read.is_none();
    match read {
        Some(read) if is_part => usage.cache_read = Some(read),
        Some(odd) => own.put_back(NUM_CACHED, odd),
        None => {}
    }
    usage.input = prompt.map(|prompt| prompt.saturating_sub(usage.cache_read.unwrap_or(0)));
    if let Some(total) = own.u64("total_tokens")?
        && total != usage.total()
    {
        own.put_back("total_tokens", total);
    }
    usage.extra = own.into_extra();
    if read.is_some() && is_part {
        usage.extra.insert(DIALECT, COUNTED, true);
    }
    Ok(Some(usage))
}

/// Encodes a body.
pub(super) fn encode(response: Response, reply_context: &ReplyContext) -> Json {
    let Response { id, model, parts, stop, usage, extra } = response;
    let start = Start { id, model, extra };
    let mut choices =
        vec![Json::Object(encode_choice(&stop, part::encode_turn(&parts, &stop.extra)))];
    // Further choices were stored unchanged.
    if let Some(Json::Array(rest)) = start.extra.get(DIALECT, "choices") {
        choices.extend(rest.iter().cloned());
    }
    let mut object = encode_start(&start, reply_context, "chat.completion", choices);
    object.insert("usage", encode_usage(&usage.unwrap_or_default()));
    Json::Object(object)
}

/// Encodes the fields that a response shares with each chunk of a stream. The SDK refuses a
/// response without any of these (`fixtures/negative.json`).
pub(super) fn encode_start(
    start: &Start,
    reply_context: &ReplyContext,
    kind: &'static str,
    choices: Vec<Json>,
) -> Object {
    let created = start.extra.get(DIALECT, "created").cloned();
    let mut object = object! {
        "id": start.id.as_deref().unwrap_or("cmpl-0"),
        "object": kind,
        "created": created.unwrap_or_else(|| reply_context.created.into()),
        "model": start.model.as_deref().or(reply_context.model.as_deref()).unwrap_or_default(),
        "choices": Json::Array(choices),
    };
    start.extra.write_into(DIALECT, &mut object);
    object
}

/// Encodes a choice with its message and the stop reason.
pub(super) fn encode_choice(stop: &Stop, message: Object) -> Object {
    let word = STOPS.iter().find(|(reason, _)| *reason == stop.reason).map(|(_, word)| *word);
    let own = stop.extra.get(DIALECT, "finish_reason").and_then(Json::as_str);
    let own = own.filter(|_| matches!(stop.reason, StopReason::End | StopReason::ToolUse));
    let mut choice = object! {
        "index": 0_u64,
        "message": message,
        "finish_reason": own.or(word).unwrap_or("stop"),
    };
    stop.extra.write_into(DIALECT, &mut choice);
    choice
}

/// Encodes usage.
pub(super) fn encode_usage(usage: &Usage) -> Object {
    let total = usage.extra.get(DIALECT, "total_tokens").cloned();
    let mut object = object! {
        "prompt_tokens": usage.input_total(),
        "completion_tokens": usage.output.unwrap_or(0),
        "total_tokens": total.unwrap_or_else(|| usage.total().into()),
    };
    match usage.cache_read {
        Some(read) if usage.extra.get(DIALECT, COUNTED).is_some() => {
            object.insert(NUM_CACHED, read);
        }
        Some(read) => object.insert("prompt_tokens_details", object! {"cached_tokens": read}),
        None => {}
    }
    usage.extra.write_into(DIALECT, &mut object);
    object
}
