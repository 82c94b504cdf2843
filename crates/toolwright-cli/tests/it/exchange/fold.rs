//! Replies as SDKs assemble them, whole and from streams, with the rules that SDKs rely on.

use toolwright_core::{Json, object};

use crate::gateway::{Answer, at, items_at, text_at};

/// A call, as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// An answer, as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folded {
    pub text: String,
    pub calls: Vec<Called>,
    pub stop: String,
}

impl Folded {
    /// Names and arguments of the calls.
    pub fn said(&self) -> Vec<(&str, &str)> {
        self.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect()
    }

    /// The reply as a message for the next request in OpenAI's dialect, with only the members that
    /// SDKs send back.
    pub fn message(&self) -> Json {
        let calls: Vec<Json> = self
            .calls
            .iter()
            .map(|call| {
                Json::Object(object! {
                    "id": call.id.as_str(),
                    "type": "function",
                    "function": object! {
                        "name": call.name.as_str(),
                        "arguments": call.arguments.as_str(),
                    },
                })
            })
            .collect();
        Json::Object(object! {
            "role": "assistant",
            "content": self.text.as_str(),
            "tool_calls": calls,
        })
    }

    /// A result for each call, as messages in OpenAI's dialect.
    pub fn results(&self) -> Vec<Json> {
        let calls = self.calls.iter();
        let results = calls.map(|call| {
            Json::Object(object! {
                "role": "tool",
                "tool_call_id": call.id.as_str(),
                "content": format!("result of {}", call.name),
            })
        });
        results.collect()
    }
}

/// A reply in OpenAI's dialect, whole or as a stream.
pub fn chat(answer: &Answer) -> Folded {
    if answer.header("content-type") == Some("text/event-stream") {
        return chat_stream(answer);
    }
    let document = answer.json();
    let message = at(&document, "/choices/0/message");
    let calls = at(&message, "/tool_calls");
    let calls = calls.as_array().unwrap_or_default().iter().map(|call| Called {
        id: text_at(call, "/id"),
        name: text_at(call, "/function/name"),
        arguments: text_at(call, "/function/arguments"),
    });
    Folded {
        text: at(&message, "/content").as_str().unwrap_or_default().to_owned(),
        calls: calls.collect(),
        stop: text_at(&document, "/choices/0/finish_reason"),
    }
}

/// A stream in OpenAI's dialect: indexes are dense, a call begins with its id and name, and there
/// is one finish reason at the end.
fn chat_stream(answer: &Answer) -> Folded {
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
    let mut folded = Folded::default();
    for event in answer.events() {
        let delta = at(&event, "/choices/0/delta");
        folded.text += at(&delta, "/content").as_str().unwrap_or_default();
        for call in at(&delta, "/tool_calls").as_array().unwrap_or_default() {
            let index = usize::try_from(at(call, "/index").as_u64().unwrap()).unwrap();
            if index == folded.calls.len() {
                let (id, name) = (text_at(call, "/id"), text_at(call, "/function/name"));
                folded.calls.push(Called { id, name, arguments: String::new() });
            }
            let arguments = at(call, "/function/arguments");
            folded.calls[index].arguments += arguments.as_str().unwrap_or_default();
        }
        if let Some(reason) = at(&event, "/choices/0/finish_reason").as_str() {
            assert_eq!(folded.stop, "", "two reasons to stop: {}", answer.text());
            reason.clone_into(&mut folded.stop);
        }
    }
    folded
}

/// A reply in Anthropic's dialect, whole or as a stream.
pub fn messages(answer: &Answer) -> Folded {
    if answer.header("content-type") == Some("text/event-stream") {
        return messages_stream(answer);
    }
    let document = answer.json();
    let mut folded = Folded { stop: text_at(&document, "/stop_reason"), ..Folded::default() };
    for block in items_at(&document, "/content") {
        match text_at(&block, "/type").as_str() {
            "text" => folded.text += &text_at(&block, "/text"),
            "tool_use" => folded.calls.push(Called {
                id: text_at(&block, "/id"),
                name: text_at(&block, "/name"),
                arguments: at(&block, "/input").compact(),
            }),
            _ => {}
        }
    }
    folded
}

/// A stream in Anthropic's dialect: one block at a time, numbered from 0, each closed before the
/// next opens, one end.
fn messages_stream(answer: &Answer) -> Folded {
    let mut folded = Folded::default();
    let mut open: Option<(u64, String)> = None;
    let mut blocks = 0;
    let events = answer.events();
    assert_eq!(text_at(&events[0], "/type"), "message_start");
    assert_eq!(text_at(events.last().unwrap(), "/type"), "message_stop", "{}", answer.text());
    for event in &events {
        let index = at(event, "/index").as_u64();
        match text_at(event, "/type").as_str() {
            "content_block_start" => {
                assert_eq!((open.as_ref(), index), (None, Some(blocks)), "{}", answer.text());
                let kind = text_at(event, "/content_block/type");
                if kind == "tool_use" {
                    assert_eq!(at(event, "/content_block/input").compact(), "{}");
                    folded.calls.push(Called {
                        id: text_at(event, "/content_block/id"),
                        name: text_at(event, "/content_block/name"),
                        arguments: String::new(),
                    });
                }
                open = Some((blocks, kind));
                blocks += 1;
            }
            "content_block_delta" => {
                let (at_index, kind) = open.as_ref().unwrap();
                assert_eq!(index, Some(*at_index), "{}", answer.text());
                let delta = at(event, "/delta");
                match text_at(&delta, "/type").as_str() {
                    "text_delta" => folded.text += &text_at(&delta, "/text"),
                    "input_json_delta" => {
                        assert_eq!(kind, "tool_use");
                        let call = folded.calls.last_mut().unwrap();
                        call.arguments += &text_at(&delta, "/partial_json");
                    }
                    _ => {}
                }
            }
            "content_block_stop" => {
                let (at_index, _) = open.take().unwrap();
                assert_eq!(index, Some(at_index), "{}", answer.text());
            }
            "message_delta" => {
                assert_eq!(open, None, "{}", answer.text());
                assert_eq!(folded.stop, "", "two reasons to stop: {}", answer.text());
                folded.stop = text_at(event, "/delta/stop_reason");
            }
            _ => {}
        }
    }
    // The SDK reads missing arguments as an empty object.
    for call in folded.calls.iter_mut().filter(|call| call.arguments.is_empty()) {
        "{}".clone_into(&mut call.arguments);
    }
    folded
}
