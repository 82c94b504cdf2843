//! The runs of a server, by its visibility API.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use temporalio_client::{WorkflowExecution, WorkflowExecutionStatus, WorkflowListOptions};
use tokio::time::timeout;
use toolwright_runtime::session::Caller;

use super::TemporalEngine;
use super::state::millis;
use crate::run::journal::{RunFilter, RunSummary};
use crate::run::{Engine, PlanRunError, RunStatus};

/// How long the worker of a run may take to describe it.
const ANSWER: Duration = Duration::from_secs(3);

impl TemporalEngine {
    /// Returns runs of the server, the newest first. Of the filter, the state and the limit count. If no worker answers
    /// for a run, it has no name, and it counts as running also if it waits for a person.
    pub async fn list(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, PlanRunError> {
        let states = match filter.status {
            None => "!= 'ContinuedAsNew'",
            Some(RunStatus::Interrupted) => return Ok(Vec::new()),
            Some(RunStatus::Running | RunStatus::Waiting) => "= 'Running'",
            Some(RunStatus::Succeeded) => "= 'Completed'",
            Some(RunStatus::Failed) => "IN ('Failed', 'Terminated', 'TimedOut')",
            Some(RunStatus::Cancelled) => "= 'Canceled'",
        };
        let query = format!("WorkflowType = 'toolwright_plan' AND ExecutionStatus {states}");
        let options = WorkflowListOptions::builder().maybe_limit(filter.limit).build();
        let listed = self.client().await?.list_workflows(query, options).try_collect().await;
        let listed: Vec<WorkflowExecution> =
            listed.map_err(|error| PlanRunError::Engine(format!("Temporal: {error}")))?;
        let mut runs = join_all(listed.iter().map(|run| self.summary(run))).await;
        runs.retain(|run| filter.status.is_none_or(|status| run.status == status));
        runs.sort_by_key(|run| Reverse(run.created_ms));
        Ok(runs)
    }

    async fn summary(&self, listed: &WorkflowExecution) -> RunSummary {
        if let Ok(Ok(report)) = timeout(ANSWER, self.report(listed.id())).await {
            return RunSummary::from(&report.run);
        }
        let status = match listed.status() {
            WorkflowExecutionStatus::Completed => RunStatus::Succeeded,
            WorkflowExecutionStatus::Canceled => RunStatus::Cancelled,
            WorkflowExecutionStatus::Running => RunStatus::Running,
            _ => RunStatus::Failed,
        };
        let ms = |time: SystemTime| millis(time.duration_since(UNIX_EPOCH).unwrap_or_default());
        RunSummary {
            id: listed.id().into(),
            caller: Caller::default(),
            name: None,
            steps: 0,
            status,
            created_ms: listed.start_time().map(ms).unwrap_or_default(),
            ended_ms: listed.close_time().map(ms),
            parent: None,
            resumes: false,
        }
    }
}
