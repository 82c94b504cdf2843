//! Where a run stands: all that must be kept to go on later, elsewhere.

use std::collections::HashSet;
use std::sync::Arc;

use toolwright_core::part::Body;
use toolwright_core::{Call, Message, Outcome, Part, Response, Role};

use super::limit::Consumption;
use super::repetition::Failures;
use crate::call::{Answer, Approval, Completeness};
use crate::session::Caller;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// The run
    pub(crate) id: Arc<str>,
    /// Whose run it is
    pub(crate) agent: Arc<str>,
    /// Who calls
    pub(crate) caller: Caller,
    /// The conversation; every call in it has one outcome, but those that were handed over at its end
    pub(crate) messages: Vec<Message>,
    /// An answer with calls that do not all have outcomes
    pub(crate) pending: Option<Pending>,
    /// How far it has gone
    pub(crate) spent: Consumption,
    /// Calls that failed
    pub(crate) failures: Failures,
    /// The last answer of a run that is done, once its own calls are
    pub(crate) end: Option<Response>,
}

/// An answer whose calls are under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    /// What the model said
    pub(crate) message: Message,
    /// Its calls, in order
    pub(crate) slots: Vec<Slot>,
}

/// A call and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The call as the model made it
    pub(crate) call: Call,
    /// Whether the model wrote it to its end
    pub(crate) completeness: Completeness,
    /// How far it is
    pub(crate) stage: Stage,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is known of it: not begun, or under way
    Open,
    /// A person was asked
    Waiting(Approval),
    /// A person has answered
    Answered(Approval, Answer),
    /// It has its outcome
    Done(Outcome),
}

impl State {
    /// Ids that calls of the conversation have.
    pub(crate) fn call_ids(&self) -> HashSet<&str> {
        let calls = self.messages.iter().flat_map(|message| &message.parts);
        calls.filter_map(|part| part.as_call()?.id.as_deref()).collect()
    }

    /// Calls that wait for a person.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Approval> {
        let slots = self.pending.iter().flat_map(|pending| &pending.slots);
        slots.filter_map(|slot| match &slot.stage {
            Stage::Waiting(approval) => Some(approval),
            _ => None,
        })
    }

    /// Puts the answer and its outcomes into the conversation. A call without an outcome gets one
    /// that says why.
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

    /// Puts the answer and the outcomes that there are into the conversation. Whoever gets the
    /// other calls has theirs.
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

/// The outcome of a call that was not made.
pub(crate) fn skipped(call: &Call, why: &str) -> Outcome {
    Outcome {
        call_id: call.id.clone(),
        name: Some(call.name.clone()),
        content: vec![Part::new(Body::Text(why.to_owned()))],
        error: Some(true),
    }
}
