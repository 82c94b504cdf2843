//! An answer in plain JSON. Every field is always there; what was not said is null.
//!
//! | `finish_reason` | why the model stopped |
//! |---|---|
//! | `stop` | it was done |
//! | `tool_calls` | it waits for the outcomes of its calls |
//! | `length` | the limit on tokens was met |
//! | `context_window` | the context window was full |
//! | `stop_sequence` | a stop text was met |
//! | `refusal` | it refused; its words are the text |
//! | `content_filter` | a filter cut the answer |
//! | `malformed_call` | it wrote a call that the vendor could not read |
//! | `pause` | the vendor paused; ask again to go on |
//! | `error` | the vendor failed |

use toolwright_core::json::Object;
use toolwright_core::part::{Body, Part, Reasoning};
use toolwright_core::{Arguments, Call, Json, Response, Stop, StopReason, Usage, object};

use super::error::ChatError;
use super::message::optional_text;

/// The words for why a model stopped.
const REASONS: [(&str, StopReason); 10] = [
    ("stop", StopReason::End),
    ("tool_calls", StopReason::ToolUse),
    ("length", StopReason::MaxTokens),
    ("context_window", StopReason::ContextWindow),
    ("stop_sequence", StopReason::StopSequence),
    ("refusal", StopReason::Refusal),
    ("content_filter", StopReason::Filtered),
    ("malformed_call", StopReason::MalformedCall),
    ("pause", StopReason::Pause),
    ("error", StopReason::Failed),
];

/// The word for why a model stopped.
pub fn finish_reason(reason: StopReason) -> &'static str {
    REASONS.iter().find(|row| row.1 == reason).map_or("stop", |row| row.0)
}

/// Why a model stopped, by the word.
pub fn stop_reason(word: &str) -> Option<StopReason> {
    REASONS.iter().find(|row| row.0 == word).map(|row| row.1)
}

/// Writes an answer.
pub fn write(response: &Response) -> Object {
    let mut message = message_of(&response.parts);
    message.insert("finish_reason", finish_reason(response.stop.reason));
    let usage = response.usage.as_ref().map(|usage| {
        object! {
            "input_tokens": usage.input_total(),
            "output_tokens": usage.output.unwrap_or(0),
            "total_tokens": usage.total(),
        }
    });
    object! {"message": message, "model": response.model.clone(), "usage": usage}
}

/// Writes what was said, without why it ended.
pub(super) fn message_of(parts: &[Part]) -> Object {
    let said = Response { parts: parts.to_vec(), ..Response::default() };
    let text = match said.text() {
        text if text.is_empty() => said.refusal().map(str::to_owned),
        text => Some(text),
    };
    let calls: Vec<Object> = said.calls().enumerate().map(write_call).collect();
    object! {
        "content": object! {"text": text, "reasoning": said.reasoning()},
        "tool_desc": (!calls.is_empty()).then_some(calls),
        "finish_reason": Json::Null,
    }
}

/// Writes a call. The arguments are the model's exact text. A vendor who gives no ids pairs by
/// order, so the place stands in.
fn write_call((at, call): (usize, &Call)) -> Object {
    let kind = if matches!(call.arguments, Arguments::Free(_)) { "custom" } else { "function" };
    object! {
        "id": call.id.clone().unwrap_or_else(|| format!("call_{at}")),
        "type": kind,
        "name": call.name.as_str(),
        "arguments": call.arguments.as_str(),
    }
}

/// Reads an answer.
pub fn read(document: &Json) -> Result<Response, ChatError> {
    let answer = document.as_object().ok_or_else(|| ChatError::new("", "an answer object"))?;
    let message = answer.get("message").and_then(Json::as_object);
    let message = message.ok_or_else(|| ChatError::new("/message", "a message object"))?;
    let response = read_message(message).map_err(|error| error.within("/message"))?;
    let usage = answer.get("usage").filter(|usage| !usage.is_null()).map(|usage| {
        let count = |key: &str| usage.get(key).and_then(Json::as_u64);
        let (input, output) = (count("input_tokens"), count("output_tokens"));
        Usage { input, output, ..Usage::default() }
    });
    let model = optional_text(answer, "model")?.map(str::to_owned);
    Ok(Response { model, usage, ..response })
}

/// Reads the message of an answer: thinking, words, calls, in this order.
pub(super) fn read_message(message: &Object) -> Result<Response, ChatError> {
    let mut parts = Vec::new();
    match message.get("content") {
        None | Some(Json::Null) => {}
        Some(Json::String(text)) => parts.push(Part::text(text.as_str())),
        Some(Json::Object(content)) => {
            let within = |error: ChatError| error.within("/content");
            if let Some(text) = optional_text(content, "reasoning").map_err(within)? {
                parts.push(Part::new(Body::Reasoning(Reasoning::text(text))));
            }
            if let Some(text) = optional_text(content, "text").map_err(within)? {
                parts.push(Part::text(text));
            }
        }
        Some(_) => return Err(ChatError::new("/content", "{\"text\", \"reasoning\"}, or text")),
    }
    match message.get("tool_desc") {
        None | Some(Json::Null) => {}
        Some(Json::Array(calls)) => {
            for (at, call) in calls.iter().enumerate() {
                let within = |error: ChatError| error.within(&format!("/tool_desc/{at}"));
                parts.push(Part::call(read_call(call).map_err(within)?));
            }
        }
        Some(_) => return Err(ChatError::new("/tool_desc", "a list of calls, or null")),
    }
    let stop = match optional_text(message, "finish_reason")? {
        // A vendor's own word that is not in the table: what was said decides.
        Some(word) => Stop::new(stop_reason(word).unwrap_or_default()),
        None => Stop::default(),
    };
    Ok(Response { stop: stop.settled(&parts), parts, ..Response::default() })
}

fn read_call(document: &Json) -> Result<Call, ChatError> {
    let call = document.as_object().ok_or_else(|| ChatError::new("", "a call object"))?;
    let needed = |key: &str| {
        optional_text(call, key)?.ok_or_else(|| ChatError::new(format!("/{key}"), "text"))
    };
    let (id, name) = (needed("id")?, needed("name")?);
    let free = optional_text(call, "type")? == Some("custom");
    let arguments = match call.get("arguments") {
        Some(Json::String(text)) if free => Arguments::Free(text.clone()),
        Some(Json::String(text)) => Arguments::from_text(text.as_str()),
        Some(object @ Json::Object(_)) => Arguments::from_json(object),
        _ => return Err(ChatError::new("/arguments", "the arguments as text or as an object")),
    };
    Ok(Call::new(id, name, arguments))
}
