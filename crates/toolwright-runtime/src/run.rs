//! Runs of an agent: ask the model, run its calls, send the outcomes, until the model stops calling.
//!
//! ```text
//! Agent → run(input) → RunBuilder → build → Run: request → response → calls → outcomes → … → RunResult
//! ```
//!
//! [`Run::finish`] runs to the end; [`Run::next`] returns each event. If a call needs approval, the run
//! stops until [`Run::answer`]; it can be [saved](Run::save), and [resumed](Agent::resume) in another
//! process.
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use toolwright::model::ScriptedModel;
//! use toolwright::run::Agent;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), toolwright::run::RunError> {
//! let script = ScriptedModel::new().then_text("Hello!");
//! let agent = Agent::new("greeter").with_model(script.model());
//! let finished = agent.run("Say hello").finish().await?;
//! assert_eq!(finished.text, "Hello!");
//! # Ok(())
//! # }
//! ```

mod agent;
mod builder;
mod calls;
mod error;
mod event;
mod limit;
mod repetition;
mod save;
mod state;
mod step;
mod turn;

use std::collections::VecDeque;

use tokio::time::Instant;
use toolwright_core::{Json, Message, Response, Role, Usage};

pub use agent::{Agent, Input};
pub use builder::RunBuilder;
pub use error::RunError;
pub use event::{HostOutput, RunEvent, RunResult};
pub use limit::{Limit, Limits};

use crate::call::{Answer, Approval};
use crate::model::Model;
use crate::session::Session;
pub use save::read as read_saved;
use state::Stage;
pub use state::State;
use step::Phase;

/// A run of an agent. It makes progress only while [`next`](Run::next) or [`finish`](Run::finish) is
/// awaited. Dropping such a future loses nothing.
pub struct Run {
    agent: Agent,
    model: Model,
    session: Session,
    limits: Limits,
    state: State,
    phase: Phase,
    following: bool,
    events: VecDeque<RunEvent>,
    host: Vec<HostOutput>,
    /// The error that ends the run after this turn
    stopping: Option<RunError>,
    /// The error that ended the run
    stopped: Option<RunError>,
    begun: Instant,
}

impl Run {
    fn new(agent: Agent, model: Model, session: Session, limits: Limits, state: State) -> Run {
        Run {
            agent,
            model,
            session,
            limits,
            state,
            phase: Phase::Idle,
            following: false,
            events: VecDeque::new(),
            host: Vec::new(),
            stopping: None,
            stopped: None,
            begun: Instant::now(),
        }
    }

    /// The id, which is a part of every idempotency key.
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// The next event; none if the run has finished. If all remaining calls wait for approval, that is an error, as for
    /// [`finish`](Run::finish): answer, and continue.
    pub async fn next(&mut self) -> Result<Option<RunEvent>, RunError> {
        self.following = true;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if !self.advance().await? {
                let event = self.events.pop_front();
                let waiting: Vec<Approval> = self.waiting().cloned().collect();
                if event.is_none() && !waiting.is_empty() {
                    return Err(RunError::Waiting(waiting));
                }
                return Ok(event);
            }
        }
    }

    /// Runs to the end. A call that waits for approval is an error, after which you can answer and
    /// continue.
    pub async fn finish(&mut self) -> Result<RunResult, RunError> {
        self.following = false;
        self.events.clear();
        while self.advance().await? {}
        self.finished().ok_or_else(|| RunError::Waiting(self.waiting().cloned().collect()))
    }

    /// Calls that wait for approval.
    pub fn waiting(&self) -> impl Iterator<Item = &Approval> {
        self.state.waiting()
    }

    /// Answers whether a call may run. It runs when the run continues.
    pub fn answer(&mut self, approval_id: &str, answer: Answer) -> Result<(), RunError> {
        let slots = self.state.pending.iter_mut().flat_map(|pending| &mut pending.slots);
        for slot in slots {
            match &slot.stage {
                Stage::Waiting(approval) if approval.id == approval_id => {
                    slot.stage = Stage::Answered(approval.clone(), answer);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(RunError::NotWaiting(approval_id.to_owned()))
    }

    /// The conversation so far. Every call in it has one outcome, except calls of
    /// [the client's tools](Agent::with_request) at its end. A response whose calls are running is not in
    /// it yet.
    pub fn messages(&self) -> &[Message] {
        &self.state.messages
    }

    /// Adds a message of the user, for the next request to the model. Returns `false`, and adds nothing,
    /// while calls of the last response have no outcomes, and after the end of the run.
    pub fn add_message(&mut self, message: Message) -> bool {
        let is_between_turns = self.state.pending.is_none()
            && self.state.end.is_none()
            && matches!(self.phase, Phase::Idle);
        if is_between_turns {
            self.state.messages.push(message);
        }
        is_between_turns
    }

    /// The responses of the model after the first `given` messages, including one whose calls are
    /// running. Only the last one has an id and usage.
    pub fn answers(&self, given: usize) -> Vec<Response> {
        let said = self.state.messages.get(given..).unwrap_or_default().iter();
        let said = said.chain(self.state.pending.as_ref().map(|pending| &pending.message));
        let said = said.filter(|message| message.role == Role::Assistant);
        let mut answers: Vec<Response> = said
            .map(|message| Response { parts: message.parts.clone(), ..Response::default() })
            .collect();
        if let Some(end) = self.state.end.clone().filter(|end| !end.parts.is_empty()) {
            answers.pop();
            answers.push(end);
        }
        answers
    }

    /// The usage of all turns so far.
    pub fn usage(&self) -> &Usage {
        &self.state.spent.usage
    }

    /// The number of turns so far.
    pub fn turns(&self) -> u32 {
        self.state.spent.turns
    }

    /// Cancels the run and its running calls.
    pub fn cancel(&self) {
        self.session.cancel.cancel();
    }

    /// The state of the run as JSON, for [`Agent::resume`]. A response that has not arrived completely is
    /// requested again. A running call is repeated under its old key, which needs a persistent journal.
    /// The context and host outputs are not saved.
    ///
    /// The JSON contains the whole conversation: protect it accordingly.
    pub fn save(&self) -> Json {
        save::write(&self.state, self.begun.elapsed())
    }

    fn finished(&self) -> Option<RunResult> {
        let response = self.state.end.clone().filter(|_| self.state.pending.is_none())?;
        Some(RunResult {
            text: response.text(),
            stop: response.stop.reason,
            response,
            messages: self.state.messages.clone(),
            usage: self.state.spent.usage.clone(),
            turns: self.state.spent.turns,
            host: self.host.clone(),
        })
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Run")
            .field("id", &self.state.id)
            .field("agent", &self.agent.name)
            .field("turns", &self.state.spent.turns)
            .finish_non_exhaustive()
    }
}
