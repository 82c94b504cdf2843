//! The journal of plan runs: each run with its plan, and what happened to its calls, in order.
//!
//! A run is resumed by giving its recorded results to the [interpreter](crate::plan::Interpreter) again. The
//! journal keeps the complete output of each call until the run is deleted.

mod memory;
#[cfg(any(feature = "sqlite", feature = "temporal"))]
pub(crate) mod record;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Json, object};

use crate::plan::{Plan, StepError};

pub use memory::MemoryPlanJournal;
#[cfg(feature = "sqlite")]
pub use sqlite::SqlitePlanJournal;

use toolwright_runtime::call::{Answer, Approval};
use toolwright_runtime::session::Caller;

/// A run of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRecord {
    /// The id, which cannot be guessed
    pub id: Arc<str>,
    /// Who started it
    pub caller: Caller,
    /// The plan
    pub plan: Arc<Plan>,
    /// The inputs
    pub inputs: Arc<Json>,
    /// The digest of each tool when the run started
    pub digests: Vec<(String, String)>,
    /// The state
    pub status: RunStatus,
    /// When it started, in milliseconds since 1970
    pub created_ms: u64,
    /// When it ended, in milliseconds since 1970
    pub ended_ms: Option<u64>,
    /// The run that it repeats from some step on
    pub parent: Option<Arc<str>>,
    /// What identifies the content of the request for it
    pub request: Option<Arc<str>>,
    /// Whether its host continues it by itself after a restart
    pub resumes: bool,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The id
    pub id: Arc<str>,
    /// Who started it
    pub caller: Caller,
    /// The name of the plan, or its beginning
    pub name: Option<String>,
    /// Number of steps
    pub steps: usize,
    /// The state
    pub status: RunStatus,
    /// When it started, in milliseconds since 1970
    pub created_ms: u64,
    /// When it ended, in milliseconds since 1970
    pub ended_ms: Option<u64>,
    /// The run that it repeats from some step on
    pub parent: Option<Arc<str>>,
    /// Whether it was in progress, and its host continues it by itself after a restart
    pub resumes: bool,
}

/// Maximum number of characters of a name in a list.
const MAX_NAME_CHARS: usize = 200;

impl From<&RunRecord> for RunSummary {
    fn from(run: &RunRecord) -> RunSummary {
        let name = run.plan.name.as_ref();
        RunSummary {
            id: run.id.clone(),
            caller: run.caller.clone(),
            name: name.map(|name| name.chars().take(MAX_NAME_CHARS).collect()),
            steps: run.plan.steps.len(),
            status: run.status,
            created_ms: run.created_ms,
            ended_ms: run.ended_ms,
            parent: run.parent.clone(),
            resumes: run.resumes && run.status == RunStatus::Running,
        }
    }
}

toolwright_json::words! {
    /// The state of a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum RunStatus: as_str, parse {
        /// Calls are being made
        Running = "running",
        /// It has not ended, and nothing makes its calls
        Interrupted = "interrupted",
        /// It waits for a person
        Waiting = "waiting",
        /// All steps have ended, and none failed that may not
        Succeeded = "succeeded",
        /// A step failed, or a limit was exceeded
        Failed = "failed",
        /// It was cancelled
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Whether the run has ended.
    pub fn is_final(self) -> bool {
        matches!(self, RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled)
    }
}

/// Something that happened to a call of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The id of the step. That of a plan within a call of the run follows the id of the call: `outer/inner`
    pub step: String,
    /// The position of the item, if the step has `each`
    pub item: Option<usize>,
    /// When it happened, in milliseconds since 1970
    pub time_ms: u64,
    /// What happened
    pub event: EntryEvent,
}

/// What happened to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryEvent {
    /// A call that may not be repeated is about to start
    Intent,
    /// The call that was about to start had no effect
    Withdrawn,
    /// The call succeeded
    Succeeded {
        /// Its complete output
        output: Arc<Json>,
        /// When the first attempt started, in milliseconds since 1970
        started_ms: u64,
        /// Number of attempts
        attempts: u32,
    },
    /// The call failed, after its retries
    Failed {
        /// The error
        error: StepError,
        /// When the first attempt started, in milliseconds since 1970
        started_ms: u64,
        /// Number of attempts
        attempts: u32,
    },
    /// The call waits for a person
    Asked(Question),
    /// A person has answered
    Answered {
        /// The answer
        answer: StepAnswer,
        /// The id of the caller who answered
        by: Option<Arc<str>>,
    },
    /// The host has continued the run by itself after a restart. It belongs to no step
    Resumed,
    /// A drive has started of a run whose time is limited. It belongs to no step, whose id is empty
    DriveStarted,
    /// A drive has ended, of a run whose time is limited, that was resumed, failed as a whole or was interrupted. It
    /// belongs to no step
    DriveEnded {
        /// Why the run as a whole failed, or was interrupted
        error: Option<StepError>,
    },
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Whether the call may run
    Approval(Box<Approval>),
    /// Whether a call ran that was interrupted and may not be repeated
    Uncertain,
    /// The questions are those of calls within the call. It is not recorded
    Within,
}

/// The answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepAnswer {
    /// Run the call; for an uncertain one: it did not run, or may run again
    Approve,
    /// Do not run the call; the step fails with the reason
    Reject(String),
    /// The call ran, and this is its output
    Output(Arc<Json>),
}

impl Entry {
    /// Creates an entry.
    pub fn new(
        step: impl Into<String>,
        item: Option<usize>,
        time_ms: u64,
        event: EntryEvent,
    ) -> Entry {
        Entry { step: step.into(), item, time_ms, event }
    }
}

