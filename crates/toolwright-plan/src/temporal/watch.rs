//! The events of a run, from what a workflow tells when it is asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::plan::{StepError, StepState};

use super::engine::Loaded;
use crate::run::journal::{Entry, EntryEvent};
use crate::run::{Observer, PlanEvent, PlanEventKind, RunReport, RunStatus};

/// What an observer was told already.
pub(super) struct Watch {
    run: Arc<str>,
    observer: Option<Observer>,
    entries: usize,
    settled: BTreeSet<usize>,
}

impl Watch {
    /// Begins to watch a run. What was before the last answer of a person is not told.
    pub(super) fn new(run: &str, observer: Option<Observer>, entries: &[Entry]) -> Watch {
        let is_answer = |entry: &Entry| matches!(entry.event, EntryEvent::Answered { .. });
        let entries = entries.iter().rposition(is_answer).map_or(0, |at| at + 1);
        Watch { run: run.into(), observer, entries, settled: BTreeSet::new() }
    }

    /// Tells the observer what has happened since the last look.
    pub(super) fn look(&mut self, loaded: &Loaded) {
        let Some(observer) = self.observer.clone() else { return };
        let state = &loaded.state;
        let emit = |time_ms, kind| observer(&PlanEvent { run: self.run.clone(), time_ms, kind });
        let mut asked = Vec::new();
        for entry in state.entries.iter().skip(self.entries) {
            let (step, item, time_ms) = (entry.step.clone(), entry.item, entry.time_ms);
            let (started_ms, error): (u64, Option<StepError>) = match &entry.event {
                EntryEvent::Succeeded { started_ms, .. } => (*started_ms, None),
                EntryEvent::Failed { started_ms, error, .. } => (*started_ms, Some(error.clone())),
                EntryEvent::Asked(question) => {
                    let reason = question.reason().to_owned();
                    asked.push((time_ms, PlanEventKind::Asked { step, item, reason }));
                    continue;
                }
                _ => continue,
            };
            let attempt = 1;
            emit(started_ms, PlanEventKind::CallStarted { step: step.clone(), item, attempt });
            let duration_ms = time_ms.saturating_sub(started_ms);
            emit(time_ms, PlanEventKind::CallEnded { step, item, duration_ms, error });
        }
        let time_ms = state.entries.last().map_or(state.record.created_ms, |entry| entry.time_ms);
        // Without new entries no step can have ended, except for those that make no calls.
        if state.entries.len() > self.entries || self.settled.is_empty() {
            let mut replay = state.replay();
            while replay.next().is_some() {}
            let report =
                RunReport::new(state.record.clone(), &replay, Vec::new(), None, None, None);
            for (at, step) in report.steps.into_iter().enumerate() {
                let state = step.status.state;
                let is_open =
                    matches!(state, StepState::Pending | StepState::Running | StepState::Waiting);
                if is_open || !self.settled.insert(at) {
                    continue;
                }
                let (step, reason) = (step.id, step.reason);
                emit(time_ms, PlanEventKind::StepEnded { step, state, reason });
            }
        }
        for (time_ms, question) in asked {
            emit(time_ms, question);
        }
        self.entries = state.entries.len();
        if state.record.status != RunStatus::Running {
            emit(time_ms, PlanEventKind::RunEnded { status: state.record.status });
        }
    }
}
