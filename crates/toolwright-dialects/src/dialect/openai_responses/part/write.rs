//! Encodes the items of a request or a response.

use std::collections::BTreeMap;

use toolwright_core::part::{Reasoning, Section};
use toolwright_core::tool::split_name;
use toolwright_core::{Arguments, Body, Extra, Message, Part, Role, note};
use toolwright_json::{Json, Object, object};

use super::super::wire::{
    self, ADDITIONAL, CLIENT_TOOLS, CUSTOM, ClientTool, DIALECT, EMPTY, JOINED, LOADED, OUTER,
    SEARCH,
};
use super::content::{self, Side};
use super::{SECTIONS, client, kind};

/// Encodes items: those of a request, or those of a response, which need ids.
#[derive(Debug, Default)]
pub(in super::super) struct Writer<'w> {
    /// The response's id, from which ids of items are derived. In a request an id that was not
    /// received is omitted (case 10).
    seed: Option<&'w str>,
    /// The index of the next item
    next: usize,
    /// The types of outputs by the ids of their calls, if it is not that of a function
    outputs: BTreeMap<&'w str, &'static str>,
}

impl<'w> Writer<'w> {
    /// Creates a writer for a request.
    pub(in super::super) fn request() -> Writer<'w> {
        Writer::default()
    }

    /// Creates a writer for the items of a response from an index on.
    pub(in super::super) fn response(id: &'w str, next: usize) -> Writer<'w> {
        Writer { seed: Some(id), next, outputs: BTreeMap::new() }
    }

    /// Records which calls of a history are not of functions.
    pub(in super::super) fn learn(&mut self, messages: &'w [Message]) {
        let calls = messages.iter().flat_map(|own| &own.parts).filter_map(Part::as_call);
        self.outputs.extend(calls.filter_map(|call| {
            let kind = match (client::of_call(call), &call.arguments) {
                (Some(tool), _) => tool.output,
                (None, Arguments::Free(_)) => "custom_tool_call_output",
                (None, _) => return None,
            };
            Some((call.id.as_deref()?, kind))
        }));
    }

    /// Encodes the items of a message.
    pub(in super::super) fn message(&mut self, message: &Message) -> Vec<Json> {
        let mut items = self.parts(message.role, &message.parts);
        if message.role != Role::Assistant && message.parts.is_empty() {
            items.push(Json::Object(object! {
                "type": "message", "role": role_word(message.role), "content": Json::Array(vec![]),
            }));
        }
        let own = items.iter_mut().find(|item| kind(item) == Some("message"));
        if let Some(Json::Object(item)) = own {
            message.extra.write_into(DIALECT, item);
        }
        // Fields beside the content of a model's message are attached to the parts of a list.
        let bare = |item: &&mut Json| item.as_object().is_some_and(|item| item.len() == 3);
        let all = message.role != Role::Assistant;
        items.iter_mut().filter(|item| all || bare(item)).for_each(simplify);
        if let Some(Json::Array(before)) = message.extra.get(DIALECT, ADDITIONAL) {
            items.splice(0..0, before.iter().cloned());
        }
        items
    }

    /// Encodes parts as items; content parts that belong together share a message item.
    pub(in super::super) fn parts(&mut self, role: Role, parts: &[Part]) -> Vec<Json> {
        let mut items: Vec<Json> = Vec::new();
        let mut open = false;
        for part in parts {
            if !is_content(role, part) {
                if let Some(item) = self.item(part) {
                    items.push(item);
                    open = false;
                }
                continue;
            }
            let side = if role == Role::Assistant { Side::Output } else { Side::Input };
            let Some(content) = content::encode(part, side) else { continue };
            let joins = role != Role::Assistant || is_joined(part);
            match items.last_mut().and_then(|item| item.as_object_mut()?.get_mut("content")) {
                Some(Json::Array(list)) if open && joins => list.push(content),
                _ => {
                    let own = item_fields(part);
                    let mut item = self.head("message", own);
                    item.insert("role", role_word(role));
                    // A string is encoded as a string again.
                    let content = match &part.body {
                        Body::Text(text) if has_string(part) => text.clone().into(),
                        _ => Json::Array(vec![content]),
                    };
                    item.insert("content", content);
                    if let Some(own) = own {
                        note::merge(&mut item, own);
                    }
                    if role == Role::Assistant && is_unsaid(&item) {
                        item.insert("status", COMPLETED);
                    }
                    items.push(Json::Object(item));
                    open = true;
                }
            }
        }
        items
    }

    /// Encodes a part that is a separate item; `None` for other parts.
    pub(in super::super) fn item(&mut self, part: &Part) -> Option<Json> {
        let own = part.extra.for_dialect(DIALECT);
        let mut item = match &part.body {
            Body::Call(call) if let Some(tool) = client::of_call(call) => {
                let mut item = self.head(tool.call, own);
                client::put_call(tool, call, &mut item);
                item
            }
            Body::Call(call) => {
                let id = call.id.as_deref().unwrap_or_default();
                let (mut item, key) = match call.arguments {
                    Arguments::Free(_) => (self.head("custom_tool_call", own), "input"),
                    _ => (self.head("function_call", own), "arguments"),
                };
                item.insert("call_id", id);
                put_name(&mut item, Some(&call.name), &part.extra);
                item.insert(key, call.arguments.as_str());
                item
            }
            Body::Outcome(outcome) => {
                let id = outcome.call_id.as_deref();
                let known = id.and_then(|id| self.outputs.get(id)).copied();
                let by_type = |kind| CLIENT_TOOLS.iter().find(|tool| tool.output == kind);
                // A client may answer a search with text.
                let in_words =
                    |tool: &&ClientTool| tool.kind == SEARCH && !outcome.content.is_empty();
                let learned = known.and_then(by_type);
                let tool =
                    client::of_outcome(part).or_else(|| learned.filter(|own| !in_words(own)));
                let kind = match (tool, learned) {
                    (Some(tool), _) => tool.output,
                    (None, Some(_)) => "function_call_output",
                    _ if part.extra.get(DIALECT, CUSTOM).is_some() => "custom_tool_call_output",
                    _ => known.unwrap_or("function_call_output"),
                };
                let mut item = self.head(kind, own);
                if let Some(tool) = tool {
                    client::put_outcome(tool, part, outcome, &mut item);
                } else {
                    item.insert_some("call_id", id);
                    put_name(&mut item, outcome.name.as_deref(), &part.extra);
                    let empty = part.extra.get(DIALECT, EMPTY);
                    item.insert("output", encode_output(&outcome.content, empty));
                }
                item
            }
            Body::Reasoning(reasoning) => {
                let mut item = self.head("reasoning", own);
                encode_sections(reasoning, &mut item);
                let signature = part.signature.as_ref().filter(|own| own.dialect == DIALECT);
                item.insert_some("encrypted_content", signature.map(|own| own.value.as_str()));
                item
            }
            Body::Opaque(opaque) if opaque.dialect == DIALECT => {
                self.next += 1;
                return Some(opaque.value.clone());
            }
            _ => return None,
        };
        part.extra.write_into(DIALECT, &mut item);
        Some(Json::Object(item))
    }

    /// Begins an item: in a response with id and status, which are generated if absent.
    fn head(&mut self, kind: &'static str, own: Option<&Object>) -> Object {
        let mut item = Object::new();
        let own = |key: &str| own.and_then(|own| own.get(key)).cloned();
        if let Some(seed) = self.seed {
            let prefix = prefix(kind).unwrap_or_default();
            let made = || wire::made_id(prefix, seed, self.next).into();
            item.insert("id", own("id").unwrap_or_else(made));
        }
        item.insert("type", kind);
        if self.seed.is_some() && has_status(kind) {
            item.insert("status", own("status").unwrap_or(COMPLETED.into()));
        }
        self.next += 1;
        item
    }
}

