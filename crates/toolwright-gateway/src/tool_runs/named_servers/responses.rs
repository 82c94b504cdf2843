//! Servers in requests of the Responses API, and their calls in its items.

use std::collections::HashSet;

use toolwright_core::json::Object;
use toolwright_core::{Fault, Json, object};

use super::{Declared, Finder, NamedServers, fault, shown, text, texts};
use crate::approvals::is_id;
use crate::mcp::named::ServerTool;

/// The answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// The id of the approval
    pub id: String,
    /// Whether the call may run
    pub approves: bool,
    /// The reason for the model
    pub reason: Option<String>,
}

/// Takes the servers out of a body. Returns whether there are any.
pub(super) fn take(
    body: &mut Json,
    finder: &Finder<'_>,
    named: &mut NamedServers,
) -> Result<bool, Fault> {
    let Some(body) = body.as_object_mut() else { return Ok(false) };
    let Some(tools) = body.get("tools").and_then(Json::as_array) else { return Ok(false) };
    let mut rest = Vec::new();
    for tool in tools {
        let is_taken = text(tool, "type") == Some("mcp") && take_server(tool, finder, named)?;
        if !is_taken {
            rest.push(tool.clone());
        }
    }
    if rest.len() == tools.len() {
        return Ok(false);
    }
    body.insert("tools", rest);
    if let Some(choice) = body.get("tool_choice").and_then(|choice| choose(choice, named)) {
        body.insert("tool_choice", choice);
    }
    if let Some(input) = body.get("input").and_then(Json::as_array) {
        let input = read_items(input, named);
        body.insert("input", input);
    }
    Ok(true)
}

/// Takes a server. Returns whether the gateway runs it.
fn take_server(tool: &Json, finder: &Finder<'_>, named: &mut NamedServers) -> Result<bool, Fault> {
    let Some(label) = text(tool, "server_label") else { return Ok(false) };
    if tool.get("connector_id").is_some_and(|own| !own.is_null()) {
        return Ok(false);
    }
    let is_set = |key: &str| tool.get(key).is_some_and(|own| !own.is_null());
    let declared = Declared {
        label: label.to_owned(),
        url: text(tool, "server_url").map(str::to_owned),
        has_credentials: is_set("authorization") || is_set("headers"),
    };
    let Some(mut found) = finder.find(&declared)? else { return Ok(false) };
    if named.has_server(label) {
        return Err(fault::invalid("tools", format!("Two MCP servers are labelled `{label}`.")));
    }
    match tool.get("allowed_tools").filter(|own| !own.is_null()) {
        None => {}
        Some(filter) => found.retain(|tool| is_in(tool, filter)),
    }
    let approval = tool.get("require_approval").filter(|own| !own.is_null());
    for tool in &found {
        named.add(label, tool, needs_approval(tool, approval));
    }
    named.lists.push(shown::list(label, &found));
    Ok(true)
}

/// Whether a filter has a tool: a list of names, or an object with names and `read_only`.
fn is_in(tool: &ServerTool, filter: &Json) -> bool {
    if filter.as_array().is_some() {
        return texts(Some(filter)).contains(&tool.own.as_str());
    }
    let has_name = match filter.get("tool_names") {
        Some(names) => texts(Some(names)).contains(&tool.own.as_str()),
        None => true,
    };
    let read_only = filter.get("read_only").and_then(Json::as_bool);
    has_name && read_only.is_none_or(|wanted| tool.is_read_only == wanted)
}

/// Whether a call needs approval. It does unless the request says otherwise.
fn needs_approval(tool: &ServerTool, rule: Option<&Json>) -> bool {
    match rule {
        Some(Json::String(word)) => *word != *"never",
        Some(rule @ Json::Object(_)) => match (rule.get("always"), rule.get("never")) {
            (Some(always), _) if is_in(tool, always) => true,
            (_, Some(never)) => !is_in(tool, never),
            _ => true,
        },
        _ => true,
    }
}

