//! The state of a run, which is saved to resume it later.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use toolwright_core::{Body, Call, Json, Message, Outcome, Part, Response, Role};

use super::limit::Consumption;
use super::repetition::Failures;
use crate::call::{Answer, Approval, Completeness};
use crate::session::Caller;

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// The run id
    pub id: Arc<str>,
    /// The agent
    pub(crate) agent: Arc<str>,
    /// The caller
    pub caller: Caller,
    /// The conversation that owns the handles, if it is wider than the run
    pub conversation: Option<Arc<str>>,
    /// The messages so far; every call in it has one outcome, except calls handed over at its end
    pub messages: Vec<Message>,
    /// A response whose calls do not all have outcomes
    pub(crate) pending: Option<Pending>,
    /// What the run has consumed
    pub(crate) spent: Consumption,
    /// Failures of calls
    pub(crate) failures: Failures,
    /// Where the complete output of each call is, by the id of the call; null if it was not stored
    pub outputs: BTreeMap<String, Json>,
    /// The last response of a finished run, once its calls have outcomes
    pub(crate) end: Option<Response>,
}

/// A response with running calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The message of the response
    pub(crate) message: Message,
    /// Its calls, in order
    pub(crate) slots: Vec<Slot>,
}

/// A call and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The call as the model made it
    pub(crate) call: Call,
    /// Whether the model finished writing it
    pub(crate) completeness: Completeness,
    /// Its state
    pub(crate) stage: Stage,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not started, or running
    Open,
    /// Waits for approval
    Waiting(Approval),
    /// Approved or rejected by a person
    Answered(Approval, Answer),
    /// Has its outcome
    Done(Outcome),
}

impl State {
    /// Returns the ids of the calls in the conversation.
    pub(crate) fn call_ids(&self) -> HashSet<&str> {
        let calls = self.messages.iter().flat_map(|message| &message.parts);
        calls.filter_map(|part| part.as_call()?.id.as_deref()).collect()
    }

    /// Returns the calls that wait for approval.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Approval> {
        let slots = self.pending.iter().flat_map(|pending| &pending.slots);
        slots.filter_map(|slot| match &slot.stage {
            Stage::Waiting(approval) => Some(approval),
            _ => None,
        })
    }

    /// Appends the response and its outcomes to the conversation. A call without an outcome gets
    /// one that gives the reason.
    pub(crate) fn close_turn(&mut self, why: &str) {
        let Some(Pending { message, slots }) = self.pending.take() else { return };
        let outcomes = slots.into_iter().map(|slot| match slot.stage {
            Stage::Done(outcome) => outcome,
            _ => skipped(&slot.call, why),
        });
        let outcomes: Vec<Part> = outcomes.map(Part::outcome).collect();
        self.messages.push(message);
        self.messages.push(Message::new(Role::Tool, outcomes));
    }

    /// Appends the response and the existing outcomes to the conversation. The client supplies the
    /// others.
    pub(crate) fn hand_over(&mut self) {
        let Some(Pending { message, slots }) = self.pending.take() else { return };
        let outcomes = slots.into_iter().filter_map(|slot| match slot.stage {
            Stage::Done(outcome) => Some(Part::outcome(outcome)),
            _ => None,
        });
        let outcomes: Vec<Part> = outcomes.collect();
        self.messages.push(message);
        if !outcomes.is_empty() {
            self.messages.push(Message::new(Role::Tool, outcomes));
        }
    }
}

/// Returns the outcome of a call that did not run.
pub(crate) fn skipped(call: &Call, why: &str) -> Outcome {
    Outcome {
        call_id: call.id.clone(),
        name: Some(call.name.clone()),
        content: vec![Part::new(Body::Text(why.into()))],
        error: Some(true),
    }
}
