//! Responses in plain JSON. Every field is present; unknown values are null.
//!
//! | `finish_reason` | why the model stopped |
//! |---|---|
//! | `stop` | it finished |
//! | `tool_calls` | it waits for the outcomes of its calls |
//! | `length` | the token limit was reached |
//! | `context_window` | the context window was full |
//! | `stop_sequence` | a stop sequence was reached |
//! | `refusal` | it refused; the text explains why |
//! | `content_filter` | a filter cut the response |
//! | `malformed_call` | it wrote a call that the vendor could not parse |
//! | `pause` | the vendor paused; send the conversation again to continue |
//! | `error` | the vendor failed |

use toolwright_core::part::Reasoning;
use toolwright_core::{
    Arguments, Body, Call, Json, Part, Response, Stop, StopReason, Usage, object,
};
use toolwright_json::Object;

use toolwright_core::document::{DocumentError, ObjectReader, items};

/// Writes a response.
pub fn write(response: &Response) -> Object {
    let mut message = message_of(&response.parts);
    message.insert("finish_reason", response.stop.reason.name());
    let usage = response.usage.as_ref().map(|usage| {
        object! {
            "input_tokens": usage.input_total(),
            "output_tokens": usage.output.unwrap_or(0),
            "total_tokens": usage.total(),
        }
    });
    object! {"message": message, "model": response.model.clone(), "usage": usage}
}

/// Writes the parts of a response, without its stop reason.
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

/// Writes a call, with the exact text of its arguments. A call without an id gets its index, since
/// such vendors pair calls and outcomes by order.
fn write_call((at, call): (usize, &Call)) -> Object {
    let kind = if matches!(call.arguments, Arguments::Free(_)) { "custom" } else { "function" };
    object! {
        "id": call.id.clone().unwrap_or_else(|| format!("call_{at}")),
        "type": kind,
        "name": call.name.as_str(),
        "arguments": call.arguments.as_str(),
    }
}

/// Reads a response.
pub fn read(document: &Json) -> Result<Response, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let response = fields.required("message", read_message)?;
    let usage = fields.optional("usage", |usage| {
        let count = |key: &str| usage.get(key).and_then(Json::as_u64);
        let (input, output) = (count("input_tokens"), count("output_tokens"));
        Ok(Usage { input, output, ..Usage::default() })
    })?;
    Ok(Response { model: fields.owned("model")?, usage, ..response })
}

/// Reads the message of a response: reasoning, text and calls, in this order.
pub(super) fn read_message(document: &Json) -> Result<Response, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let mut parts = fields.optional("content", read_content)?.unwrap_or_default();
    let calls = fields.optional("tool_desc", |calls| items(calls, read_call))?;
    parts.extend(calls.unwrap_or_default().into_iter().map(Part::call));
    let stop = match fields.optional_text("finish_reason")? {
        // An unknown name: `reconciled` decides by the parts.
        Some(word) => Stop::new(StopReason::from_name(word).unwrap_or_default()),
        None => Stop::default(),
    };
    Ok(Response { stop: stop.reconciled(&parts), parts, ..Response::default() })
}

fn read_content(content: &Json) -> Result<Vec<Part>, DocumentError> {
    if let Some(text) = content.as_str() {
        return Ok(vec![Part::text(text)]);
    }
    let fields = ObjectReader::of(content)
        .map_err(|_| DocumentError::new("{\"text\", \"reasoning\"}, or text"))?;
    let reasoning = fields.optional_text("reasoning")?.map(Reasoning::text);
    let reasoning = reasoning.map(|own| Part::new(Body::Reasoning(own)));
    let text = fields.optional_text("text")?.map(Part::text);
    Ok(reasoning.into_iter().chain(text).collect())
}

fn read_call(document: &Json) -> Result<Call, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let (id, name) = (fields.text("id")?, fields.text("name")?);
    let free = fields.optional_text("type")? == Some("custom");
    let arguments = match document.get("arguments") {
        Some(Json::String(text)) if free => Arguments::Free(text.as_str().to_owned()),
        Some(Json::String(text)) => Arguments::from_text(text.as_str()),
        Some(object @ Json::Object(_)) => Arguments::from_json(object),
        _ => {
            let expected = "the arguments as text or as an object";
            return Err(DocumentError::new(expected).within("arguments"));
        }
    };
    Ok(Call::new(id, name, arguments))
}
