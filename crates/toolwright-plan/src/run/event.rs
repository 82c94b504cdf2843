//! What happens in a run, for those who watch it.

use std::sync::Arc;

use toolwright_core::object;
use toolwright_json::Object;

use crate::plan::{StepError, StepState};

use super::journal::RunStatus;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanEvent {
    /// The run
    pub run: Arc<str>,
    /// When it happened, in milliseconds since 1970
    pub time_ms: u64,
    /// What happened
    pub kind: PlanEventKind,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanEventKind {
    /// An attempt at a call has started
    CallStarted {
        /// The id of the step
        step: String,
        /// The item of its `each`
        item: Option<usize>,
        /// The number of the attempt, from 1
        attempt: u32,
    },
    /// A call has ended, after its retries
    CallEnded {
        /// The id of the step
        step: String,
        /// The item of its `each`
        item: Option<usize>,
        /// How long it took, in milliseconds
        duration_ms: u64,
        /// The error, if it failed
        error: Option<StepError>,
    },
    /// A call waits for a person
    Asked {
        /// The id of the step
        step: String,
        /// The item of its `each`
        item: Option<usize>,
        /// The reason
        reason: String,
    },
    /// A step has ended
    StepEnded {
        /// The id of the step
        step: String,
        /// How
        state: StepState,
        /// Why, unless it succeeded
        reason: Option<String>,
    },
    /// The run has ended, or waits for a person
    RunEnded {
        /// How
        status: RunStatus,
    },
}

/// Receives the events of a run. It must not block.
pub type Observer = Arc<dyn Fn(&PlanEvent) + Send + Sync>;

impl PlanEvent {
    /// Returns the name of the event.
    pub fn name(&self) -> &'static str {
        match self.kind {
            PlanEventKind::CallStarted { .. } => "call_started",
            PlanEventKind::CallEnded { .. } => "call_ended",
            PlanEventKind::Asked { .. } => "asked",
            PlanEventKind::StepEnded { .. } => "step_ended",
            PlanEventKind::RunEnded { .. } => "run_ended",
        }
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"event": self.name(), "run": &*self.run, "time_ms": self.time_ms};
        let call = |out: &mut Object, step: &str, item: Option<usize>| {
            out.insert("step", step);
            out.insert_some("item", item);
        };
        match &self.kind {
            PlanEventKind::CallStarted { step, item, attempt } => {
                call(&mut out, step, *item);
                out.insert("attempt", *attempt);
            }
            PlanEventKind::CallEnded { step, item, duration_ms, error } => {
                call(&mut out, step, *item);
                out.insert("duration_ms", *duration_ms);
                out.insert_some("error", error.as_ref().map(StepError::to_json));
            }
            PlanEventKind::Asked { step, item, reason } => {
                call(&mut out, step, *item);
                out.insert("reason", reason.as_str());
            }
            PlanEventKind::StepEnded { step, state, reason } => {
                out.insert("step", step.as_str());
                out.insert("state", state.as_str());
                out.insert_some("reason", reason.as_deref());
            }
            PlanEventKind::RunEnded { status } => out.insert("status", status.as_str()),
        }
        out
    }
}
