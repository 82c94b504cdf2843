//! Responses, and the parts of them that streams repeat.

use toolwright_core::event::Start;
use toolwright_core::note::{self, is_note};
use toolwright_core::{Part, Response, Role, Stop, StopReason, Usage};
use toolwright_json::{Json, Object, Path, object};

use super::part;
use super::wire::{DIALECT, STOPS};
use crate::codec::{Fields, ReplyContext, Result, WireReply};

/// Decodes a body.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let mut fields = Fields::new(wire.body, Path::ROOT, DIALECT)?;
    fields.require_reply(&["output"])?;
    let mut parts = Vec::new();
    let id = fields.tag("id").unwrap_or_default().to_owned();
    let path = Path::ROOT.key("output");
    for (index, item) in fields.array("output")?.into_iter().enumerate() {
        part::decode_output(item, path.index(index), (&id, index), &mut parts)?;
    }
    let stop = decode_stop(&mut fields)?.reconciled(&parts);
    let usage = decode_usage(&mut fields, Path::ROOT)?;
    let Start { id, model, extra } = decode_start(fields)?;
    Ok(Response { id, model, parts, stop, usage, extra })
}

/// Decodes the fields that a response shares with the first event of a stream.
pub(super) fn decode_start(mut fields: Fields<'_>) -> Result<Start> {
    for key in ["object", "output", "status", "error", "incomplete_details", "usage"] {
        fields.take(key);
    }
    for (key, value) in usual().iter() {
        if fields.peek(key).unwrap_or(&Json::Null) == value {
            fields.take(key);
        }
    }
    Ok(Start {
        id: fields.string("id")?,
        model: fields.string("model")?,
        extra: fields.into_extra(),
    })
}

/// Decodes the stop reason. The vendor's own words are stored if we would write others.
pub(super) fn decode_stop(fields: &mut Fields<'_>) -> Result<Stop> {
    let status = fields.string("status")?;
    let details = fields.take("incomplete_details");
    let error = fields.take("error");
    let word = details.as_ref().and_then(|own| own.get("reason")).and_then(Json::as_str);
    let mut stop = Stop::new(reason(status.as_deref(), word));
    if word.is_none() && error.is_none() && stop.reason != StopReason::End {
        stop = stop.without_explanation(DIALECT);
    }
    let said = encode_stop(&stop);
    let own = [
        ("status", status.map_or_else(|| "completed".into(), Json::from)),
        ("error", error.unwrap_or_default()),
        ("incomplete_details", details.unwrap_or_default()),
    ];
    for (key, value) in own {
        match (said.get(key), value) {
            (Some(Json::Object(said)), Json::Object(own)) => {
                let other = different(own, said);
                if !other.is_empty() {
                    stop.extra.insert(DIALECT, key, other);
                }
            }
            (Some(said), value) if *said == value => {}
            (_, value) => stop.extra.insert(DIALECT, key, value),
        }
    }
    Ok(stop)
}

/// Returns the members that differ from the default object, with null for members that only the
/// default has.
fn different(own: Object, usual: &Object) -> Object {
    let lacks = usual.keys().filter(|key| !own.contains_key(key));
    let lacks: Vec<_> = lacks.map(|key| (key.to_owned().into(), Json::Null)).collect();
    let other = own.into_iter().filter(|(key, value)| usual.get(key) != Some(value));
    other.chain(lacks).collect()
}

fn reason(status: Option<&str>, word: Option<&str>) -> StopReason {
    let status = status.unwrap_or("completed");
    let find = |word| STOPS.iter().find(|(_, own, detail)| *own == status && *detail == word);
    find(word).or_else(|| find(None)).map_or(StopReason::End, |(reason, _, _)| *reason)
}

