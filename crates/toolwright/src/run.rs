//! The loop: ask the model, make its calls, give it the outcomes, until it is done.
//!
//! ```text
//! Agent → run(input) → Start → build → Run: ask → answer → calls → outcomes → ask … → Finished
//! ```
//!
//! [`Run::finish`] goes to the end; [`Run::next`] shows each step. Both make the same run. Where a
//! call must wait for a person, the run stands still until [`Run::answer`]; it can be
//! [saved](Run::save) and [resumed](Agent::resume) in another process meanwhile.
//!
//! ```
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
mod drive;
mod error;
mod limit;
mod make;
mod observe;
mod repeat;
mod save;
mod start;
mod state;
mod turn;

use std::collections::VecDeque;

use tokio::time::Instant;
use toolwright_core::{Json, Message, Response, Role, Usage};

pub use agent::{Agent, Input};
pub use error::RunError;
pub use limit::{Limit, Limits};
pub use observe::{Finished, HostOutput, RunEvent};
pub use start::Start;

use crate::call::{Answer, Approval};
use crate::model::Model;
use crate::session::Session;
use drive::Phase;
use state::{Stage, State};

/// A run under way. It works only while [`next`](Run::next) or [`finish`](Run::finish) is awaited;
/// giving up that wait loses nothing.
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
    /// What will end the run when the turn is whole
    stopping: Option<RunError>,
    /// What has ended it
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

    /// The id, part of every idempotency key.
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// What happens next; nothing more once the model was done, or while every call that is left
    /// waits for a person.
    pub async fn next(&mut self) -> Result<Option<RunEvent>, RunError> {
        self.following = true;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if !self.advance().await? {
                return Ok(self.events.pop_front());
            }
        }
    }

    /// The run to its end. A call that waits for a person is an error after which one can answer
    /// and go on.
    pub async fn finish(&mut self) -> Result<Finished, RunError> {
        self.following = false;
        self.events.clear();
        while self.advance().await? {}
        self.finished().ok_or_else(|| RunError::Waiting(self.waiting().cloned().collect()))
    }

    /// Calls that wait for a person.
    pub fn waiting(&self) -> impl Iterator<Item = &Approval> {
        self.state.waiting()
    }

    /// Says whether a call may run. It runs when the run goes on.
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

    /// The conversation so far. Every call in it has exactly one outcome, but those with which the
    /// run ended because they are for [somebody else](Agent::with_request); an answer whose calls
    /// are under way is not in it yet.
    pub fn messages(&self) -> &[Message] {
        &self.state.messages
    }

    /// The model's answers after the first `given` messages of the conversation, with one whose calls
    /// are under way. Those before the last have neither id nor usage.
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

    /// What all turns cost so far.
    pub fn usage(&self) -> &Usage {
        &self.state.spent.usage
    }

    /// How often the model was asked and answered.
    pub fn turns(&self) -> u32 {
        self.state.spent.turns
    }

    /// Ends the run and the calls that are under way.
    pub fn cancel(&self) {
        self.session.cancel.cancel();
    }

    /// Where the run stands, to go on later with [`Agent::resume`]. An answer that has not arrived
    /// whole is asked for again; a call that is under way is made again under its old key, for
    /// which a journal must be kept. Context and what tools gave to the host are not saved.
    ///
    /// What is saved holds the whole conversation: keep it as safe as that.
    pub fn save(&self) -> Json {
        save::write(&self.state, self.begun.elapsed())
    }

    fn finished(&self) -> Option<Finished> {
        let response = self.state.end.clone().filter(|_| self.state.pending.is_none())?;
        Some(Finished {
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
