//! The stored form of a response, version 1:
//!
//! ```json
//! {"v": 1, "id": "resp_…", "conversation": "conv_…", "previous": "resp_…", "input": …, "response": {…}}
//! {"v": 1, "id": "resp_…", "conversation": null, "upstream": "openai"}
//! ```
//!
//! `input` and `response` are the exact JSON that was received and sent. `input` contains the items
//! of this request only, with references replaced; those of earlier turns are found through
//! `previous`.

use toolwright_core::json::{Member, Object, peek};
use toolwright_core::{Json, object};

use crate::conversation::ConversationId;

/// The current version.
const VERSION: &str = "1";

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The response's id
    pub id: String,
    /// Its conversation, if it belongs to one
    pub conversation: Option<ConversationId>,
    /// What is stored
    pub stored: Stored,
}

/// The stored part of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// The whole response
    Content(Content),
    /// The upstream that has stored it
    Upstream(String),
}

/// A response and its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The response, as JSON
    pub response: String,
    /// The `input` of its request, as JSON
    pub input: String,
    /// The id of the previous response
    pub previous: Option<String>,
}

impl Record {
    /// Encodes the record.
    pub fn write(&self) -> Vec<u8> {
        let id = Json::from(self.id.as_str()).compact();
        let conversation = self.conversation.as_ref().map(ConversationId::as_str);
        let conversation = Json::from(conversation).compact();
        let head = format!("\"v\":{VERSION},\"id\":{id},\"conversation\":{conversation}");
        let text = match &self.stored {
            Stored::Content(Content { response, input, previous }) => {
                let previous = Json::from(previous.as_deref()).compact();
                format!(
                    "{{{head},\"previous\":{previous},\"input\":{input},\"response\":{response}}}"
                )
            }
            Stored::Upstream(upstream) => {
                let upstream = Json::from(upstream.as_str()).compact();
                format!("{{{head},\"upstream\":{upstream}}}")
            }
        };
        text.into_bytes()
    }

    /// Decodes a record; `None` if it is damaged or of a later version.
    pub fn read(bytes: &[u8]) -> Option<Record> {
        let keys = ["v", "id", "conversation", "previous", "input", "response", "upstream"];
        let [version, id, conversation, previous, input, response, upstream] =
            peek(bytes, &keys).ok()?;
        if version?.text() != VERSION {
            return None;
        }
        let id = id?.as_str()?.into_owned();
        let conversation = conversation.as_ref().and_then(Member::as_str);
        let conversation = conversation.and_then(|name| ConversationId::parse(&name).ok());
        let stored = match upstream {
            Some(upstream) => Stored::Upstream(upstream.as_str()?.into_owned()),
            None => Stored::Content(Content {
                response: response?.text().to_owned(),
                input: input?.text().to_owned(),
                previous: previous.as_ref().and_then(Member::as_str).map(Into::into),
            }),
        };
        Some(Record { id, conversation, stored })
    }
}

impl Content {
    /// Returns the items of the input, each with an id, as the API lists them.
    pub fn input_items(&self) -> Vec<Json> {
        let mut items = input_items(&self.input);
        let [id] = peek(self.response.as_bytes(), &["id"]).unwrap_or_default();
        let seed = id.map_or("", |id| id.text()).to_owned();
        for (index, item) in items.iter_mut().enumerate() {
            if let Json::Object(item) = item {
                complete(item, &seed, index);
            }
        }
        items
    }

    /// Returns the items of the output.
    pub fn output_items(&self) -> Vec<Json> {
        output_items(&self.response)
    }
}

/// Returns the items of an `input`, which may be a string.
pub fn input_items(input: &str) -> Vec<Json> {
    match Json::parse_bytes(input.as_bytes()) {
        Ok(Json::Array(items)) => items,
        Ok(Json::String(text)) => vec![Json::Object(object! {
            "type": "message",
            "role": "user",
            "content": Json::Array(vec![Json::Object(object! {
                "type": "input_text", "text": text,
            })]),
        })],
        _ => Vec::new(),
    }
}

