//! Events of a run, and its result.

use toolwright_core::{Call, Event, Message, Response, StopReason, Usage};

use crate::call::{Approval, CallResult};
use crate::output::Host;

/// An event of a run.
///
/// ```text
/// run  = turn*  (RunResult | ApprovalNeeded+ … answers … turn* | an error)
/// turn = TurnStarted  Model*  Answered  (CallStarted+  CallDone*)*  TurnDone
/// ```
///
/// `Model` events come only from [`Run::next`](super::Run::next).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RunEvent {
    /// A request is sent to the model
    TurnStarted {
        /// Which turn, from 1
        turn: u32,
    },
    /// An event of the response
    Model(Event),
    /// The complete response. The ids of its calls are unique in the run
    Answered(Response),
    /// A call starts
    CallStarted(Call),
    /// A call has its result. The calls of a turn come in order
    CallDone(CallResult),
    /// A call waits for approval
    ApprovalNeeded(Approval),
    /// All calls of a turn have their outcomes
    TurnDone {
        /// Which turn, from 1
        turn: u32,
    },
    /// The run has finished
    Finished(Box<RunResult>),
}

/// The result of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// The text of the last response
    pub text: String,
    /// Why the last response ended; it may be truncated
    pub stop: StopReason,
    /// The last response
    pub response: Response,
    /// The conversation, beginning with the input. Every call in it has one outcome, except calls of
    /// [the client's tools](super::Agent::with_request) in the last response.
    pub messages: Vec<Message>,
    /// The usage of all turns
    pub usage: Usage,
    /// The number of turns
    pub turns: u32,
    /// The outputs of tools for the host, in the order of the calls
    pub host: Vec<HostOutput>,
}

/// The output of a tool for the host.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostOutput {
    /// The call
    pub call_id: String,
    /// The tool
    pub tool: String,
    /// The value
    pub value: Host,
}

impl RunResult {
    /// The last host output of a type.
    pub fn host<T: 'static>(&self) -> Option<&T> {
        self.host.iter().rev().find_map(|output| output.value.get())
    }

    /// All calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.messages.iter().flat_map(Message::calls)
    }
}
