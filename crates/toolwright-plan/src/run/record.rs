//! A plan of a run of an agent, or of the calls in a document of any dialect.
//!
//! The conversation has the calls and what the model received; the saved run says where their complete outputs are, and
//! the handle store has those that the model did not receive, as long as they have not expired. A handle needs no
//! value: the call that returned it is known.

use std::collections::HashMap;

use toolwright_core::args::parse;
use toolwright_core::schema::schemas_at;
use toolwright_core::{Call, Dialect, Json, Message, Outcome, Role, Tool, object};
use toolwright_dialects::dialect::{self, WireReply, WireRequest};
use toolwright_json::Path;
use toolwright_runtime::handle::{
    Handle, HandleId, Owner, find_handles, parts_output, read_output,
};
use toolwright_runtime::handler::Handler;
use toolwright_runtime::output::{Content, Piece};
use toolwright_runtime::run::{RunError, State, read_saved};
use toolwright_runtime::settings::ValueForm;
use toolwright_runtime::toolbox::Toolbox;

use crate::plan::{
    MAX_STEPS, PlanTools, RecordedCall, RecordedHandle, RecordedResult, Recording, ReferenceForm,
    record,
};

use super::engine::PlanRunError;
use super::output::{declared_piece, piece, step_output};
use super::start::blocking;
use super::tools::plan_tools;

/// Why no plan can be made of calls.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The saved run cannot be read
    #[error(transparent)]
    Saved(#[from] RunError),
    /// There are more calls than a plan has steps
    #[error("there are {0} calls, and a plan has at most {MAX_STEPS} steps")]
    TooManyCalls(usize),
    /// The work was interrupted
    #[error(transparent)]
    Interrupted(#[from] PlanRunError),
}

/// Makes a plan of a run that [`Run::save`](toolwright_runtime::run::Run::save) saved, with the tools and the handle
/// store of a toolbox.
pub async fn record_run(saved: &Json, toolbox: &Toolbox) -> Result<Recording, RecordError> {
    let State { id, caller, conversation, messages, outputs, .. } = read_saved(saved)?;
    let owner = Owner { tenant: caller.tenant, conversation: conversation.unwrap_or(id) };
    let mut calls = calls_of(&messages)?;
    let mut handlers: HashMap<String, Option<Handler>> = HashMap::new();
    let mut origins = Origins::default();
    for (at, (made, call)) in calls.iter_mut().enumerate() {
        let tool = call.tool.clone();
        if !handlers.contains_key(&tool) {
            handlers.insert(tool.clone(), toolbox.resolve(&tool).await.ok());
        }
        let handler = handlers.get(&tool).and_then(Option::as_ref);
        let found = find_handles(&call.arguments).into_iter().map(|(path, handle)| {
            let (source, form) = origins.find(&handle, handler, &path);
            RecordedHandle { path, source, form }
        });
        call.handles = found.collect();
        let Some(outcome) = outcome_of(&messages, made) else { continue };
        if outcome.is_error() {
            call.result = RecordedResult::Failed;
            continue;
        }
        let place = made.id.as_ref().and_then(|id| outputs.get(id));
        let whole = Json::from(outcome.content.len());
        let pieces =
            read_output(place.unwrap_or(&whole), &outcome.content, &owner, toolbox.handles()).await;
        let unknown = Tool::default();
        let definition = handler.map_or(&unknown, Handler::tool);
        if let Some(place) = place {
            origins.add(at, place, pieces.as_deref(), definition);
        }
        if let Some(pieces) = pieces {
            call.result = RecordedResult::Output(step_output(&pieces, definition));
        }
    }
    let calls: Vec<RecordedCall> = calls.into_iter().map(|(_, call)| call).collect();
    let tools = plan_tools(toolbox, calls.iter().map(|call| call.tool.as_str())).await;
    let prompt = prompt(&messages);
    Ok(blocking(move || record(&calls, &prompt, &tools)).await?)
}

/// Makes a plan of the calls of a conversation. Without results between them, the calls of one message are parallel
/// steps.
pub fn record_messages(messages: &[Message], tools: &PlanTools) -> Result<Recording, RecordError> {
    let calls = calls_of(messages)?.into_iter().map(|(made, mut call)| {
        if let Some(outcome) = outcome_of(messages, made) {
            call.result = match parts_output(&outcome.content) {
                _ if outcome.is_error() => RecordedResult::Failed,
                Some(pieces) => {
                    let unknown = Tool::default();
                    let tool = tools.get(&call.tool).map_or(&unknown, |own| &own.tool);
                    RecordedResult::Output(step_output(&pieces, tool))
                }
                None => RecordedResult::Unknown,
            };
        }
        call
    });
    Ok(record(&calls.collect::<Vec<_>>(), &prompt(messages), tools))
}

/// Decodes the messages of a document with calls in any dialect: a response, a request, a message, or a list of
/// messages. `None` if no dialect finds a call in it.
pub fn messages_with_calls(document: &Json) -> Option<Vec<Message>> {
    let is_list = matches!(document, Json::Array(_));
    let list = if is_list { document.clone() } else { Json::Array(vec![document.clone()]) };
    let wrapped = ["messages", "contents", "input"].map(|name| {
        let mut body = object! {"model": "any", "max_tokens": 1u64};
        body.insert(name, list.clone());
        Json::Object(body)
    });
    let codecs = || Dialect::ALL.iter().filter_map(|dialect| dialect::codec(*dialect));
    let responses = codecs().filter_map(|codec| {
        let response = codec.decode_response(WireReply::ok(document.clone())).ok()?;
        Some(vec![response.message()])
    });
    let bodies = std::iter::once(document).chain(&wrapped);
    let requests = bodies.flat_map(|body| codecs().map(move |codec| (codec, body)));
    let requests = requests.filter_map(|(codec, body)| {
        let wire = WireRequest { body: body.clone(), ..WireRequest::default() };
        Some(codec.decode_request(wire).ok()?.messages)
    });
    responses.chain(requests).find(|messages| messages.iter().any(|own| own.calls().count() > 0))
}

/// Returns the calls of a conversation, as they were made, without results.
fn calls_of(messages: &[Message]) -> Result<Vec<(&Call, RecordedCall)>, RecordError> {
    let count = messages.iter().flat_map(Message::calls).count();
    if count > MAX_STEPS {
        return Err(RecordError::TooManyCalls(count));
    }
    let turns = messages.iter().enumerate();
    let calls = turns.flat_map(|(turn, message)| message.calls().map(move |call| (turn, call)));
    let calls = calls.map(|(turn, call)| {
        let reading = parse(&call.arguments).readings.into_iter().next();
        let recorded = RecordedCall {
            tool: call.name.clone(),
            arguments: reading.map(|reading| reading.value).unwrap_or_default(),
            turn,
            result: RecordedResult::Unknown,
            handles: Vec::new(),
        };
        (call, recorded)
    });
    Ok(calls.collect())
}

fn outcome_of<'m>(messages: &'m [Message], call: &Call) -> Option<&'m Outcome> {
    let mut outcomes = messages.iter().flat_map(Message::outcomes);
    outcomes.find(|outcome| outcome.call_id.is_some() && outcome.call_id == call.id)
}

