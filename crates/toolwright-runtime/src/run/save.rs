//! The JSON form of a saved run. Version 1:
//!
//! ```json
//! {"format": "toolwright.run", "version": 1, "id": "run_…", "agent": "Extractor",
//!  "caller": {"id": "local", "tenant": "local"}, "conversation": null,
//!  "messages": […],
//!  "pending": {"message": {…}, "calls": [{"call": {…}, "wholeness": "proven", "done": {…}}]},
//!  "spent": {"turns": 1, "calls": 2, "usage": {…}, "milliseconds": 1200},
//!  "failures": {}, "outputs": {"call_1": 1, "call_2": [{"handle": "tw:…"}]}, "end": null}
//! ```
//!
//! `outputs` says where the complete output of each call is: in the first parts of its outcome, or piece by piece in
//! parts and behind handles.
//!
//! Messages keep every part with its signature and extra fields, because vendors verify them. Later
//! versions read earlier ones; an unknown version is refused.

mod answer;
mod message;

use std::collections::BTreeMap;
use std::time::Duration;

use toolwright_core::document::{
    DocumentError, ObjectReader, read_call, read_outcome, read_usage, write_call, write_outcome,
};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::error::RunError;
use super::limit::Consumption;
use super::repetition::Failures;
use super::state::{Pending, Slot, Stage, State};
use crate::call::{Answer, Approval, Completeness};
use crate::session::Caller;

const FORMAT: &str = "toolwright.run";
const VERSION: u64 = 1;

/// Writes a run, with the time that it has taken so far.
pub(super) fn write(state: &State, worked: Duration) -> Json {
    let failures =
        state.failures.0.iter().map(|(key, times)| (key.clone().into(), u64::from(*times).into()));
    let outputs = state.outputs.iter().map(|(id, place)| (id.clone().into(), place.clone()));
    let milliseconds = (state.spent.earlier + worked).as_millis();
    Json::Object(object! {
        "format": FORMAT,
        "version": VERSION,
        "id": &*state.id,
        "agent": &*state.agent,
        "caller": object! {"id": &*state.caller.id, "tenant": &*state.caller.tenant},
        "conversation": state.conversation.as_deref(),
        "messages": state.messages.iter().map(message::write).collect::<Vec<_>>(),
        "pending": state.pending.as_ref().map(write_pending),
        "spent": object! {
            "turns": u64::from(state.spent.turns),
            "calls": u64::from(state.spent.calls),
            "usage": answer::write_usage(&state.spent.usage),
            "milliseconds": u64::try_from(milliseconds).unwrap_or(u64::MAX),
        },
        "failures": failures.collect::<Object>(),
        "outputs": outputs.collect::<Object>(),
        "end": state.end.as_ref().map(answer::write),
    })
}

/// Reads a run.
pub fn read(document: &Json) -> Result<State, RunError> {
    read_state(document).map_err(RunError::Saved)
}

fn read_state(document: &Json) -> Result<State, DocumentError> {
    let fields = ObjectReader::of(document)?;
    if fields.text("format")? != FORMAT {
        return Err(DocumentError::new("a run saved by toolwright").within("format"));
    }
    if fields.count::<u64>("version")? != VERSION {
        return Err(DocumentError::new("version 1; this one was saved by a later release")
            .within("version"));
    }
    let caller = fields.object("caller")?;
    let spent = fields.object("spent")?;
    Ok(State {
        id: fields.text("id")?.into(),
        agent: fields.text("agent")?.into(),
        caller: Caller::new(caller.text("id")?).with_tenant(caller.text("tenant")?),
        conversation: fields.optional_text("conversation")?.map(Into::into),
        messages: fields.list("messages", message::read)?,
        pending: fields.optional("pending", read_pending)?,
        spent: Consumption {
            turns: spent.count("turns")?,
            calls: spent.count("calls")?,
            usage: spent.required("usage", read_usage)?,
            earlier: Duration::from_millis(spent.count("milliseconds")?),
        },
        failures: fields.required("failures", read_failures)?,
        outputs: fields.optional("outputs", read_outputs)?.unwrap_or_default(),
        end: fields.optional("end", answer::read)?,
    })
}

fn read_failures(document: &Json) -> Result<Failures, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let counted = fields.as_object().keys().map(|key| Ok((key.to_owned(), fields.count(key)?)));
    counted.collect::<Result<_, DocumentError>>().map(Failures)
}

fn read_outputs(document: &Json) -> Result<BTreeMap<String, Json>, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(fields.as_object().iter().map(|(id, place)| (id.to_owned(), place.clone())).collect())
}

fn write_pending(pending: &Pending) -> Object {
    let calls = pending.slots.iter().map(write_slot);
    object! {
        "message": message::write(&pending.message),
        "calls": calls.collect::<Vec<_>>(),
    }
}

fn read_pending(document: &Json) -> Result<Pending, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let message = fields.required("message", message::read)?;
    let slots = fields.list("calls", read_slot)?;
    // Each call of the message must have one outcome, and no other call may run.
    let said = message.calls().map(|call| (&call.id, &call.name));
    if !said.eq(slots.iter().map(|slot| (&slot.call.id, &slot.call.name))) {
        return Err(DocumentError::new("the calls of the message, in their order").within("calls"));
    }
    Ok(Pending { message, slots })
}

fn write_slot(slot: &Slot) -> Object {
    let completeness = match slot.completeness {
        Completeness::Complete => "proven",
        Completeness::Unknown => "unknown",
        Completeness::Truncated => "truncated",
    };
    let mut out = object! {"call": write_call(&slot.call), "wholeness": completeness};
    match &slot.stage {
        Stage::Open => {}
        Stage::Waiting(approval) => out.insert("waiting", approval.to_json()),
        Stage::Answered(approval, answer) => {
            out.insert("waiting", approval.to_json());
            match answer {
                Answer::Approve => out.insert("approved", true),
                Answer::Reject(reason) => out.insert("rejected", reason.as_str()),
            }
        }
        Stage::Done(outcome) => out.insert("done", write_outcome(outcome)),
    }
    out
}

fn read_slot(document: &Json) -> Result<Slot, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let completeness =
        fields.word("wholeness", "proven, unknown or truncated", |word| match word {
            "proven" => Some(Completeness::Complete),
            "unknown" => Some(Completeness::Unknown),
            "truncated" => Some(Completeness::Truncated),
            _ => None,
        })?;
    let approval = fields.optional("waiting", Approval::from_json)?;
    let done = fields.optional("done", read_outcome)?;
    let approved = fields.optional("approved", |value| {
        value.as_bool().filter(|value| *value).ok_or_else(|| DocumentError::new("true"))
    })?;
    let rejected = fields.optional_text("rejected")?;
    let stage = match (done, approval, approved, rejected) {
        (Some(outcome), None, None, None) => Stage::Done(outcome),
        (None, None, None, None) => Stage::Open,
        (None, Some(approval), None, None) => Stage::Waiting(approval),
        (None, Some(approval), Some(_), None) => Stage::Answered(approval, Answer::Approve),
        (None, Some(approval), None, Some(reason)) => {
            Stage::Answered(approval, Answer::Reject(reason.to_owned()))
        }
        _ => return Err(DocumentError::new("a call that is open, waiting, answered or done")),
    };
    let call = fields.required("call", read_call)?;
    // The approval must be for this call.
    if let Stage::Waiting(approval) | Stage::Answered(approval, _) = &stage
        && approval.call != call
    {
        return Err(DocumentError::new("the approval of this call").within("waiting"));
    }
    Ok(Slot { call, completeness, stage })
}
