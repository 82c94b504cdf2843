//! The states of steps in a run, and how they end.

use std::fmt;
use std::sync::Arc;

use toolwright_json::object;
use toolwright_json::{Json, Object};

toolwright_json::words! {
    /// The state of a step.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    #[non_exhaustive]
    pub enum StepState: as_str, parse {
        /// It has not started
        #[default]
        Pending = "pending",
        /// A call is in progress
        Running = "running",
        /// It waits for approval
        Waiting = "waiting",
        /// Its output is known
        Succeeded = "succeeded",
        /// Its call failed, after all retries
        Failed = "failed",
        /// Its condition does not hold, a value that it takes comes from a skipped step, or its call failed and
        /// `on_error` is `skip`
        Skipped = "skipped",
        /// It did not run, because a step that it depends on failed
        Blocked = "blocked",
        /// The run was cancelled before the step ended
        Cancelled = "cancelled",
    }
}

/// The state of a step, with its times and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepStatus {
    /// The state
    pub state: StepState,
    /// When the first call started, in milliseconds; all steps of a run count from the same moment
    pub started_ms: Option<u64>,
    /// When the step ended, in milliseconds, counted likewise
    pub ended_ms: Option<u64>,
    /// The number of attempts of the step's call, or of the calls of all items of `each`
    pub attempts: u32,
    /// The items of `each`: how many ended, and how many there are
    pub items: Option<(u64, u64)>,
}

impl StepState {
    /// Whether the step has ended, so that its state does not change any more.
    pub fn is_final(self) -> bool {
        !matches!(self, StepState::Pending | StepState::Running | StepState::Waiting)
    }
}

impl StepStatus {
    /// Creates a status without times and counts.
    pub fn new(state: StepState) -> StepStatus {
        StepStatus { state, ..StepStatus::default() }
    }

    /// Returns the time from the start to the end, in milliseconds.
    pub fn duration_ms(&self) -> Option<u64> {
        Some(self.ended_ms?.saturating_sub(self.started_ms?))
    }

    /// Returns the JSON form: `{state, started_ms, ended_ms, attempts, items: {done, total}}`.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"state": self.state.as_str()};
        out.insert_some("started_ms", self.started_ms);
        out.insert_some("ended_ms", self.ended_ms);
        out.insert("attempts", self.attempts);
        out.insert_some(
            "items",
            self.items.map(|(done, total)| object! {"done": done, "total": total}),
        );
        out
    }

    /// Parses the JSON form.
    pub fn parse(value: &Json) -> Option<StepStatus> {
        let fields = value.as_object()?;
        let count = |fields: &Object, name: &str| fields.get(name).and_then(Json::as_u64);
        let items = fields.get("items").and_then(Json::as_object);
        Some(StepStatus {
            state: StepState::parse(fields.get("state")?.as_str()?)?,
            started_ms: count(fields, "started_ms"),
            ended_ms: count(fields, "ended_ms"),
            attempts: count(fields, "attempts").map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            items: items.and_then(|items| Some((count(items, "done")?, count(items, "total")?))),
        })
    }
}

/// Why a call or a step failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// The kind of error in one word
    pub kind: String,
    /// The message
    pub message: String,
}

impl StepError {
    /// Creates an error.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> StepError {
        StepError { kind: kind.into(), message: message.into() }
    }

    /// Returns the JSON form: `{kind, message}`.
    pub fn to_json(&self) -> Object {
        object! {"kind": self.kind.as_str(), "message": self.message.as_str()}
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepResult {
    /// It has an output
    Succeeded(Arc<Json>),
    /// It did not run, or its failure counts as that (`"on_error": "skip"`)
    Skipped {
        /// The reason
        reason: String,
    },
    /// It failed
    Failed {
        /// The error
        error: StepError,
        /// Whether the run continues (`"on_error": "continue"`)
        continued: bool,
    },
    /// It did not run, because a step that it depends on failed
    Blocked {
        /// The position of the step that failed
        by: usize,
    },
}