/// Returns the output items of a response.
pub fn output_items(response: &str) -> Vec<Json> {
    let [output] = peek(response.as_bytes(), &["output"]).unwrap_or_default();
    match output.and_then(|output| Json::parse_bytes(output.text().as_bytes()).ok()) {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Returns the id of an item.
pub fn item_id(item: &Json) -> Option<&str> {
    item.get("id").and_then(Json::as_str)
}

/// Whether an item is a reference to another. Its type may be omitted.
pub fn is_reference(item: &Json) -> bool {
    let members = || item.as_object().into_iter().flat_map(Object::iter);
    match item.get("type").filter(|kind| !kind.is_null()) {
        Some(kind) => kind.as_str() == Some("item_reference"),
        None => members().all(|(key, _)| matches!(key, "id" | "type")),
    }
}

/// Adds members that a client may omit and the API always lists.
fn complete(item: &mut Object, seed: &str, index: usize) {
    let is_message = item.contains_key("role");
    if is_message && !item.contains_key("type") {
        item.insert("type", "message");
    }
    if is_message && let Some(Json::String(text)) = item.get("content") {
        let assistant = item.get("role").and_then(Json::as_str) == Some("assistant");
        let kind = if assistant { "output_text" } else { "input_text" };
        let mut part = object! {"type": kind, "text": text.as_str()};
        if assistant {
            part.insert("annotations", Json::Array(vec![]));
        }
        item.insert("content", Json::Array(vec![Json::Object(part)]));
    }
    let kind = item.get("type").and_then(Json::as_str).unwrap_or_default();
    if matches!(kind, "message" | "function_call" | "function_call_output")
        && !item.contains_key("status")
    {
        item.insert("status", "completed");
    }
    if item.get("id").and_then(Json::as_str).is_none() {
        let kind = item.get("type").and_then(Json::as_str).unwrap_or_default();
        let prefix = match kind {
            "message" => "msg",
            "reasoning" => "rs",
            "function_call" => "fc",
            "function_call_output" => "fco",
            "custom_tool_call" => "ctc",
            "custom_tool_call_output" => "ctco",
            _ => "item",
        };
        let hash = blake3::hash(format!("{seed}/input/{index}").as_bytes()).to_hex();
        item.insert("id", format!("{prefix}_{}", &hash[..32]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Content {
        Content {
            response: r#"{"id":"resp_2","output":[{"id":"msg_1","type":"message"}]}"#.to_owned(),
            input: r#"[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"c","output":"1"}]"#
                .to_owned(),
            previous: Some("resp_1".to_owned()),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for stored in [
            Stored::Content(content()),
            Stored::Content(Content { previous: None, ..content() }),
            Stored::Upstream("openai".to_owned()),
        ] {
            for conversation in [None, ConversationId::parse("conv_1").ok()] {
                let id = "resp_\"2".to_owned();
                let record = Record { id, conversation, stored: stored.clone() };
                assert_eq!(Record::read(&record.write()), Some(record));
            }
        }
    }

    #[test]
    fn a_record_of_a_later_version_is_not_read() {
        let stored = Stored::Upstream("u".to_owned());
        let bytes = Record { id: "r".to_owned(), conversation: None, stored }.write();
        let later = String::from_utf8(bytes).unwrap().replace("\"v\":1", "\"v\":2");
        assert_eq!(Record::read(later.as_bytes()), None);
        assert_eq!(Record::read(b"{}"), None);
        assert_eq!(Record::read(b"\xff"), None);
    }

    #[test]
    fn input_items_have_ids_that_stay_the_same() {
        let items = content().input_items();
        assert_eq!(items, content().input_items());
        let ids: Vec<&str> = items.iter().filter_map(item_id).collect();
        assert!(ids[0].starts_with("msg_") && ids[1].starts_with("fco_"), "{ids:?}");
        let text = items[0].get("content").map(Json::compact);
        assert_eq!(text.as_deref(), Some(r#"[{"type":"input_text","text":"hi"}]"#));
        assert_eq!(input_items("\"hi\"").len(), 1);
        assert_eq!(input_items("null").len(), 0);
    }
}
