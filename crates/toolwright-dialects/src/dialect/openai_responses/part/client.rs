//! Items of tools that the format defines by their type and that the client runs: the search for
//! tools, shells and patches. For a model they are functions, see `tool/client.rs`.

use toolwright_core::tool::{flat_name, qualified_name, split_name};
use toolwright_core::{Arguments, Body, Call, Origin, Outcome, Part};
use toolwright_json::{Json, Object, Path, object};

use super::super::tool;
use super::super::wire::{CLIENT_TOOLS, ClientTool, DIALECT, FOUND, KIND, SEARCH, SHELL};
use crate::codec::{Fields, Result};

/// Returns the tool of a call.
pub(in super::super) fn of_call(call: &Call) -> Option<&'static ClientTool> {
    match split_name(&call.name) {
        (Some(""), own) => CLIENT_TOOLS.iter().find(|tool| tool.kind == own),
        _ => None,
    }
}

/// Returns the tool of a call item, if the client runs it. Calls that the vendor runs have no id,
/// or an environment that is not the client's.
pub(in super::super) fn of_item(item: &Json) -> Option<&'static ClientTool> {
    let kind = item.get("type").and_then(Json::as_str)?;
    let tool = CLIENT_TOOLS.iter().find(|tool| tool.call == kind)?;
    let is_own = match tool.kind {
        SEARCH => tool::is_client_search(item),
        SHELL => tool::is_local(item),
        _ => true,
    };
    (is_own && has_id(item, "call_id")).then_some(tool)
}

/// Returns the tool of an output item. That of a shell does not identify who ran it.
pub(in super::super) fn of_output(item: &Json) -> Option<&'static ClientTool> {
    let kind = item.get("type").and_then(Json::as_str)?;
    let tool = CLIENT_TOOLS.iter().find(|tool| tool.output == kind)?;
    let is_own = tool.kind != SEARCH || tool::is_client_search(item);
    (is_own && has_id(item, tool.output_id)).then_some(tool)
}

fn has_id(item: &Json, key: &str) -> bool {
    item.get(key).is_some_and(|id| id.as_str().is_some())
}

/// Decodes a call that the client is to run.
pub(super) fn decode_call(tool: &ClientTool, item: Json, path: Path<'_>) -> Result<Part> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    let id = Some(fields.need_string("call_id")?);
    let arguments = match fields.take(tool.input) {
        None => Arguments::none(),
        Some(arguments) => Arguments::from_json(&arguments),
    };
    fields.take("type");
    if tool.kind == SEARCH {
        fields.take("execution");
    }
    let call = Call { id, name: qualified_name("", tool.kind), arguments };
    let origin = fields.origin();
    Ok(Part::call(call).with_origin(origin).with_extra(fields.into_extra()))
}

/// Decodes the output of a call. Tools that a search found reach the model with all other tools;
/// the outcome names them.
pub(in super::super) fn decode_outcome(
    tool: &ClientTool,
    item: Json,
    path: Path<'_>,
) -> Result<Part> {
    let mut fields = Fields::new(item, path, DIALECT)?;
    fields.take("type");
    let call_id = Some(fields.need_string(tool.output_id)?);
    let mut outcome = Outcome { call_id, ..Outcome::default() };
    let mut found = None;
    let list = path.key(if tool.kind == SEARCH { "tools" } else { "output" });
    let said = |part: Part| part.with_origin(Origin::at(&list));
    if tool.kind == SEARCH {
        fields.take("execution");
        let tools = fields.array("tools")?;
        let names = tool::decode_all(tools.clone(), list)?;
        let names: Vec<String> = names.iter().map(|tool| flat_name(&tool.name)).collect();
        let text = match names.as_slice() {
            [] => "No tools found.".to_owned(),
            names => format!("Tools that you can call now: {}", names.join(", ")),
        };
        outcome.content.push(said(Part::text(text)));
        found = Some(tools);
    } else {
        match fields.take("output") {
            None => {}
            Some(Json::String(text)) => outcome.content.push(said(Part::text(text))),
            Some(value) => outcome.content.push(said(Part::new(Body::Json(value)))),
        }
        if tool.says_failure {
            outcome.error = (fields.string("status")?.as_deref() == Some("failed")).then_some(true);
        }
    }
    let origin = fields.origin();
    let mut part = Part::outcome(outcome).with_origin(origin).with_extra(fields.into_extra());
    part.extra.insert(DIALECT, KIND, tool.kind);
    if let Some(found) = found {
        part.extra.insert(DIALECT, FOUND, Json::Array(found));
    }
    Ok(part)
}

/// Encodes the input of a call into its item.
pub(super) fn put_call(tool: &ClientTool, call: &Call, item: &mut Object) {
    item.insert("call_id", call.id.as_deref().unwrap_or_default());
    if tool.kind == SEARCH {
        item.insert("execution", "client");
    }
    let mut input = match &call.arguments {
        Arguments::Json(json) => json.to_json(),
        arguments => Json::Object(arguments.to_object()),
    };
    // Required by the SDK's type.
    if let (Some(usual), Json::Object(input)) = (tool.usual, &mut input) {
        input.merge(&usual());
    }
    item.insert(tool.input, input);
}

/// Returns the tool of an outcome, as it was decoded.
pub(super) fn of_outcome(part: &Part) -> Option<&'static ClientTool> {
    let kind = part.extra.get(DIALECT, KIND).and_then(Json::as_str)?;
    CLIENT_TOOLS.iter().find(|tool| tool.kind == kind)
}

/// Encodes the output of a call into its item.
pub(super) fn put_outcome(tool: &ClientTool, part: &Part, outcome: &Outcome, item: &mut Object) {
    item.insert(tool.output_id, outcome.call_id.as_deref().unwrap_or_default());
    if tool.kind == SEARCH {
        item.insert("execution", "client");
        let found = part.extra.get(DIALECT, FOUND).cloned();
        item.insert("tools", found.unwrap_or_else(|| Json::Array(vec![])));
        return;
    }
    if tool.says_failure {
        item.insert("status", if outcome.is_error() { "failed" } else { "completed" });
    }
    let output = match outcome.content.as_slice() {
        [Part { body: Body::Json(value), .. }] => Some(value.clone()),
        [] if tool.says_failure => None,
        _ if tool.kind == SHELL => {
            let exit = object! {"type": "exit", "exit_code": usize::from(outcome.is_error())};
            let entry = object! {"stdout": outcome.words(), "stderr": "", "outcome": exit};
            Some(Json::Array(vec![Json::Object(entry)]))
        }
        _ => Some(outcome.words().into()),
    };
    item.insert_some("output", output);
}
