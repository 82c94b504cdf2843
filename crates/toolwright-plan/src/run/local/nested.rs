//! A plan as the body of a tool: the calls of its steps are calls within the call of the tool.
//!
//! Each call is allowed or denied, and written to the ledger, as a call that a tool makes. If the tool is called by the
//! step of a run, its calls are recorded in the journal of the run: a run that is continued repeats none of them, and
//! one that needs a person makes the step wait. Otherwise, also if the step calls a tool that calls this one, effects
//! are recorded in the journal of the toolbox, a repeated call of the tool finds the outcomes of its steps there, and a
//! call that needs a person is refused.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;
use toolwright_core::Tool;
use toolwright_json::Object;
use toolwright_runtime::error::{CallErrorKind, ToolError};
use toolwright_runtime::handler::Handler;
use toolwright_runtime::output::Output;
use toolwright_runtime::session::Scope;
use toolwright_runtime::settings::Effect;
use toolwright_runtime::toolbox::Toolbox;

use crate::plan::{Graph, Interpreter, MAX_STEPS, Plan, StepResult, check};

use super::host::LocalHost;
use super::{PARALLEL, RunningCalls};
use crate::run::call::{self, CallScope};
use crate::run::drive::{DriveEnd, Driver};
use crate::run::journal::{PlanJournalError, RunStatus};
use crate::run::memory::Reservation;
use crate::run::replay::Replay;
use crate::run::scope::{RunScope, is_step};
use crate::run::start::{blocking, now_ms};
use crate::run::threads::PlanThreads;
use crate::run::tools::plan_tools;

/// Creates a tool that runs a plan with the tools of a toolbox: its arguments are the inputs of the plan, its output
/// are the outputs. The time limit of the plan is its deadline.
///
/// What its steps do is recorded, so that a call that was interrupted is continued when it is repeated: in the journal
/// of the run if a step of a plan calls it, else in that of the toolbox.
pub fn plan_tool(tool: Tool, plan: Arc<Plan>, toolbox: Toolbox) -> Handler {
    plan_tool_with(tool, plan, None, move |_| std::future::ready(toolbox.clone()))
}

/// Creates a tool that runs a plan with tools that depend on the call, on threads of its own if they are given: large
/// values must not keep the threads of connections.
pub fn plan_tool_with<F: Future<Output = Toolbox> + Send + 'static>(
    tool: Tool,
    plan: Arc<Plan>,
    threads: Option<PlanThreads>,
    tools: impl Fn(Scope) -> F + Send + Sync + 'static,
) -> Handler {
    let deadline = plan.limits.time_ms.map(Duration::from_millis);
    let tools = Arc::new(tools);
    let handler = Handler::new(tool, move |scope, inputs| {
        let (plan, tools) = (Arc::clone(&plan), Arc::clone(&tools));
        let threads = threads.clone();
        let work = async move {
            let toolbox = tools(scope.clone()).await;
            Ok(Output::json(run(&scope, &toolbox, &plan, inputs).await?))
        };
        async move {
            let Some(threads) = threads else { return work.await };
            let ended = AbortOnDropHandle::new(threads.spawn(work)).await;
            ended.unwrap_or_else(|error| Err(ToolError::new(error.to_string())))
        }
    });
    // Its steps may use slots and tokens of the request.
    let handler = handler.with_effect(Effect::Keyed).without_cache();
    match deadline {
        Some(deadline) => handler.with_deadline(deadline),
        None => handler,
    }
}

