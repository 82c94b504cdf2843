//! Runs that were in progress when the gateway stopped: they go on after a start, or say why they do not.

use futures_util::{StreamExt, stream};
use toolwright_core::Fault;
use toolwright_plan::RunStatus;
use toolwright_plan::journal::{RunFilter, RunSummary};
use toolwright_runtime::Toolbox;

use super::{Asker, KEY_REMOVED, PlanState, refusal};
use crate::plans::config::Resume;

/// Number of runs that are continued at the same time.
const AT_ONCE: usize = 8;

/// Why runs are not continued with `resume = "ask"`.
const RESTARTED: &str = "the gateway was restarted; resume the run to continue it";

/// Continues the runs that were in progress, with the permissions that their keys have now.
pub async fn resume(state: impl Fn() -> PlanState) {
    if !state().plans.has_runs() {
        return;
    }
    let runs = match interrupted(&state()).await {
        Ok(runs) => runs,
        Err(fault) => return tracing::warn!("runs of plans are not continued: {}", fault.message),
    };
    let resumed = stream::iter(runs).for_each_concurrent(AT_ONCE, |run| async {
        let id = run.id.clone();
        match resume_run(&state(), run).await {
            Ok(None) => {}
            Ok(Some(reason)) => tracing::warn!("the run {id} of a plan is interrupted: {reason}"),
            Err(fault) => tracing::warn!("the run {id} is not continued: {}", fault.message),
        }
    });
    resumed.await;
}

/// Returns the runs that were in progress, the oldest first.
async fn interrupted(state: &PlanState) -> Result<Vec<RunSummary>, Fault> {
    let engine = state.plans.engine(Toolbox::default()).await?;
    let filter = RunFilter { status: Some(RunStatus::Interrupted), ..RunFilter::default() };
    let runs = engine.journal().list(&filter).await;
    let mut runs = runs.map_err(refusal)?;
    runs.retain(|run| run.resumes);
    runs.reverse();
    Ok(runs)
}

/// Continues a run until it ends or waits for a person. Returns why it does not go on, if that needs a person.
async fn resume_run(state: &PlanState, run: RunSummary) -> Result<Option<String>, Fault> {
    let client = state.keys.of_caller(&run.caller);
    let refused = match &client {
        None => Some(KEY_REMOVED),
        Some(_) => (state.plans.settings().resume == Resume::Ask).then_some(RESTARTED),
    };
    let engine = match client {
        Some(client) => Asker { client, state: state.clone(), may_approve: false }.engine().await?,
        None => state.plans.engine(Toolbox::default()).await?,
    };
    let id = run.id.clone();
    let driven = state.plans.spawn(&run.id, |observer| async move {
        engine.resume(&id, refused, Some(observer)).await
    });
    match driven.await {
        Ok(driven) => Ok(driven.map_err(refusal)?.err()),
        Err(error) => Ok(Some(error.to_string())),
    }
}