/// Encodes the name of a tool and its namespace.
fn put_name(item: &mut Object, name: Option<&str>, extra: &Extra) {
    let Some((namespace, name)) = name.map(split_name) else { return };
    let loaded = extra.get(DIALECT, LOADED).map(|_| name);
    item.insert("name", name);
    item.insert_some("namespace", namespace.filter(|own| !own.is_empty()).or(loaded));
}

/// The status of a completed item.
pub(in super::super) const COMPLETED: &str = "completed";

/// The status of an item that has begun.
pub(in super::super) const BEGUN: &str = "in_progress";

/// Returns the id prefix of a type of item, if the type has a canonical form.
pub(super) fn prefix(kind: &str) -> Option<&'static str> {
    match kind {
        "message" => Some("msg"),
        "reasoning" => Some("rs"),
        "function_call" => Some("fc"),
        "custom_tool_call" => Some("ctc"),
        "function_call_output" | "custom_tool_call_output" => Some("fco"),
        _ => CLIENT_TOOLS.iter().find(|tool| tool.call == kind).map(|tool| tool.prefix),
    }
}

/// Whether a model's message lacks its status, which the SDK's types require with an id.
fn is_unsaid(item: &Object) -> bool {
    item.contains_key("id") && !item.contains_key("status")
}