/// Runs a plan with tools of a toolbox, within the call of a scope, and returns its outputs. A step that fails, and may
/// not, fails the call after the steps that do not depend on it.
fn run<'a>(
    scope: &'a Scope,
    toolbox: &'a Toolbox,
    plan: &'a Arc<Plan>,
    inputs: Object,
) -> BoxFuture<'a, Result<Object, ToolError>> {
    Box::pin(async move {
        let tools = plan_tools(toolbox, plan.tool_names()).await;
        let checked = Arc::clone(plan);
        let graph = blocking(move || match check(&checked, &tools, MAX_STEPS).errors.first() {
            Some(error) => Err(format!("The plan cannot run: {error}")),
            None => Ok(Graph::new(&checked, &tools)),
        });
        let graph = graph.await.unwrap_or_else(|error| Err(error.to_string()));
        let graph = graph.map_err(|text| ToolError::new(text).with_kind("PlanError"))?;
        let step_tools = call::step_tools(toolbox, plan).await?;
        // A tool between the step and this call may not be repeated for the sake of an answer. Without the run, the keys of
        // the steps are those of ordinary calls, so that the journal of the toolbox records their effects, at every depth.
        let run = if is_step(scope) { RunScope::of(&scope.session).await } else { None };
        let (mut entries, mut messages, mut _guard) = (Vec::new(), None, None);
        if let Some(run) = &run {
            let entered = run.enter(&scope.call_id);
            (messages, _guard) = (Some(entered.0), Some(entered.1));
            let loaded = run.entries(&scope.call_id).await;
            entries = loaded.map_err(|why| unrecorded(&why))?;
        }
        let (graph, inputs) = (Arc::new(graph), Arc::new(inputs.into()));
        let interpreter = Interpreter::new(Arc::clone(plan), graph, inputs);
        let mut replay = Replay::new(now_ms(), entries, interpreter);
        if scope.is_retry() {
            replay.forget_failures();
        }
        let mut outer = scope.clone();
        outer.cancel = scope.cancel.child_token();
        let host = LocalHost {
            plan: Arc::clone(plan),
            tools: step_tools,
            calls: CallScope {
                toolbox: toolbox.clone(),
                session: scope.session.clone(),
                outer: Some(outer),
                run: run.clone(),
                stop: run.as_ref().map(|run| run.stop.clone()).unwrap_or_default(),
                emit: Box::new(|_| ()),
                attempts: AtomicU64::new(0),
                max_attempts: plan.limits.calls.unwrap_or(u64::MAX),
            },
            messages: messages.map(Mutex::new),
            running: RunningCalls::default(),
            memory: Arc::new(Reservation::of(&scope.session.context).await),
        };
        let mut driver = Driver::new(&host, replay, PARALLEL);
        let (status, outputs, error) = match driver.run().await {
            DriveEnd::Ended { status, outputs, error } => (status, outputs, error),
            DriveEnd::Waiting | DriveEnd::Stopped => {
                if let Some(run) = &run {
                    run.wait_within(&scope.call_id);
                }
                return Err(error_of(
                    CallErrorKind::Waiting,
                    "A call within it waits for a person.",
                ));
            }
            DriveEnd::Unrecorded(why) => return Err(unrecorded(&why)),
        };
        let failed =
            (0..plan.steps.len()).find_map(|at| match driver.replay.interpreter.result(at)? {
                StepResult::Failed { error, continued: false } => Some((&plan.steps[at].id, error)),
                _ => None,
            });
        match (failed, error) {
            (Some((step, error)), _) => {
                let text = format!("The step '{step}' failed: {}", error.message);
                let mut failed = ToolError::new(text).with_kind(error.kind.clone());
                let call_kind = CallErrorKind::from_name(&error.kind);
                let call_kind = call_kind.filter(|kind| {
                    matches!(kind, CallErrorKind::RateLimited | CallErrorKind::Uncertain)
                });
                // A repeated call goes on where this one ended.
                failed.retryable = call_kind == Some(CallErrorKind::RateLimited);
                Err(match call_kind {
                    Some(kind) => failed.with_call_kind(kind),
                    None => failed,
                })
            }
            (None, Some(error)) => {
                let text = format!("The plan failed: {}", error.message);
                Err(ToolError::new(text).with_kind(error.kind))
            }
            _ if status == RunStatus::Cancelled => {
                Err(error_of(CallErrorKind::Cancelled, "The call was cancelled."))
            }
            _ => Ok(outputs),
        }
    })
}

fn unrecorded(why: &PlanJournalError) -> ToolError {
    error_of(CallErrorKind::Unrecorded, &why.to_string()).retryable()
}

/// The error of a call that did not fail by itself.
fn error_of(kind: CallErrorKind, message: &str) -> ToolError {
    ToolError::new(message).with_kind(kind.as_str()).with_call_kind(kind)
}
