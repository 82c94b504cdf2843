//! Messages in plain JSON, with `role` and `content`.
//!
//! | message | `role` | `content` | other fields |
//! |---|---|---|---|
//! | of the operator | `system` | text | |
//! | of the user | `user` | text, a list of parts, or any object | |
//! | an outcome | `user` or `tool` | text, list or object | `tool_id`, the call's id |
//! | of the model | `assistant` | text or a list of parts | |
//! | a response | none, or `assistant` | `{"text", "reasoning"}` | `tool_desc`, `finish_reason` |

use toolwright_core::document::{DocumentError, ObjectReader, items};
use toolwright_core::{Body, Json, Message, Outcome, Part, Request, Role, object};
use toolwright_dialects::dialect::{ChatCodec, WireRequest, openai_chat};
use toolwright_json::Object;

use super::response;

/// Reads a list of messages.
pub fn read_all(document: &Json) -> Result<Vec<Message>, DocumentError> {
    items(document, read)
}

/// Reads one message.
pub fn read(document: &Json) -> Result<Message, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let tool_id = fields.optional_text("tool_id")?;
    let content = document.get("content").unwrap_or(&Json::Null);
    let wrong = |key, expected: &'static str| Err(DocumentError::new(expected).within(key));
    match (fields.optional_text("role")?, tool_id) {
        (Some("user" | "tool") | None, Some(id)) => Ok(outcome(id, content)),
        (Some("tool"), None) => wrong("tool_id", "the id of the call that this is the outcome of"),
        (Some("system"), None) => fields.text("content").map(Message::system),
        (Some("user"), None) => Ok(Message::new(Role::User, parts(content)?)),
        (Some("assistant") | None, None) if is_answer(document) => {
            response::read_message(document).map(|response| response.message())
        }
        (Some("assistant"), None) => Ok(Message::new(Role::Assistant, parts(content)?)),
        (Some("system" | "assistant"), Some(_)) => {
            wrong("tool_id", "none, which only a user or tool message has")
        }
        _ => wrong("role", "one of system, user, assistant, tool"),
    }
}

/// Writes messages. A message with several outcomes becomes one for each.
pub fn write_all(messages: &[Message]) -> Json {
    Json::Array(messages.iter().flat_map(write).map(Json::Object).collect())
}

/// Writes a message: one object, or one for each of several outcomes.
pub fn write(message: &Message) -> Vec<Object> {
    let mut written = Vec::new();
    let rest: Vec<Part> = message
        .parts
        .iter()
        .filter(|part| match part.as_outcome() {
            Some(outcome) => {
                written.push(object! {
                    "content": outcome_content(outcome),
                    "role": "tool",
                    "tool_id": outcome.call_id.clone(),
                });
                false
            }
            None => true,
        })
        .cloned()
        .collect();
    if rest.is_empty() && !written.is_empty() {
        return written;
    }
    written.push(match message.role {
        Role::System | Role::Developer => object! {"content": message.text(), "role": "system"},
        Role::User | Role::Tool => {
            object! {"content": plain_content(rest), "role": "user", "tool_id": Json::Null}
        }
        Role::Assistant if rest.iter().all(Part::is_plain_text) => {
            object! {"content": message.text(), "role": "assistant"}
        }
        Role::Assistant => response::message_of(&rest),
    });
    written
}

/// Whether an object is the message of a response, by fields that only a response has.
fn is_answer(message: &Json) -> bool {
    let named = ["tool_desc", "finish_reason"].iter().any(|key| message.get(key).is_some());
    named || matches!(message.get("content"), Some(Json::Object(_)))
}

/// Builds the message of an outcome.
fn outcome(id: &str, content: &Json) -> Message {
    let content = match content {
        Json::Null => vec![],
        Json::String(text) => vec![Part::text(text.clone())],
        list if is_parts(list) => {
            parts(list).unwrap_or_else(|_| vec![Part::new(Body::Json(list.clone()))])
        }
        value => vec![Part::new(Body::Json(value.clone()))],
    };
    Message::tool(Outcome { call_id: Some(id.to_owned()), content, ..Outcome::default() })
}

/// Whether this is a list of parts in the well-known form `{"type": "text", …}`.
fn is_parts(value: &Json) -> bool {
    let is_part = |item: &Json| item.get("type").and_then(Json::as_str).is_some();
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_part))
}

/// Reads the parts of a content: text, a list of parts, or any other value, which becomes JSON
/// text.
fn parts(content: &Json) -> Result<Vec<Part>, DocumentError> {
    match content {
        Json::Null => Err(DocumentError::new("text, a list or an object").within("content")),
        Json::String(text) => Ok(vec![Part::text(text.clone())]),
        list if is_parts(list) => well_known(list),
        Json::Array(items) => {
            let text = |item: &Json| item.as_str().map_or_else(|| item.compact(), str::to_owned);
            Ok(items.iter().map(|item| Part::text(text(item))).collect())
        }
        value => Ok(vec![Part::text(value.compact())]),
    }
}

/// Reads parts in the form `{"type": "text", …}`.
fn well_known(list: &Json) -> Result<Vec<Part>, DocumentError> {
    let message = object! {"role": "user", "content": list.clone()};
    let body = object! {"messages": vec![Json::Object(message)]};
    let wire = WireRequest { body: body.into(), ..WireRequest::default() };
    let request = openai_chat::CODEC.decode_request(wire).map_err(|error| {
        DocumentError::new(format!("parts of a message: {}", error.kind)).within("content")
    })?;
    Ok(request.messages.into_iter().flat_map(|message| message.parts).collect())
}

/// Writes the content of a user message: text, or a list of parts.
fn plain_content(parts: Vec<Part>) -> Json {
    if parts.iter().all(Part::is_plain_text) {
        return Json::from(parts.iter().filter_map(Part::as_text).collect::<String>());
    }
    let request = Request { messages: vec![Message::new(Role::User, parts)], ..Request::default() };
    let body = openai_chat::CODEC.encode_request(request).body;
    body.pointer("/messages/0/content").cloned().unwrap_or_default()
}

/// Writes the content of an outcome: text, JSON as text, or parts.
fn outcome_content(outcome: &Outcome) -> Json {
    let as_text = |part: &Part| match &part.body {
        Body::Text(text) => Some(text.as_str().to_owned()),
        Body::Json(value) => Some(value.compact()),
        _ => None,
    };
    if let Some(texts) = outcome.content.iter().map(as_text).collect::<Option<Vec<String>>>() {
        return Json::from(texts.join("\n"));
    }
    let spoken = |part: &Part| as_text(part).map_or_else(|| part.clone(), Part::text);
    plain_content(outcome.content.iter().map(spoken).collect())
}