/// Whether the SDK's types require the status of a type of item.
fn has_status(kind: &str) -> bool {
    matches!(kind, "message" | "function_call") || CLIENT_TOOLS.iter().any(|tool| tool.call == kind)
}

/// Removes what the encoder of a response adds to an item with a status, with the response's id and
/// the item's index.
pub(in super::super) fn take_usual(item: &mut Json, (seed, index): (&str, usize), status: &str) {
    let Some(kind) = kind(item) else { return };
    let made = prefix(kind).map(|prefix| wire::made_id(prefix, seed, index));
    let status = has_status(kind).then(|| status.to_owned());
    let Some(item) = item.as_object_mut() else { return };
    for (key, usual) in [("id", made), ("status", status)] {
        if usual.is_some() && item.get(key).and_then(Json::as_str) == usual.as_deref() {
            item.remove(key);
        }
    }
}

/// Whether a part is content of a message item, and not an item.
pub(in super::super) fn is_content(role: Role, part: &Part) -> bool {
    match part.body {
        Body::Text(_) | Body::Refusal(_) | Body::Json(_) | Body::Media(_) => true,
        Body::Opaque(_) => role != Role::Assistant || part.extra.get(DIALECT, JOINED).is_some(),
        Body::Reasoning(_) | Body::Call(_) | Body::Outcome(_) => false,
    }
}

/// Whether a content part belongs to the item of the previous part.
pub(in super::super) fn is_joined(part: &Part) -> bool {
    part.extra.get(DIALECT, JOINED).and_then(Json::as_bool) == Some(true)
}

/// Returns the fields of the message item that a content part begins.
fn item_fields(part: &Part) -> Option<&Object> {
    let outer = part.extra.get(DIALECT, OUTER)?.as_object()?;
    match outer.get(OUTER) {
        Some(Json::Object(own)) => Some(own),
        _ => Some(outer),
    }
}

/// Whether the content of the message item was a string, so that there is one level less between
/// the part and the item.
fn has_string(part: &Part) -> bool {
    let outer = part.extra.get(DIALECT, OUTER).and_then(Json::as_object);
    outer.is_some_and(|outer| !outer.contains_key(OUTER))
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    }
}

fn encode_output(content: &[Part], empty: Option<&Json>) -> Json {
    match content {
        [] => empty.cloned().unwrap_or_else(|| "".into()),
        [part @ Part { body: Body::Text(text), .. }] if part.is_plain_text() => text.clone().into(),
        parts => Json::Array(content::encode_all(parts, Side::Input)),
    }
}

fn encode_sections(reasoning: &Reasoning, item: &mut Object) {
    for (key, kind, section) in SECTIONS {
        let own = reasoning.sections.iter().filter(|own| own.kind == section);
        let entry = |own: &Section| object! {"type": kind, "text": own.text.as_str()};
        let entries: Vec<Object> = own.map(entry).collect();
        // The SDK's type requires a summary, even if empty.
        if key == "summary" || !entries.is_empty() {
            item.insert(key, entries);
        }
    }
}

/// Converts content that is one plain text to a string, the only form that the SDK's types accept
/// for a message without an id in any role.
fn simplify(item: &mut Json) {
    let Json::Object(item) = item else { return };
    if item.contains_key("id") || item.get("type").and_then(Json::as_str) != Some("message") {
        return;
    }
    let Some([part]) = item.get("content").and_then(Json::as_array) else { return };
    let plain = part.as_object().is_some_and(|part| {
        part.contains_key("type")
            && part.iter().all(|(key, value)| match key {
                "type" => matches!(value.as_str(), Some("input_text" | "output_text")),
                "text" => matches!(value, Json::String(_)),
                "annotations" | "logprobs" => value.as_array() == Some(&[]),
                _ => false,
            })
    });
    if let Some(text) = part.get("text").filter(|_| plain).cloned() {
        item.insert("content", text);
    }
}