/// Returns what the user and the operator wrote.
fn prompt(messages: &[Message]) -> String {
    let read = |message: &&Message| !matches!(message.role, Role::Assistant | Role::Tool);
    let texts: Vec<String> = messages.iter().filter(read).map(Message::text).collect();
    texts.join("\n")
}

/// The calls that returned the values behind handles.
#[derive(Default)]
struct Origins(HashMap<HandleId, Vec<Origin>>);

struct Origin {
    call: usize,
    /// JSON Pointer to the piece in the value behind the handle
    value: String,
    /// JSON Pointer to the piece in the output
    output: String,
    is_bytes: bool,
}

impl Origins {
    /// Adds the handles of an output, whose pieces are absent if its values have expired.
    fn add(&mut self, call: usize, place: &Json, pieces: Option<&[Piece]>, tool: &Tool) {
        let places = place.as_array().unwrap_or_default();
        let declared = pieces.and_then(|pieces| declared_piece(pieces, tool));
        for (index, own) in places.iter().enumerate() {
            let handle = own.get("handle").and_then(Json::as_str);
            let Some(Ok(Handle { id, pointer: value, .. })) = handle.map(str::parse) else {
                continue;
            };
            let known = pieces.and_then(|pieces| pieces.get(index));
            let is_bytes = matches!(known.map(|known| &known.content), Some(Content::Bytes(_)));
            let whole = if places.len() == 1 { String::new() } else { format!("/{index}") };
            let output = match (declared, known, pieces) {
                (Some(declared), Some(known), Some(pieces)) if declared != index => {
                    // The output is another piece, which may have the same data.
                    let (output, known) = (piece(&pieces[declared]), piece(known));
                    let data = if is_bytes { known.get("data") } else { Some(&known) };
                    let mut found = Vec::new();
                    find_equal(&output, data.unwrap_or(&known), &Path::ROOT, &mut found);
                    if found.len() != 1 {
                        continue;
                    }
                    found.remove(0)
                }
                (Some(_), ..) => String::new(),
                // The output of a step has bytes as base64.
                _ if is_bytes => whole + "/data",
                _ => whole,
            };
            self.0.entry(id).or_default().push(Origin { call, value, output, is_bytes });
        }
    }

    /// Finds what a handle in an argument of a tool stands for, and how the tool receives it.
    fn find(
        &self,
        handle: &Handle,
        tool: Option<&Handler>,
        path: &str,
    ) -> (Option<(usize, String)>, ReferenceForm) {
        let origins = self.0.get(&handle.id).into_iter().flatten();
        let mut found = origins.filter_map(|origin| {
            let rest = handle.pointer.strip_prefix(&origin.value)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((origin, rest))
        });
        let Some((origin, rest)) = found.next() else { return (None, ReferenceForm::Value) };
        let pointer = format!("{}{rest}", origin.output);
        let schema = tool.and_then(|tool| tool.tool().parameters());
        let schemas = schema.map(|schema| schemas_at(schema, path)).unwrap_or_default();
        let takes_handle =
            schemas.iter().any(|own| own.get("format").and_then(Json::as_str) == Some("handle"));
        let parameter = path.split('/').nth(1).unwrap_or_default();
        let forms = tool.map_or(&[][..], |tool| &tool.settings().forms);
        let form = forms.iter().find(|(name, _)| name == parameter).map(|(_, form)| *form);
        // Otherwise the value is converted on its way from the handle to the parameter.
        let is_value = origin.is_bytes || matches!(form, None | Some(ValueForm::Json));
        let is_value = is_value && !takes_handle;
        let form = if is_value { ReferenceForm::Value } else { ReferenceForm::Handle };
        (Some((origin.call, pointer)), form)
    }
}

/// Finds the JSON Pointers of equal values.
fn find_equal(value: &Json, wanted: &Json, path: &Path<'_>, found: &mut Vec<String>) {
    if value.equals(wanted) {
        found.push(path.pointer());
        return;
    }
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_equal(item, wanted, &path.index(index), found);
            }
        }
        Json::Object(members) => {
            for (name, member) in members.iter() {
                find_equal(member, wanted, &path.key(name), found);
            }
        }
        _ => {}
    }
}
