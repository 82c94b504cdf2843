//! A run as it is put together. What is missing shows here, before the model is asked.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolwright_core::Message;

use super::Run;
use super::agent::Agent;
use super::error::RunError;
use super::limit::{Limits, Spent};
use super::observe::Finished;
use super::repeat::Failures;
use super::state::State;
use crate::context::Context;
use crate::session::{Caller, Session};

/// A run as it is put together.
#[derive(Debug)]
#[must_use = "nothing happens before `build` or `finish`"]
pub struct Start {
    agent: Agent,
    state: State,
    named: bool,
    context: Context,
    limits: Limits,
    cancel: CancellationToken,
}

impl Start {
    pub(super) fn new(agent: Agent, messages: Vec<Message>) -> Start {
        let state = State {
            id: "".into(),
            agent: agent.name.clone(),
            caller: Caller::default(),
            messages,
            pending: None,
            spent: Spent::default(),
            failures: Failures::default(),
            end: None,
        };
        Start { named: false, ..Start::again(agent, state) }
    }

    pub(super) fn again(agent: Agent, state: State) -> Start {
        let (context, limits) = (Context::new(), Limits::default());
        Start { agent, state, named: true, context, limits, cancel: CancellationToken::new() }
    }

    /// With values that tools work with and no model sees.
    pub fn with_context(mut self, context: Context) -> Start {
        self.context = context;
        self
    }

    /// With a caller: whose rights and whose handles count.
    pub fn with_caller(mut self, caller: Caller) -> Start {
        self.state.caller = caller;
        self
    }

    /// With limits.
    pub fn with_limits(mut self, limits: Limits) -> Start {
        self.limits = limits;
        self
    }

    /// With an id of one's own instead of a random one. The same id means the same run: calls that
    /// the journal knows are not made again.
    pub fn with_id(mut self, id: impl Into<Arc<str>>) -> Start {
        self.state.id = id.into();
        self.named = true;
        self
    }

    /// With a token that cancels the run.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Start {
        self.cancel = cancel;
        self
    }

    /// The run, if nothing is missing that its tools need.
    pub fn build(mut self) -> Result<Run, RunError> {
        let Some(model) = self.agent.model.clone() else {
            return Err(RunError::NoModel(self.agent.name.to_string()));
        };
        self.agent.toolbox.check_context(&self.context).map_err(RunError::MissingContext)?;
        if !self.named {
            self.state.id = random_id()?;
        }
        let session = Session {
            cancel: self.cancel.child_token(),
            ..Session::new(self.state.id.clone())
                .with_caller(self.state.caller.clone())
                .with_context(self.context)
        };
        Ok(Run::new(self.agent, model, session, self.limits, self.state))
    }

    /// The run to its end, without looking at it on the way.
    pub async fn finish(self) -> Result<Finished, RunError> {
        self.build()?.finish().await
    }
}

/// An id that no other run has.
fn random_id() -> Result<Arc<str>, RunError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| RunError::NoRandomness(error.to_string()))?;
    Ok(format!("run_{:032x}", u128::from_be_bytes(bytes)).into())
}
