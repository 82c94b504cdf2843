//! Responses, and the parts of them that streams repeat.
//!
//! Fields of a choice without a canonical name (`logprobs`, `annotations`, further choices) belong
//! to the stop, because in a stream they are complete only then.

mod summary;

use toolwright_core::event::Start;
use toolwright_core::extra::BESIDE;
use toolwright_core::{Extra, Response, Stop, StopReason, Usage, note};
use toolwright_json::{Json, Object, Path, object};

pub(super) use summary::summarize;

use super::Quirks;
use super::part::{self, Reader};
use super::wire::{CONTENT, OWN_STOPS, STOPS};
use crate::codec::{Fields, ReplyContext, Result};

/// Decodes a body.
pub(super) fn decode(body: Json, quirks: &Quirks) -> Result<Response> {
    let mut fields = Fields::new(body, Path::ROOT, quirks.dialect)?;
    fields.require_reply(&["choices"])?;
    let mut choices = fields.array("choices")?.into_iter();
    let path = Path::ROOT.key("choices");
    let path = path.index(0);
    let first = choices.next().ok_or_else(|| fields.missing("choices"))?;
    let mut choice = Fields::new(first, path, quirks.dialect)?;
    let mut message = Fields::new(choice.need("message")?, path.key("message"), quirks.dialect)?;
    message.take("role");
    let parts = part::decode_turn(&mut message, quirks)?;
    for key in ["annotations", "audio"] {
        drop_null(&mut message, key);
    }
    let word = take_choice(&mut choice)?;
    let rest = Rest {
        choice: choice.into_object(),
        message: message.into_object(),
        others: choices.collect(),
        late: Object::new(),
    };
    let stop = rest.stop(word, quirks);
    let usage = decode_usage(&mut fields, quirks)?;
    let Start { id, model, extra } = decode_start(fields)?;
    Ok(Response { id, model, stop: stop.reconciled(&parts), parts, usage, extra })
}

/// Takes the stop reason, and drops fields without information.
pub(super) fn take_choice(choice: &mut Fields<'_>) -> Result<Option<String>> {
    choice.take("index");
    drop_null(choice, "logprobs");
    choice.string("finish_reason")
}

fn drop_null(fields: &mut Fields<'_>, key: &'static str) {
    if let Some(value) = fields.take(key) {
        fields.put_back(key, value);
    }
}

/// Fields besides parts, stop reason and usage.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Of the first choice
    pub(super) choice: Object,
    /// Of its message
    pub(super) message: Object,
    /// The other choices
    pub(super) others: Vec<Json>,
    /// Of the response, late in a stream
    pub(super) late: Object,
}

impl Rest {
    /// Returns the stop for a reason, with these fields.
    pub(super) fn stop(self, word: Option<String>, quirks: &Quirks) -> Stop {
        let Rest { mut choice, message, others, late } = self;
        let mut stop = Stop::default();
        if let Some(word) = word {
            let find = |words: &[(StopReason, &str)]| {
                words.iter().find(|(_, own)| *own == word).map(|(reason, _)| *reason)
            };
            stop.reason = find(STOPS).or_else(|| find(OWN_STOPS)).unwrap_or_default();
            if find(STOPS).is_none() {
                choice.insert("finish_reason", word);
            }
        }
        choice.insert_some("message", Some(message).filter(|own| !own.is_empty()));
        let numbered = others.into_iter().enumerate();
        let mut beside: Object =
            numbered.map(|(at, other)| ((at + 1).to_string().into(), other)).collect();
        beside.insert_some(BESIDE, Some(late).filter(|own| !own.is_empty()));
        choice.insert_some(BESIDE, Some(beside).filter(|own| !own.is_empty()));
        stop.extra = Extra::new(quirks.dialect, choice);
        stop
    }

    /// Returns the fields that a stop stores.
    pub(super) fn of(stop: &Stop, quirks: &Quirks) -> Rest {
        let mut choice = stop.extra.for_dialect(quirks.dialect).cloned().unwrap_or_default();
        let message = take_object(&mut choice, "message");
        let mut beside = take_object(&mut choice, BESIDE);
        let late = take_object(&mut beside, BESIDE);
        let others = beside.into_iter().map(|(_, other)| other).collect();
        Rest { choice, message, others, late }
    }
}

fn take_object(object: &mut Object, key: &str) -> Object {
    match object.remove(key) {
        Some(Json::Object(own)) => own,
        _ => Object::new(),
    }
}

/// Decodes the fields that a response shares with each chunk of a stream.
pub(super) fn decode_start(mut fields: Fields<'_>) -> Result<Start> {
    fields.take("object");
    let id = fields.filled("id")?;
    let model = fields.string("model")?.filter(|model| !model.is_empty());
    Ok(Start { id, model, extra: fields.into_extra() })
}

/// The count of cached tokens. Moonshot sends it without the details object.
const CACHED: &str = "cached_tokens";