impl Question {
    /// Returns the reason, for the person.
    pub fn reason(&self) -> &str {
        match self {
            Question::Approval(approval) => &approval.reason,
            Question::Uncertain => {
                "The call was interrupted, and it is unknown whether it had its effect. Approve it to run it \
                 again, reject it, or give its output."
            }
            Question::Within => "A call within the call waits for a person.",
        }
    }
}

impl StepAnswer {
    /// Returns the answer for a call that asked for approval, if it is one.
    pub(crate) fn to_answer(&self) -> Option<Answer> {
        match self {
            StepAnswer::Approve => Some(Answer::Approve),
            StepAnswer::Reject(reason) => Some(Answer::Reject(reason.clone())),
            StepAnswer::Output(_) => None,
        }
    }

    /// Returns the JSON form: `{"answer": "approve"}`, `{"answer": "reject", "reason"}` or `{"answer": "output",
    /// "output"}`.
    pub fn to_json(&self) -> Json {
        match self {
            StepAnswer::Approve => object! {"answer": "approve"},
            StepAnswer::Reject(reason) => object! {"answer": "reject", "reason": reason.as_str()},
            StepAnswer::Output(output) => {
                object! {"answer": "output", "output": (**output).clone()}
            }
        }
        .into()
    }

    /// Parses the JSON form.
    pub fn from_json(document: &Json) -> Result<StepAnswer, DocumentError> {
        let fields = ObjectReader::of(document)?;
        match fields.text("answer")? {
            "approve" => Ok(StepAnswer::Approve),
            "reject" => {
                let reason = fields.optional_text("reason")?.unwrap_or_default();
                Ok(StepAnswer::Reject(reason.to_owned()))
            }
            "output" => {
                let output = fields.required("output", |value| Ok(value.clone()))?;
                Ok(StepAnswer::Output(Arc::new(output)))
            }
            _ => Err(DocumentError::new("\"approve\", \"reject\" or \"output\"").within("answer")),
        }
    }
}

/// Which runs to list, the newest first.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Only those of a tenant
    pub tenant: Option<Arc<str>>,
    /// Only those in a state
    pub status: Option<RunStatus>,
    /// Only those that started before this time, in milliseconds since 1970
    pub before_ms: Option<u64>,
    /// Of those that started at this time, also those with a smaller id
    pub before_id: Option<Arc<str>>,
    /// Maximum number
    pub limit: Option<usize>,
}

/// The journal could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanJournalError {
    /// The run does not exist
    #[error("there is no run '{0}'")]
    UnknownRun(String),
    /// The run exists already
    #[error("the run '{0}' exists already")]
    Exists(String),
    /// Another engine makes the calls of the run
    #[error("the run '{0}' is in progress elsewhere")]
    InProgress(String),
    /// The quota of the tenant is used up by runs that have not ended
    #[error(
        "the tenant has {} runs or {} bytes of runs that have not ended, and may have no more",
        .0.runs, .0.bytes
    )]
    Full(RunQuota),
    /// Reading or writing failed
    #[error("the journal of plans: {0}")]
    Failed(String),
}

#[cfg(feature = "sqlite")]
impl From<toolwright_runtime::store::StoreError> for PlanJournalError {
    fn from(error: toolwright_runtime::store::StoreError) -> PlanJournalError {
        PlanJournalError::Failed(error.to_string())
    }
}

/// A read or write of a journal that is in progress.
pub type PlanJournalFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, PlanJournalError>> + Send + 'a>>;

/// The right to make the calls of a run, until it is dropped or the process ends.
pub trait RunClaim: Send + Sync {}

/// Stores runs of plans. What is written is durable when the future is ready.
pub trait PlanJournal: Send + Sync + 'static {
    /// Records a new run, with entries that it takes over from another one. With a quota, the oldest ended runs of the
    /// tenant are removed as far as the new one needs it. All or nothing: a run that exists already, or does not fit,
    /// removes none.
    fn create<'a>(
        &'a self,
        run: &'a RunRecord,
        entries: Vec<Entry>,
        quota: Option<RunQuota>,
    ) -> PlanJournalFuture<'a, ()>;

    /// Claims a run, so that no other engine makes its calls.
    fn claim<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, Box<dyn RunClaim>>;

    /// Appends an entry to a run.
    fn append<'a>(&'a self, run: &'a str, entry: Entry) -> PlanJournalFuture<'a, ()>;

    /// Records the state of a run, and when it ended.
    fn set_status<'a>(
        &'a self,
        run: &'a str,
        status: RunStatus,
        ended_ms: Option<u64>,
    ) -> PlanJournalFuture<'a, ()>;

    /// Returns a run with its entries, in order.
    fn load<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, (RunRecord, Vec<Entry>)>;

    /// Returns how much memory a run takes while it is loaded, about.
    fn weight<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, usize>;

    /// Returns a run as a list has it, also if its record is damaged.
    fn summary<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, RunSummary>;

    /// Returns runs, the newest first, also those whose record is damaged.
    fn list<'a>(&'a self, filter: &'a RunFilter) -> PlanJournalFuture<'a, Vec<RunSummary>>;

    /// Removes a run with its entries.
    fn delete<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, ()>;

    /// Removes runs that ended before a time, in milliseconds since 1970. Returns how many. A run that has not ended
    /// stays.
    fn prune(&self, ended_before_ms: u64) -> PlanJournalFuture<'_, usize>;
}

/// How many runs a tenant may have. Ended runs are removed for new ones; others stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQuota {
    /// Maximum number of runs
    pub runs: usize,
    /// Maximum number of stored bytes of all runs
    pub bytes: usize,
}