/// Decodes usage. `input_tokens` includes cache reads and writes; the three canonical counts add up
/// to it.
pub(super) fn decode_usage(fields: &mut Fields<'_>, path: Path<'_>) -> Result<Option<Usage>> {
    let Some(wire) = fields.take("usage") else { return Ok(None) };
    let path = path.key("usage");
    let mut own = Fields::new(wire, path, DIALECT)?;
    let mut usage = Usage::default();
    if let Some(details) = own.take("input_tokens_details") {
        let mut details = Fields::new(details, path.key("input_tokens_details"), DIALECT)?;
        usage.cache_read = details.u64("cached_tokens")?;
        usage.cache_write = details.u64("cache_write_tokens")?;
        own.put_back_rest("input_tokens_details", details.into_object());
    }
    if let Some(details) = own.take("output_tokens_details") {
        let mut details = Fields::new(details, path.key("output_tokens_details"), DIALECT)?;
        usage.reasoning = details.u64("reasoning_tokens")?;
        own.put_back_rest("output_tokens_details", details.into_object());
    }
    let input = own.u64("input_tokens")?;
    let output = own.u64("output_tokens")?;
    let total = own.u64("total_tokens")?;
    usage.set_sums(input, output, total);
    // The sums of a vendor that counts differently are encoded again.
    for (key, said, computed) in [
        ("input_tokens", input, usage.input_total()),
        ("output_tokens", output, usage.output.unwrap_or(0)),
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
pub(super) fn encode(response: Response, reply_context: &ReplyContext) -> Json {
    let start = Start { id: response.id, model: response.model, extra: response.extra };
    let object = encode_start(&start, reply_context);
    Json::Object(encode_end(object, &response.parts, &response.stop, response.usage.as_ref()))
}

/// Encodes a response that has begun, with all fields that the SDK's type requires: its own, then
/// those of the request, then defaults.
pub(super) fn encode_start(start: &Start, reply_context: &ReplyContext) -> Object {
    let made_id = || format!("resp_{:x}", reply_context.created);
    let mut object = object! {
        "id": start.id.clone().unwrap_or_else(made_id),
        "object": "response",
        "status": "in_progress",
        "error": Json::Null,
        "incomplete_details": Json::Null,
        "model": start.model.as_deref().or(reply_context.model.as_deref()).unwrap_or_default(),
        "output": Json::Array(vec![]),
        "usage": Json::Null,
    };
    start.extra.write_into(DIALECT, &mut object);
    note::merge(&mut object, &reply_context.echo);
    object.merge(&object! {"created_at": reply_context.created});
    object.merge(&usual());
    object
}

/// The default fields of a response. The decoder drops them, and the encoder adds them.
fn usual() -> Object {
    object! {
        "instructions": Json::Null,
        "metadata": Json::Null,
        "parallel_tool_calls": true,
        "temperature": Json::Null,
        "tool_choice": "auto",
        "tools": Json::Array(vec![]),
        "top_p": Json::Null,
    }
}

/// Completes a response that had begun.
pub(super) fn encode_end(
    mut object: Object,
    parts: &[Part],
    stop: &Stop,
    usage: Option<&Usage>,
) -> Object {
    let id = object.get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
    object.insert("output", part::Writer::response(&id, 0).parts(Role::Assistant, parts));
    for (key, value) in encode_stop(stop) {
        object.insert(key, value);
    }
    object.insert("usage", usage.map(encode_usage));
    object
}

/// Encodes the stop reason: in the vendor's own words if they still apply.
fn encode_stop(stop: &Stop) -> Object {
    let row = STOPS.iter().find(|(reason, _, _)| *reason == stop.reason);
    let (status, word) = row.map_or(("completed", None), |(_, status, word)| (*status, *word));
    let failed = || object! {"code": "server_error", "message": "the model's vendor failed"};
    let object = object! {
        "status": status,
        "error": (status == "failed").then(failed),
        "incomplete_details": word.map(|word| object! {"reason": word}),
    };
    let mut own = object.clone();
    let extra = stop.extra.for_dialect(DIALECT).into_iter().flat_map(Object::iter);
    for (key, value) in extra.filter(|(key, _)| !is_note(key)) {
        let mut value = value.clone();
        if let (Json::Object(value), Some(Json::Object(usual))) = (&mut value, object.get(key)) {
            value.merge(usual);
        }
        own.insert(key.to_owned(), value);
    }
    let own_status = own.get("status").and_then(Json::as_str);
    let own_word = own.get("incomplete_details").and_then(|details| details.get("reason"));
    let meant = reason(own_status, own_word.and_then(Json::as_str));
    if meant == reason(Some(status), word) { own } else { object }
}

/// Encodes usage; the SDK's type requires all counts.
fn encode_usage(usage: &Usage) -> Object {
    let own = |key: &str, count: u64| {
        usage.extra.get(DIALECT, key).cloned().unwrap_or_else(|| count.into())
    };
    let mut object = object! {
        "input_tokens": own("input_tokens", usage.input_total()),
        "input_tokens_details": object! {
            "cached_tokens": usage.cache_read.unwrap_or(0),
            "cache_write_tokens": usage.cache_write.unwrap_or(0),
        },
        "output_tokens": own("output_tokens", usage.output.unwrap_or(0)),
        "output_tokens_details": object! {"reasoning_tokens": usage.reasoning.unwrap_or(0)},
        "total_tokens": own("total_tokens", usage.total()),
    };
    usage.extra.write_into(DIALECT, &mut object);
    object
}