/// Takes usage; cached tokens are included in the input here.
pub(super) fn decode_usage(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Option<Usage>> {
    let path = fields.path();
    let Some(wire) = fields.take("usage") else { return Ok(None) };
    let path = path.key("usage");
    let mut own = Fields::new(wire, path, quirks.dialect)?;
    let mut usage = Usage::default();
    if let Some(details) = own.take("prompt_tokens_details") {
        let mut details = Fields::new(details, path.key("prompt_tokens_details"), quirks.dialect)?;
        usage.cache_read = details.u64(CACHED)?;
        usage.cache_write = details.u64("cache_write_tokens")?;
        own.put_back_rest("prompt_tokens_details", details.into_object());
    }
    if let Some(details) = own.take("completion_tokens_details") {
        let mut details =
            Fields::new(details, path.key("completion_tokens_details"), quirks.dialect)?;
        usage.reasoning = details.u64("reasoning_tokens")?;
        own.put_back_rest("completion_tokens_details", details.into_object());
    }
    if usage.cache_read.is_none() {
        usage.cache_read = own.peek(CACHED).and_then(Json::as_u64);
    }
    let prompt = own.u64("prompt_tokens")?;
    let completion = own.u64("completion_tokens")?;
    let total = own.u64("total_tokens")?;
    usage.set_sums(prompt, completion, total);
    for (key, said, computed) in [
        ("prompt_tokens", prompt, usage.input_total()),
        ("completion_tokens", completion, usage.output.unwrap_or(0)),
        ("total_tokens", total, usage.total()),
    ] {
        if let Some(said) = said.filter(|said| *said != computed) {
            own.put_back(key, said);
        }
    }
    usage.extra = own.into_extra();
    Ok(Some(usage))
}

/// Encodes a body.
pub(super) fn encode(response: Response, reply_context: &ReplyContext, quirks: &Quirks) -> Json {
    let Response { id, model, parts, stop, usage, extra } = response;
    let mut object =
        encode_start("chat.completion", &Start { id, model, extra }, reply_context, quirks);
    let rest = Rest::of(&stop, quirks);
    let note = rest.message.get(CONTENT);
    let mut message = part::encode_turn(&parts, note, Reader::Client, quirks);
    note::merge(&mut message, &rest.message);
    let mut choice = object! {"index": 0_usize, "message": message};
    finish(&mut choice, &rest.choice, &stop);
    let mut choices = rest.others;
    choices.insert(0, Json::Object(choice));
    object.insert("choices", Json::Array(choices));
    object.insert_some("usage", usage.map(|usage| encode_usage(&usage, quirks)));
    note::merge(&mut object, &rest.late);
    Json::Object(object)
}

/// Encodes the end of a choice: the vendor's own word, or the one for the reason.
pub(super) fn finish(choice: &mut Object, rest: &Object, stop: &Stop) {
    note::merge(choice, rest);
    for (key, value) in [("logprobs", Json::Null), ("finish_reason", word(stop).into())] {
        if !choice.contains_key(key) {
            choice.insert(key, value);
        }
    }
}

fn word(stop: &Stop) -> &'static str {
    STOPS.iter().find(|(reason, _)| *reason == stop.reason).map_or("stop", |(_, word)| *word)
}

/// Encodes the fields that a response shares with each chunk of a stream.
pub(super) fn encode_start(
    kind: &'static str,
    start: &Start,
    reply_context: &ReplyContext,
    quirks: &Quirks,
) -> Object {
    let created = start.extra.get(quirks.dialect, "created").cloned();
    let mut object = object! {
        "id": start.id.clone().unwrap_or_else(|| format!("chatcmpl-{}", reply_context.created)),
        "object": kind,
        "created": created.unwrap_or_else(|| reply_context.created.into()),
        "model": start.model.as_deref().or(reply_context.model.as_deref()).unwrap_or_default(),
    };
    start.extra.write_into(quirks.dialect, &mut object);
    object
}

/// Encodes usage; the three counts that the SDK's type requires are always present.
pub(super) fn encode_usage(usage: &Usage, quirks: &Quirks) -> Object {
    let said = |key| usage.extra.get(quirks.dialect, key).cloned();
    let mut object = object! {
        "prompt_tokens": said("prompt_tokens").unwrap_or_else(|| usage.input_total().into()),
        "completion_tokens": said("completion_tokens")
            .unwrap_or_else(|| usage.output.unwrap_or(0).into()),
        "total_tokens": said("total_tokens").unwrap_or_else(|| usage.total().into()),
    };
    let mut details = Object::new();
    details.insert_some(CACHED, usage.cache_read.filter(|_| said(CACHED).is_none()));
    details.insert_some("cache_write_tokens", usage.cache_write);
    object.insert_some("prompt_tokens_details", Some(details).filter(|own| !own.is_empty()));
    let details = usage.reasoning.map(|reasoning| object! {"reasoning_tokens": reasoning});
    object.insert_some("completion_tokens_details", details);
    usage.extra.write_into(quirks.dialect, &mut object);
    object
}
