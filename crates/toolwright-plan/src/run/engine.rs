//! The interface of the engines.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use toolwright_core::Json;
use toolwright_runtime::session::Caller;

use crate::plan::{Plan, PlanError, StepError};

use super::event::Observer;
use super::journal::{PlanJournalError, RunRecord, StepAnswer};
use super::report::RunReport;

/// A run to start.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewRun {
    /// The plan
    pub plan: Plan,
    /// The inputs
    pub inputs: Json,
    /// Who starts it: policies decide about this caller
    pub caller: Caller,
    /// The id; random if there is none
    pub id: Option<Arc<str>>,
    /// What identifies the content of the request for the run, for clients that repeat it
    pub request: Option<Arc<str>>,
    /// Whether the run waits until it is driven: its host does not continue it by itself before
    pub is_deferred: bool,
}

impl NewRun {
    /// Creates a run of the local caller.
    pub fn new(plan: Plan, inputs: impl Into<Json>) -> NewRun {
        let (inputs, caller) = (inputs.into(), Caller::default());
        NewRun { plan, inputs, caller, id: None, request: None, is_deferred: false }
    }

    /// Sets the caller.
    #[must_use]
    pub fn with_caller(mut self, caller: Caller) -> NewRun {
        self.caller = caller;
        self
    }

    /// Sets whether the run waits until it is driven.
    #[must_use]
    pub fn with_deferred_start(mut self, is_deferred: bool) -> NewRun {
        self.is_deferred = is_deferred;
        self
    }

    /// Sets the id, which must not exist yet, and what identifies the content of the request.
    #[must_use]
    pub fn with_identity(
        mut self,
        id: impl Into<Arc<str>>,
        request: impl Into<Arc<str>>,
    ) -> NewRun {
        (self.id, self.request) = (Some(id.into()), Some(request.into()));
        self
    }
}

/// Why a run could not be started, continued or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanRunError {
    /// The plan or its inputs are invalid; nothing was run
    #[error("{}", messages(.0))]
    Invalid(Vec<PlanError>),
    /// Tools have changed since the run started
    #[error(
        "these tools have changed since the run started: {}; start a new run, or resume with the changed tools",
        .0.join(", ")
    )]
    ToolsChanged(Vec<String>),
    /// Tools of the run do not exist any more, or cannot be reached
    #[error("the run cannot be continued: {}", messages(.0))]
    ToolsMissing(Vec<PlanError>),
    /// There is too little memory for the run
    #[error("the run cannot be loaded: {0}")]
    TooLarge(StepError),
    /// The run has ended
    #[error("the run has ended: it {0}")]
    Ended(&'static str),
    /// No call of the run waits for this answer
    #[error("the step '{0}' does not wait for an answer")]
    NoQuestion(String),
    /// There is no randomness for an id
    #[error("the system provides no randomness: {0}")]
    NoRandomness(String),
    /// The journal failed
    #[error(transparent)]
    Journal(#[from] PlanJournalError),
    /// The engine failed
    #[error("{0}")]
    Engine(String),
}

fn messages(errors: &[PlanError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
}

impl RunRecord {
    /// Refuses a run that has ended.
    pub(crate) fn check_open(&self) -> Result<(), PlanRunError> {
        if self.status.is_final() { Err(PlanRunError::Ended(self.status.as_str())) } else { Ok(()) }
    }
}

/// An operation of an engine that is in progress.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, PlanRunError>> + Send + 'a>>;

/// Runs plans.
pub trait Engine: Send + Sync {
    /// Checks a plan with its inputs and records a run, without making calls. Returns the id of the run.
    fn start(&self, run: NewRun) -> EngineFuture<'_, Arc<str>>;

    /// Makes the calls of a run until it ends or waits for a person. Calls with a recorded result are not made again.
    fn drive<'a>(&'a self, run: &'a str, observer: Option<Observer>)
    -> EngineFuture<'a, RunReport>;

    /// Answers a question of a run; without an item, those of all items of the step. Returns whether the run goes on
    /// with it; otherwise drive it.
    fn answer<'a>(
        &'a self,
        run: &'a str,
        step: &'a str,
        item: Option<usize>,
        answer: StepAnswer,
    ) -> EngineFuture<'a, bool>;

    /// Cancels a run.
    fn cancel<'a>(&'a self, run: &'a str) -> EngineFuture<'a, ()>;

    /// Returns the report of a run.
    fn report<'a>(&'a self, run: &'a str) -> EngineFuture<'a, RunReport>;
}
