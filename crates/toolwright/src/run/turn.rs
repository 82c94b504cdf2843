//! One answer of the model, taken apart: what it ends, what it calls, what must be said back.

use std::collections::HashSet;

use toolwright_core::args::{Op, Reading, parse};
use toolwright_core::part::Body;
use toolwright_core::{
    Arguments, Fault, FaultClass, Json, Message, Part, Response, StopReason, object,
};

use super::state::{Pending, Slot, Stage};
use crate::call::Completeness;

/// What follows from an answer.
#[derive(Debug)]
pub(super) enum Next {
    /// The model was done
    End,
    /// Calls are to be made
    Calls(Pending),
    /// The vendor paused: ask again
    Again,
    /// The vendor could not read the call that the model wrote: say so, and ask again
    Malformed,
    /// The vendor failed on the way
    Failed(Fault),
}

/// What a model is told whose call the vendor could not read.
pub(super) const MALFORMED_CALL: &str = "Your last call could not be read and was not run. Write it \
    again as one call with complete JSON arguments, or answer without it.";

/// The most characters that stay in the conversation of a call that is no JSON.
const MAX_EXCERPT_CHARS: usize = 200;

/// The most bytes that are repaired for the conversation.
const MAX_REPAIRED_BYTES: usize = 64 * 1024;

/// Takes an answer apart. Its calls get ids that are not in use, so that each outcome belongs to
/// one call, whatever ids the vendor gave.
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
            let text = "it began to answer, and then failed";
            Next::Failed(Fault::new(FaultClass::Internal, text))
        }
        _ => Next::End,
    }
}

/// Gives each call an id of its own.
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

/// The calls of an answer. The last part of one that was cut off may lack its end.
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
        // What the model wrote may be no JSON, and much of it. The conversation must be sent again,
        // so a legal call stands there instead (case 27).
        if completeness == Completeness::Truncated {
            call.arguments = truncated_arguments(&call.arguments);
        } else if let Some(legal) = legal(&call.arguments) {
            call.arguments = legal;
        }
    }
    Pending { message, slots }
}

/// Arguments that stand for some that are no object: as they were most likely meant, or as text.
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

/// Arguments that stand for some that were cut off.
fn truncated_arguments(arguments: &Arguments) -> Arguments {
    let text = excerpt(arguments.as_str());
    match arguments {
        Arguments::Free(_) => Arguments::Free(text),
        _ => Arguments::from_json(&Json::Object(object! {"_truncated": text})),
    }
}

/// The beginning of a text.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What the model is told about a call that the vendor could not read.
pub(super) fn malformed_call() -> Message {
    Message::user(MALFORMED_CALL)
}
