//! A plan as the body of a tool: the calls of its steps are calls within the call of the tool.
//!
//! Nothing of it is recorded as a run. Each call is journaled, allowed or denied, and written to the ledger as a call that
//! a tool makes. A repeated call of the tool finds the recorded outcomes of its steps; a retry makes those calls again that
//! failed and may be repeated.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::stream::{FuturesUnordered, StreamExt};
use toolwright_core::json::Object;
use toolwright_core::plan::{Graph, Interpreter, MAX_STEPS, Plan, StepError, StepResult, check};

use super::PARALLEL;
use crate::error::ToolError;
use crate::plan::call::{self, CallEnd, CallScope};
use crate::plan::start::blocking;
use crate::plan::tools::plan_tools;
use crate::session::Scope;
use crate::toolbox::Toolbox;

/// Runs a plan with tools of a toolbox, within the call of a scope, and returns its outputs. A step that fails, and may not,
/// fails the call after the steps that do not depend on it.
pub(crate) async fn run(
    scope: &Scope,
    toolbox: &Toolbox,
    plan: &Arc<Plan>,
    inputs: Object,
) -> Result<Object, ToolError> {
    let tools = plan_tools(toolbox, plan.tool_names()).await;
    let checked = Arc::clone(plan);
    let graph = blocking(move || match check(&checked, &tools, MAX_STEPS).errors.first() {
        Some(error) => Err(format!("The plan cannot run: {error}")),
        None => Ok(Graph::new(&checked, &tools)),
    });
    let graph = graph.await.unwrap_or_else(|error| Err(error.to_string()));
    let graph = graph.map_err(|text| ToolError::new(text).with_kind("PlanError"))?;
    let mut step_tools = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        step_tools.push(call::step_tool(toolbox, step).await?);
    }
    let (graph, inputs) = (Arc::new(graph), Arc::new(inputs.into()));
    let mut interpreter = Interpreter::new(Arc::clone(plan), graph, inputs);
    let calls = CallScope {
        toolbox: toolbox.clone(),
        session: scope.session.clone(),
        outer: Some(scope.clone()),
        emit: Box::new(|_| ()),
        calls: AtomicU64::new(0),
        max_calls: plan.limits.calls.unwrap_or(u64::MAX),
    };
    let parallel = plan.limits.parallel.map_or(PARALLEL, |own| PARALLEL.min(own as usize));
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < parallel {
            let Some(planned) = interpreter.next_call() else { break };
            if !calls.may_call() {
                let max = calls.max_calls;
                let text = format!("The plan has reached its limit of {max} calls.");
                return Err(ToolError::new(text).with_kind("PlanError"));
            }
            calls.count_call();
            let (step, tool) = (&plan.steps[planned.step], &step_tools[planned.step]);
            let calls = &calls;
            running.push(async move {
                let end = call::make(calls, step, tool, &planned, None).await;
                (planned, end)
            });
        }
        let Some((planned, end)) = running.next().await else { break };
        let result = match end {
            CallEnd::Done { result, .. } => result,
            CallEnd::Waiting(approval) => Err(StepError::new("not_allowed", approval.reason)),
            CallEnd::Cancelled => return Err(ToolError::new("The call was cancelled.")),
            CallEnd::Unrecorded(error) => return Err(ToolError::new(error.to_string()).retryable()),
        };
        match result {
            Ok(output) => interpreter.succeed(planned.step, planned.item, output),
            Err(error) => interpreter.fail(planned.step, planned.item, error),
        }
    }
    let failed = (0..plan.steps.len()).find_map(|at| match interpreter.result(at)? {
        StepResult::Failed { error, continued: false } => Some((&plan.steps[at].id, error)),
        _ => None,
    });
    match failed {
        Some((step, error)) => {
            let text = format!("The step '{step}' failed: {}", error.message);
            Err(ToolError::new(text).with_kind(error.kind.clone()))
        }
        None => interpreter.outputs().map_err(|error| {
            let text = format!("The outputs of the plan: {}", error.message);
            ToolError::new(text).with_kind(error.kind)
        }),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::Instant;
    use toolwright_core::Json;

    use super::*;
    use crate::session::Session;

    #[test]
    fn a_plan_is_checked_on_another_thread() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let plan = Json::parse(r#"{"plan":"1","steps":{"a":{"tool":"absent"}}}"#).unwrap();
            let plan = Arc::new(Plan::parse(&plan).unwrap());
            let scope = Scope::new(Session::new("run"), "t", "c1", "key", Instant::now());
            let toolbox = Toolbox::default();
            let run = || run(&scope, &toolbox, &plan, Object::new());
            // The only thread for it is busy.
            let (free, busy) = std::sync::mpsc::channel::<()>();
            let thread = tokio::task::spawn_blocking(move || busy.recv());
            assert!(run().now_or_never().is_none());
            drop(free);
            assert!(thread.await.unwrap().is_err());
            let error = run().await.unwrap_err();
            assert!(error.message.starts_with("The plan cannot run: "), "{error:?}");
        });
    }
}
