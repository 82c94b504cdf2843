//! What can be seen of a run while it works, and what is left when it is done.

use toolwright_core::{Call, Event, Message, Response, StopReason, Usage};

use crate::call::{Approval, CallResult};
use crate::output::Host;

/// Something that happened in a run, for the host.
///
/// ```text
/// run  = turn*  (Finished | ApprovalNeeded+ … answers … turn* | an error)
/// turn = TurnStarted  Model*  Answered  (CallStarted+  CallDone*)*  TurnDone
/// ```
///
/// `Model` events come only where the answer is followed as it arrives. The rest is the same.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// The model is asked
    TurnStarted {
        /// Which turn, from 1
        turn: u32,
    },
    /// The answer grows
    Model(Event),
    /// The answer is whole. Calls have ids that no other call of the run has
    Answered(Response),
    /// A call is handed to the toolbox
    CallStarted(Call),
    /// A call has its outcome. Calls of a turn come in their order
    CallDone(CallResult),
    /// A person must say whether a call may run
    ApprovalNeeded(Approval),
    /// All calls of a turn have their outcomes
    TurnDone {
        /// Which turn, from 1
        turn: u32,
    },
    /// The model was done
    Finished(Box<Finished>),
}

/// A run to its end.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The last words of the model
    pub text: String,
    /// Why it stopped: words that were cut off are the last words, too
    pub stop: StopReason,
    /// Its last answer
    pub response: Response,
    /// The whole conversation, the input first; every call in it has one outcome, but those of the
    /// last answer that are for [somebody else](super::Agent::with_request)
    pub messages: Vec<Message>,
    /// What all turns cost together
    pub usage: Usage,
    /// How often the model was asked
    pub turns: u32,
    /// What tools gave to the host alone, in the order of their calls
    pub host: Vec<HostOutput>,
}

/// What a tool gave to the host alone.
#[derive(Debug, Clone)]
pub struct HostOutput {
    /// The call
    pub call_id: String,
    /// The tool
    pub tool: String,
    /// The value
    pub value: Host,
}

impl Finished {
    /// The last value of a type that a tool gave to the host.
    pub fn host<T: 'static>(&self) -> Option<&T> {
        self.host.iter().rev().find_map(|output| output.value.get())
    }

    /// Every call that was made, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.messages.iter().flat_map(Message::calls)
    }
}
