//! Interprets one response of the model: whether it ends the run, and which calls it contains.

use std::collections::HashSet;

use toolwright_core::args::{Op, Reading, parse};
use toolwright_core::{
    Arguments, Body, Fault, FaultClass, Json, Message, Part, Response, StopReason, object,
};

use super::state::{Pending, Slot, Stage};
use crate::call::Completeness;

/// What follows a response.
#[derive(Debug)]
pub(super) enum Next {
    /// The model finished
    End,
    /// Calls have to run
    Calls(Pending),
    /// The vendor paused: send the conversation again
    Again,
    /// The vendor could not parse the model's call: report it to the model and retry
    Malformed,
    /// The response contains a fault
    Failed(Fault),
}

/// The message to a model whose call the vendor could not parse.
pub(super) const MALFORMED_CALL: &str = "Your last call could not be read and was not run. Write it \
    again as one call with complete JSON arguments, or answer without it.";

/// Maximum number of characters of invalid arguments that stay in the conversation.
const MAX_EXCERPT_CHARS: usize = 200;

/// Maximum number of argument bytes that are repaired for the conversation.
const MAX_REPAIRED_BYTES: usize = 64 * 1024;

/// Interprets a response. Assigns unused ids to its calls, so that each outcome belongs to one
/// call, whatever ids the vendor sent.
pub(super) fn read(response: &mut Response, taken: &HashSet<&str>, turn: u32) -> Next {
    let stop = std::mem::take(&mut response.stop);
    response.stop = stop.reconciled(&response.parts);
    name_calls(&mut response.parts, taken, turn);
    let reason = response.stop.reason;
    if response.calls().next().is_some() {
        return Next::Calls(pending(response));
    }
    match reason {
        StopReason::Pause => Next::Again,
        StopReason::MalformedCall => Next::Malformed,
        StopReason::Failed => {
            let text = "the response ended with an error";
            Next::Failed(Fault::new(FaultClass::Internal, text))
        }
        _ => Next::End,
    }
}

/// Assigns a unique id to each call.
fn name_calls(parts: &mut [Part], taken: &HashSet<&str>, turn: u32) {
    let mut own: HashSet<String> = HashSet::new();
    for (at, part) in parts.iter_mut().enumerate() {
        let Body::Call(call) = &mut part.body else { continue };
        let is_free = |id: &str| !id.is_empty() && !taken.contains(id) && !own.contains(id);
        let id = match call.id.take() {
            Some(id) if is_free(&id) => id,
            given => {
                let stem = given.filter(|id| !id.is_empty()).unwrap_or_else(|| "call".to_owned());
                let mut id = format!("{stem}_{turn}_{at}");
                while !is_free(&id) {
                    id.push('_');
                }
                id
            }
        };
        call.id = Some(id.clone());
        own.insert(id);
    }
}

/// Returns the calls of a response. The last part of a truncated response may be incomplete.
fn pending(response: &Response) -> Pending {
    use StopReason::{ContextWindow, Failed, Filtered, MaxTokens};
    let reason = response.stop.reason;
    let cut = matches!(reason, MaxTokens | ContextWindow | Filtered | Failed);
    let mut message = response.message();
    let last = message.parts.len().saturating_sub(1);
    let mut slots = Vec::new();
    for (at, part) in message.parts.iter_mut().enumerate() {
        let Body::Call(call) = &mut part.body else { continue };
        let completeness = match reason {
            _ if cut && at == last => Completeness::Truncated,
            StopReason::End | StopReason::ToolUse => Completeness::Complete,
            _ => Completeness::Unknown,
        };
        slots.push(Slot { call: call.clone(), completeness, stage: Stage::Open });
        // The arguments may be long and invalid JSON. The conversation has to be sent again, so a
        // valid call replaces it (case 27).
        if completeness == Completeness::Truncated {
            call.arguments = truncated_arguments(&call.arguments);
        } else if let Some(legal) = legal(&call.arguments) {
            call.arguments = legal;
        }
    }
    Pending { message, slots }
}

/// Returns an object for arguments that are none: the most likely repair, or the text.
fn legal(arguments: &Arguments) -> Option<Arguments> {
    if arguments.is_object() || matches!(arguments, Arguments::Free(_)) {
        return None;
    }
    let meant = |reading: &&Reading| {
        let closed = reading.changes.iter().any(|change| change.op == Op::Close);
        !closed && matches!(reading.value, Json::Object(_))
    };
    let parsed = (arguments.as_str().len() <= MAX_REPAIRED_BYTES).then(|| parse(arguments));
    let reading = parsed.as_ref().and_then(|parsed| parsed.readings.iter().find(meant));
    let raw = || Json::Object(object! {"_raw": excerpt(arguments.as_str())});
    Some(Arguments::from_json(&reading.map_or_else(raw, |reading| reading.value.clone())))
}

/// Returns arguments that replace truncated ones.
fn truncated_arguments(arguments: &Arguments) -> Arguments {
    let text = excerpt(arguments.as_str());
    match arguments {
        Arguments::Free(_) => Arguments::Free(text),
        _ => Arguments::from_json(&Json::Object(object! {"_truncated": text})),
    }
}

/// Truncates a text.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the message about a call that the vendor could not parse.
pub(super) fn malformed_call() -> Message {
    Message::user(MALFORMED_CALL)
}
