//! Calls of the steps of a plan: they have settings and an idempotency key of their own.

use std::sync::Arc;

use toolwright_core::{Call, Tool};

use super::Toolbox;
use super::item::Item;
use super::pipeline::{self, PreparedCall};
use crate::call::key::CallPosition;
use crate::call::{Answer, Approval, CallStatus, Completeness, approval};
use crate::error::CallError;
use crate::session::Session;
use crate::settings::{Effect, Settings};

/// A tool with the settings of a step. It shares the cache, the limit and the digest of the tool.
pub struct StepTool(pub(super) Arc<Item>);

impl StepTool {
    /// Whether a call may be repeated if its outcome is unknown.
    pub fn may_repeat(&self) -> bool {
        self.0.handler.settings().effect != Effect::Once
    }

    /// Returns the definition.
    pub fn tool(&self) -> &Tool {
        self.0.handler.tool()
    }

    /// Returns the slot that stores the output, if any.
    pub fn slot(&self) -> Option<&str> {
        self.0.handler.settings().slot.as_ref().map(|output| output.slot.as_str())
    }
}

impl Toolbox {
    /// Finds a tool and changes its settings for a step.
    pub async fn step_tool(
        &self,
        name: &str,
        change: impl FnOnce(&mut Settings),
    ) -> Result<StepTool, CallError> {
        let item = self.find(name).await?.ok_or_else(|| self.unknown(name, None))?;
        let mut settings = item.handler.settings().clone();
        change(&mut settings);
        let handler = item.handler.clone().with_settings(settings);
        Ok(StepTool(Arc::new(Item { handler, ..(*item).clone() })))
    }

    /// Makes a call of a step.
    pub async fn call_step(&self, session: &Session, call: StepCall<'_>) -> CallStatus {
        let found = Ok(Some(call.tool.0.clone()));
        let (position, completeness) = (CallPosition::default(), Completeness::Complete);
        let prepared =
            pipeline::prepare_found(self, session, call.call, found, position, completeness).await;
        call.proceed(self, session, prepared).await
    }
}

/// A call of a step.
pub struct StepCall<'c> {
    /// The tool
    pub tool: &'c StepTool,
    /// The call
    pub call: &'c Call,
    /// The idempotency key
    pub key: &'c Arc<str>,
    /// The answer of a person, if it asked for approval before
    pub answered: Option<(&'c Approval, &'c Answer)>,
    /// Whether an earlier attempt failed
    pub is_retry: bool,
}

impl StepCall<'_> {
    /// Runs the prepared call, or returns the question to a person.
    pub(super) async fn proceed(
        &self,
        toolbox: &Toolbox,
        session: &Session,
        mut prepared: PreparedCall<'_>,
    ) -> CallStatus {
        prepared.state.is_retry = self.is_retry;
        if let Ok(runnable) = &mut prepared.runnable {
            runnable.keys.key = self.key.clone();
            prepared.state.key = Some(self.key.clone());
        }
        match (self.answered, &mut prepared.runnable) {
            (Some((_, Answer::Reject(reason))), _) => {
                let error = approval::rejected(&self.call.name, reason);
                return pipeline::refuse(toolbox, session, prepared.state, error);
            }
            (Some((asked, Answer::Approve)), Ok(runnable))
                if asked.belongs_to(session)
                    && asked.covers(runnable.item.digest, &runnable.canonical) =>
            {
                runnable.ask = None;
            }
            _ => {}
        }
        pipeline::proceed(toolbox, session, prepared).await
    }
}