/// The choice of a tool of a server, as one of functions.
fn choose(choice: &Json, named: &NamedServers) -> Option<Json> {
    if text(choice, "type") != Some("mcp") {
        return None;
    }
    let label = text(choice, "server_label").filter(|label| named.has_server(label))?;
    if let Some(name) = text(choice, "name").and_then(|own| named.name_of(label, own)) {
        return Some(object! {"type": "function", "name": name}.into());
    }
    let of_server = named.tools.iter().filter(|(_, tool)| tool.server == label);
    let function = |name: &str| Json::from(object! {"type": "function", "name": name});
    let tools: Vec<Json> = of_server.map(|(name, _)| function(name)).collect();
    Some(object! {"type": "allowed_tools", "mode": "required", "tools": tools}.into())
}

/// The items of a conversation, with calls of the servers as calls of functions.
fn read_items(items: &[Json], named: &mut NamedServers) -> Vec<Json> {
    let calls = items.iter().filter(|item| text(item, "type") == Some("mcp_call"));
    let settled: HashSet<&str> =
        calls.filter_map(|call| text(call, "approval_request_id")).collect();
    let is_settled = |id: &str| settled.contains(id);
    let mut answered = HashSet::new();
    let mut read = Vec::with_capacity(items.len());
    for item in items {
        if is_of_model(item) {
            // Answers before it are history.
            named.answers.clear();
        }
        let is_ours = text(item, "server_label").is_some_and(|label| named.has_server(label));
        match text(item, "type") {
            Some("mcp_list_tools") if is_ours => {
                let label = text(item, "server_label");
                // The client has it already.
                named.lists.retain(|list| shown::label(list) != label);
            }
            Some("mcp_call") if is_ours => {
                named.seen.extend(text(item, "id").map(str::to_owned));
                read.extend(plain_call(item, named));
            }
            Some("mcp_approval_request") if is_ours => {
                let id = text(item, "id").unwrap_or_default();
                if !is_settled(id) {
                    read.push(shown::waiting(item));
                }
            }
            Some("mcp_approval_response")
                if let Some(id) = text(item, "approval_request_id").filter(|id| is_id(id)) =>
            {
                let approves = item.get("approve").and_then(Json::as_bool) == Some(true);
                let reason = text(item, "reason").map(str::to_owned);
                if !is_settled(id) && answered.insert(id) {
                    named.answers.push(ApprovalAnswer { id: id.to_owned(), approves, reason });
                }
            }
            _ => read.push(item.clone()),
        }
    }
    read
}

/// Whether an item is a reply of the model.
fn is_of_model(item: &Json) -> bool {
    match text(item, "type") {
        Some("mcp_call" | "function_call") => true,
        Some("message") | None => text(item, "role") == Some("assistant"),
        _ => false,
    }
}

/// A call and its outcome.
fn plain_call(item: &Json, named: &NamedServers) -> Vec<Json> {
    let (Some(server), Some(own)) = (text(item, "server_label"), text(item, "name")) else {
        return Vec::new();
    };
    // The request may no longer allow the tool.
    let name = named.name_of(server, own).unwrap_or(own);
    let id = text(item, "id").unwrap_or_default();
    let call = object! {
        "type": "function_call", "call_id": id, "name": name,
        "arguments": text(item, "arguments").unwrap_or("{}"),
    };
    let output = text(item, "output").map_or_else(|| error_text(item), str::to_owned);
    let outcome = object! {"type": "function_call_output", "call_id": id, "output": output};
    vec![call.into(), outcome.into()]
}

fn error_text(item: &Json) -> String {
    match item.get("error") {
        Some(Json::String(text)) => text.as_str().to_owned(),
        Some(Json::Object(error)) => text_of(error),
        _ => String::new(),
    }
}

fn text_of(error: &Object) -> String {
    let content = error.get("content").and_then(Json::as_array).unwrap_or_default();
    let texts: Vec<&str> = content.iter().filter_map(|part| text(part, "text")).collect();
    if texts.is_empty() { Json::from(error.clone()).compact() } else { texts.join("\n") }
}
