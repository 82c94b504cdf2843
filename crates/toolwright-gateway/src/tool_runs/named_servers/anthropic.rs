//! Servers in requests of Anthropic, and their calls in its blocks.

use std::collections::HashSet;

use toolwright_core::{Fault, Json, object};

use super::{Declared, Finder, NamedServers, text, texts};
use crate::mcp::named::ServerTool;

/// Takes the servers out of a body. Returns whether there are any.
pub(super) fn take(
    body: &mut Json,
    finder: &Finder<'_>,
    named: &mut NamedServers,
) -> Result<bool, Fault> {
    let Some(body) = body.as_object_mut() else { return Ok(false) };
    let Some(servers) = body.get("mcp_servers").and_then(Json::as_array) else { return Ok(false) };
    let tools = body.get("tools").and_then(Json::as_array).unwrap_or_default();
    let (mut rest, mut taken) = (Vec::new(), Vec::new());
    for server in servers {
        let Some(name) = text(server, "name") else {
            rest.push(server.clone());
            continue;
        };
        let declared = Declared {
            label: name.to_owned(),
            url: text(server, "url").map(str::to_owned),
            has_credentials: server.get("authorization_token").is_some_and(|own| !own.is_null()),
        };
        let Some(found) = finder.find(&declared)? else {
            rest.push(server.clone());
            continue;
        };
        taken.push(name.to_owned());
        let set = tools.iter().find(|tool| is_set_of(tool, name));
        for tool in found.iter().filter(|tool| is_enabled(tool, server, set)) {
            named.add(name, tool, false);
        }
    }
    if taken.is_empty() {
        return Ok(false);
    }
    let is_taken = |tool: &Json| taken.iter().any(|name| is_set_of(tool, name));
    let tools: Vec<Json> = tools.iter().filter(|tool| !is_taken(tool)).cloned().collect();
    for (key, list) in [("mcp_servers", rest), ("tools", tools)] {
        body.remove(key);
        if !list.is_empty() {
            body.insert(key, list);
        }
    }
    if let Some(messages) = body.get("messages").and_then(Json::as_array) {
        let messages: Vec<Json> =
            messages.iter().flat_map(|own| read_message(own, named)).collect();
        body.insert("messages", messages);
    }
    Ok(true)
}

/// Whether a tool of the request is the set of tools of a server.
fn is_set_of(tool: &Json, server: &str) -> bool {
    text(tool, "type") == Some("mcp_toolset") && text(tool, "mcp_server_name") == Some(server)
}

/// Whether the request wants a tool: by its set of tools, or, in the first version, by the server.
fn is_enabled(tool: &ServerTool, server: &Json, set: Option<&Json>) -> bool {
    let enabled = |value: Option<&Json>| value?.get("enabled").and_then(Json::as_bool);
    if let Some(set) = set {
        let own = set.get("configs").and_then(|all| all.get(&tool.own));
        return enabled(own).or_else(|| enabled(set.get("default_config"))).unwrap_or(true);
    }
    let settings = server.get("tool_configuration");
    let allowed = settings.and_then(|own| own.get("allowed_tools")).filter(|own| !own.is_null());
    enabled(settings).unwrap_or(true)
        && allowed.is_none_or(|allowed| texts(Some(allowed)).contains(&tool.own.as_str()))
}

/// A message whose calls of the servers are plain calls. Their results are messages of the user, so one message may
/// become several.
fn read_message(message: &Json, named: &mut NamedServers) -> Vec<Json> {
    let Some(blocks) = message.get("content").and_then(Json::as_array) else {
        return vec![message.clone()];
    };
    let is_ours = |block: &Json| {
        text(block, "type") == Some("mcp_tool_use") && plain_call(block, named).is_some()
    };
    if !blocks.iter().any(is_ours) {
        return vec![message.clone()];
    }
    let mut messages: Vec<(&str, Vec<Json>)> = vec![("assistant", Vec::new())];
    let mut calls = HashSet::new();
    for block in blocks {
        let result_of = text(block, "tool_use_id").filter(|id| calls.contains(id));
        let (role, block) = match text(block, "type") {
            Some("mcp_tool_use") if let Some(call) = plain_call(block, named) => {
                calls.extend(text(block, "id"));
                ("assistant", call)
            }
            Some("mcp_tool_result") if result_of.is_some() => ("user", plain_result(block)),
            _ => ("assistant", block.clone()),
        };
        match messages.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            _ => messages.push((role, vec![block])),
        }
    }
    named.seen.extend(calls.into_iter().map(str::to_owned));
    let messages = messages.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    messages.map(|(role, blocks)| object! {"role": role, "content": blocks}.into()).collect()
}

fn plain_call(block: &Json, named: &NamedServers) -> Option<Json> {
    let (server, own) = (text(block, "server_name")?, text(block, "name")?);
    if !named.has_server(server) {
        return None;
    }
    // The request may no longer allow the tool.
    let name = named.name_of(server, own).unwrap_or(own);
    let input = block.get("input").cloned().unwrap_or_else(|| object! {}.into());
    let id = text(block, "id")?;
    Some(object! {"type": "tool_use", "id": id, "name": name, "input": input}.into())
}

fn plain_result(block: &Json) -> Json {
    let mut block = block.clone();
    if let Some(block) = block.as_object_mut() {
        block.insert("type", "tool_result");
    }
    block
}
