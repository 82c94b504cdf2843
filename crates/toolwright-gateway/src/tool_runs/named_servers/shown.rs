//! What a client sees of the servers that it named: the items of the Responses API, the blocks of Anthropic.

use std::collections::{HashMap, HashSet};

use toolwright_core::part::Opaque;
use toolwright_core::{Body, Call, Json, Message, Outcome, Part, object};
use toolwright_dialects::dialect::Dialect;

use super::{NamedServers, REASON, text};
use crate::approvals::ApprovalRecord;
use crate::mcp::named::ServerTool;

impl NamedServers {
    /// Takes the lists of tools that the reply begins with.
    pub fn take_lists(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.lists)
    }

    /// Whether a tool is of a server that the request names.
    pub fn has(&self, tool: &str) -> bool {
        self.tools.contains_key(tool)
    }

    /// A call and its result. `approval` is the approval that it waited for.
    pub fn call(&self, call: &Call, outcome: &Outcome, approval: Option<&str>) -> Vec<Part> {
        let Some(tool) = self.tools.get(&call.name) else { return Vec::new() };
        let id = self.shown_id(call);
        let words = words(outcome);
        let is_error = outcome.error == Some(true);
        if self.dialect == Some(Dialect::Anthropic) {
            let content = vec![Json::from(object! {"type": "text", "text": words})];
            let used = object! {
                "type": "mcp_tool_use", "id": id.as_str(), "name": tool.own.as_str(),
                "server_name": tool.server.as_str(),
                "input": Json::parse(call.arguments.as_str()).unwrap_or_else(|_| object! {}.into()),
            };
            let result = object! {
                "type": "mcp_tool_result", "tool_use_id": id.as_str(), "is_error": is_error,
                "content": content,
            };
            return [used, result].map(|own| Part::opaque(Dialect::Anthropic, own.into())).into();
        }
        let (output, error, status) = if is_error {
            (Json::Null, Json::from(words), "failed")
        } else {
            (Json::from(words), Json::Null, "completed")
        };
        let item = object! {
            "type": "mcp_call", "id": id, "status": status,
            "approval_request_id": approval.map_or(Json::Null, Json::from),
            "server_label": tool.server.as_str(), "name": tool.own.as_str(),
            "arguments": call.arguments.as_str(), "output": output, "error": error,
        };
        vec![Part::opaque(Dialect::OpenaiResponses, item.into())]
    }

    /// The calls in messages that the history of the request does not have, and their results.
    pub fn unseen(&self, messages: &[Message]) -> Vec<Part> {
        let parts = || messages.iter().flat_map(|message| &message.parts);
        let outcomes = parts().filter_map(|part| match &part.body {
            Body::Outcome(outcome) => Some((outcome.call_id.as_deref()?, outcome)),
            _ => None,
        });
        let outcomes: HashMap<&str, &Outcome> = outcomes.collect();
        let calls = parts().filter_map(|part| match &part.body {
            Body::Call(call) if !self.seen.contains(&self.shown_id(call)) => Some(call),
            _ => None,
        });
        let done = calls.filter_map(|call| Some((call, *outcomes.get(call.id.as_deref()?)?)));
        done.flat_map(|(call, outcome)| self.call(call, outcome, None)).collect()
    }

    /// Messages without the calls of the servers and their outcomes.
    pub fn without_calls(&self, messages: &[Message]) -> Vec<Message> {
        let calls = messages.iter().flat_map(|message| &message.parts);
        let calls = calls.filter_map(|part| match &part.body {
            Body::Call(call) if self.has(&call.name) => call.id.as_deref(),
            _ => None,
        });
        let ids: HashSet<&str> = calls.collect();
        let is_of_server = |part: &Part| match &part.body {
            Body::Call(call) => call.id.as_deref().is_some_and(|id| ids.contains(id)),
            Body::Outcome(outcome) => outcome.call_id.as_deref().is_some_and(|id| ids.contains(id)),
            _ => false,
        };
        let rest = messages.iter().map(|message| {
            let parts = message.parts.iter().filter(|part| !is_of_server(part));
            Message { parts: parts.cloned().collect(), ..message.clone() }
        });
        rest.filter(|message| !message.parts.is_empty()).collect()
    }

    fn shown_id(&self, call: &Call) -> String {
        let prefix = if self.dialect == Some(Dialect::Anthropic) { "mcptoolu_" } else { "mcp_" };
        format!("{prefix}{}", call.id.as_deref().unwrap_or_default())
    }

    /// A call that waits for approval, if the client's dialect has a form for it.
    pub fn approval(&self, record: &ApprovalRecord) -> Option<Part> {
        let tool = self.tools.get(&record.tool)?;
        // An approval that the operator asks for is answered by other means.
        if self.dialect != Some(Dialect::OpenaiResponses) || record.reason != REASON {
            return None;
        }
        let item = object! {
            "type": "mcp_approval_request", "id": record.id.as_str(),
            "server_label": tool.server.as_str(), "name": tool.own.as_str(),
            "arguments": Json::from(record.arguments.clone()).compact(),
        };
        Some(Part::opaque(Dialect::OpenaiResponses, item.into()))
    }
}

/// The text of an outcome. Media are named, since the forms of calls hold texts only.
fn words(outcome: &Outcome) -> String {
    let media = outcome.content.iter().filter_map(|part| match &part.body {
        Body::Media(media) => media.mime.as_deref().or(Some("media")),
        _ => None,
    });
    let media = media.map(|kind| format!("[{kind}, which the model has seen]"));
    let words = Some(outcome.words()).filter(|words| !words.is_empty());
    words.into_iter().chain(media).collect::<Vec<_>>().join("\n")
}

/// The list of the tools of a server.
pub(super) fn list(label: &str, tools: &[ServerTool]) -> Part {
    let tools = tools.iter().map(|tool| {
        let schema = tool
            .definition
            .parameters()
            .cloned()
            .unwrap_or_else(|| object! {"type": "object"}.into());
        let description = tool.definition.description.as_deref();
        Json::from(object! {
            "name": tool.own.as_str(), "description": description.map_or(Json::Null, Json::from),
            "input_schema": schema,
            "annotations": tool.definition.annotations.clone().map_or(Json::Null, Json::from),
        })
    });
    let tools: Vec<Json> = tools.collect();
    let item = object! {
        "type": "mcp_list_tools", "id": format!("mcpl_{label}"), "server_label": label,
        "tools": tools, "error": Json::Null,
    };
    Part::opaque(Dialect::OpenaiResponses, item.into())
}

/// The server whose tools an item lists.
pub(super) fn label(list: &Part) -> Option<&str> {
    match &list.body {
        Body::Opaque(Opaque { value, .. }) => text(value, "server_label"),
        _ => None,
    }
}

/// A call that waited for approval, as a message that names the approval.
pub(super) fn waiting(item: &Json) -> Json {
    let part = |key: &str| text(item, key).unwrap_or_default();
    let words = format!(
        "The call of {} with {} waits for approval: {}",
        part("name"),
        part("arguments"),
        part("id")
    );
    let content = vec![Json::from(object! {"type": "output_text", "text": words})];
    object! {"type": "message", "role": "assistant", "content": content}.into()
}
