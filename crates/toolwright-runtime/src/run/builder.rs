//! Builds a run, and checks its model and context before the first request.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolwright_core::Message;

use super::Run;
use super::agent::Agent;
use super::error::RunError;
use super::event::RunResult;
use super::limit::Limits;
use super::state::State;
use crate::context::Context;
use crate::session::{Caller, Session};

/// Builds a run.
#[derive(Debug)]
#[must_use = "nothing happens before `build` or `finish`"]
pub struct RunBuilder {
    agent: Agent,
    state: State,
    named: bool,
    context: Context,
    limits: Limits,
    cancel: CancellationToken,
}

impl RunBuilder {
    pub(super) fn new(agent: Agent, messages: Vec<Message>) -> RunBuilder {
        let state = State { agent: agent.name.clone(), messages, ..State::default() };
        RunBuilder { named: false, ..RunBuilder::resume(agent, state) }
    }

    pub(super) fn resume(agent: Agent, state: State) -> RunBuilder {
        let (context, limits) = (Context::new(), Limits::default());
        RunBuilder { agent, state, named: true, context, limits, cancel: CancellationToken::new() }
    }

    /// Sets the context: values for tools that no model sees.
    pub fn with_context(mut self, context: Context) -> RunBuilder {
        self.context = context;
        self
    }

    /// Sets the caller, who has permissions and owns handles.
    pub fn with_caller(mut self, caller: Caller) -> RunBuilder {
        self.state.caller = caller;
        self
    }

    /// Sets the conversation that owns the handles, so that several runs can share them. By default a run
    /// is its own conversation.
    pub fn with_conversation(mut self, conversation: impl Into<Arc<str>>) -> RunBuilder {
        self.state.conversation = Some(conversation.into());
        self
    }

    /// Sets the limits.
    pub fn with_limits(mut self, limits: Limits) -> RunBuilder {
        self.limits = limits;
        self
    }

    /// Sets the id, which is random by default. The same id means the same run: calls that the journal has
    /// recorded do not run again.
    pub fn with_id(mut self, id: impl Into<Arc<str>>) -> RunBuilder {
        self.state.id = id.into();
        self.named = true;
        self
    }

    /// Sets a token that cancels the run.
    pub fn with_cancel(mut self, cancel: CancellationToken) -> RunBuilder {
        self.cancel = cancel;
        self
    }

    /// Creates the run, if it has a model and all context that its tools need.
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
            conversation: self.state.conversation.clone(),
            ..Session::new(self.state.id.clone())
                .with_caller(self.state.caller.clone())
                .with_context(self.context)
        };
        Ok(Run::new(self.agent, model, session, self.limits, self.state))
    }

    /// Creates the run and runs it to the end.
    pub async fn finish(self) -> Result<RunResult, RunError> {
        self.build()?.finish().await
    }
}

/// A random id.
fn random_id() -> Result<Arc<str>, RunError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| RunError::NoRandomness(error.to_string()))?;
    Ok(format!("run_{:032x}", u128::from_be_bytes(bytes)).into())
}
