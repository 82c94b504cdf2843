//! One call of a run, on any engine: the tool with the settings of its step, arguments by handle, attempts, the
//! complete output.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolwright_core::{Arguments, Call, Json};
use toolwright_json::{MAX_DEPTH, Object};
use toolwright_runtime::call::{CallResult, CallStatus};
use toolwright_runtime::error::{CallError, CallErrorKind};
use toolwright_runtime::handle::{Handle, HandleId};
use toolwright_runtime::output::Content;
use toolwright_runtime::session::{Scope, Session};
use toolwright_runtime::settings::{Effect, Retry, Settings};
use toolwright_runtime::toolbox::{StepCall, StepTool, Toolbox};

use crate::plan::{Plan, PlannedCall, Step, StepError};

use super::drive::Answered;
use super::event::PlanEventKind;
use super::journal::{PlanJournalError, Question, StepAnswer};
use super::output::step_output;
use super::rate::count_call;
use super::scope::{RunScope, call_id, join, step_key};
use super::start::now_ms;

/// What the calls of a plan share.
pub(crate) struct CallScope {
    pub(crate) toolbox: Toolbox,
    pub(crate) session: Session,
    /// The call of a tool that is a plan, if the calls of the steps are within it
    pub(crate) outer: Option<Scope>,
    /// The run, if the calls are recorded in its journal
    pub(crate) run: Option<Arc<RunScope>>,
    /// Cancelled when no further call may start
    pub(crate) stop: CancellationToken,
    pub(crate) emit: Box<dyn Fn(PlanEventKind) + Send + Sync>,
    /// Number of attempts of the plan
    pub(crate) attempts: AtomicU64,
    pub(crate) max_attempts: u64,
}

impl CallScope {
    /// Returns the path of the call whose plan this is; empty for the run itself.
    pub(crate) fn path(&self) -> &str {
        self.outer.as_ref().map_or("", |outer| &outer.call_id)
    }

    /// Whether another attempt is within the limit of the plan.
    fn may_repeat(&self) -> bool {
        self.attempts.load(Ordering::Relaxed) < self.max_attempts
    }

    /// Returns what cancels the calls.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        self.outer.as_ref().map_or(&self.session.cancel, |outer| &outer.cancel)
    }
}

/// How a call ended.
pub(crate) enum CallEnd {
    /// It has a result. The start is that of the first attempt, if the host knows it better than the driver
    Done { result: Result<Json, StepError>, started_ms: Option<u64>, ended_ms: u64, attempts: u32 },
    /// It waits for a person
    Waiting(Question),
    /// It waited for a person because of a call within it, and there is an answer
    AnsweredWithin,
    /// The run was cancelled, or stopped before the call started
    Cancelled,
    /// The journal failed
    Unrecorded(PlanJournalError),
}

/// Returns the tool of a step, with the step's settings.
pub(crate) async fn step_tool(toolbox: &Toolbox, step: &Step) -> Result<StepTool, CallError> {
    let change = |settings: &mut Settings| {
        if let Some(timeout_ms) = step.timeout_ms {
            settings.deadline = Duration::from_millis(timeout_ms);
        }
        // The output goes to other steps, so nothing is cut for a model.
        settings.budget = usize::MAX;
        settings.effect = effect(step, settings.effect);
        if step.retry.is_some() {
            settings.retry = None;
        }
    };
    toolbox.step_tool(&step.tool, change).await
}

/// Returns the effect of a step's calls: that of the tool, unless the plan says otherwise.
pub(crate) fn effect(step: &Step, of_tool: Effect) -> Effect {
    match (step.idempotent, of_tool) {
        (Some(false), _) => Effect::Once,
        (Some(true), Effect::Once) => Effect::Keyed,
        (_, effect) => effect,
    }
}

/// Returns the tools of the steps of a plan, in order.
pub(crate) async fn step_tools(toolbox: &Toolbox, plan: &Plan) -> Result<Vec<StepTool>, CallError> {
    let mut tools = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        tools.push(step_tool(toolbox, step).await?);
    }
    Ok(tools)
}

/// Makes a call until it succeeds, may not be repeated, or has no retries left.
pub(crate) async fn make(
    scope: &CallScope,
    step: &Step,
    tool: &StepTool,
    call: &PlannedCall,
    answered: Answered,
) -> CallEnd {
    let id = call_id(&step.id, call.item);
    let answered = match answered {
        Some((Question::Approval(approval), answer)) => {
            answer.to_answer().map(|answer| (approval, answer))
        }
        Some((Question::Uncertain, StepAnswer::Reject(reason))) => {
            let reason = if reason.is_empty() { "a person rejected it".to_owned() } else { reason };
            let error = StepError::new(CallErrorKind::Rejected.as_str(), reason);
            return done(Err(error), 0);
        }
        _ => None,
    };
    let is_in_run = scope.run.is_some();
    let key = match &scope.outer {
        Some(outer) => step_key(&[&outer.key, &id], is_in_run),
        None => step_key(&[&scope.session.caller.tenant, &scope.session.run, &id], is_in_run),
    };
    let path = join(scope.path(), &id);
    let records_intent =
        |run: &&Arc<RunScope>| !tool.may_repeat() && (scope.outer.is_some() || !run.knows_starts);
    if let Some(run) = scope.run.as_ref().filter(records_intent) {
        run.expect_intent(&key, join(scope.path(), &step.id), call.item);
    }
    let arguments = match by_handle(scope, call, &id).await {
        Ok(arguments) => Arguments::from_json(&arguments.into()),
        Err(error) => return done(Err(error), 0),
    };
    let written = Call::new(id, step.tool.as_str(), arguments);
    let retries = step.retry.map_or(0, |retry| retry.max);
    let mut attempts = 0;
    loop {
        attempts += 1;
        if attempts > 1 {
            scope.attempts.fetch_add(1, Ordering::Relaxed);
        }
        let counted = tokio::select! {
            counted = count_call(&scope.session, scope.outer.as_ref()) => counted,
            () = scope.cancel().cancelled() => return CallEnd::Cancelled,
            () = scope.stop.cancelled() => return CallEnd::Cancelled,
        };
        if let Err(error) = counted {
            return done(Err(error), attempts - 1);
        }
        let (step_id, item) = (step.id.clone(), call.item);
        (scope.emit)(PlanEventKind::CallStarted { step: step_id, item, attempt: attempts });
        let answered = answered.as_ref().map(|(approval, answer)| (&**approval, answer));
        let is_retry = attempts > 1;
        let made = StepCall { tool, call: &written, key: &key, answered, is_retry };
        let status = match &scope.outer {
            None => Ok(scope.toolbox.call_step(&scope.session, made).await),
            Some(outer) => outer.call_step(made, scope.run.is_some()).await,
        };
        let result = match status {
            Ok(CallStatus::Done(result)) => result,
            Ok(CallStatus::Waiting(approval)) => {
                return CallEnd::Waiting(Question::Approval(Box::new(approval)));
            }
            Err(error) => return done(Err((&error).into()), attempts),
        };
        match scope.run.as_ref().and_then(|run| run.waits_within(&path)) {
            Some(true) => return CallEnd::AnsweredWithin,
            Some(false) => return CallEnd::Waiting(Question::Within),
            None => {}
        }
        let Some(error) = &result.error else {
            let output = output(&result, tool);
            return done(output, attempts);
        };
        if error.kind == CallErrorKind::Cancelled && scope.cancel().is_cancelled() {
            return CallEnd::Cancelled;
        }
        if error.kind == CallErrorKind::Unrecorded {
            // Nothing was done, so this is no result of the call: the run can be continued later.
            return CallEnd::Unrecorded(PlanJournalError::Failed(error.text.clone()));
        }
        if attempts > retries || !scope.may_repeat() || !may_repeat(error, tool.may_repeat()) {
            return done(Err(error.into()), attempts);
        }
        let retry = step.retry.and_then(|retry| retry.backoff_ms);
        let mut pause = Retry::new(retries);
        if let Some(backoff_ms) = retry {
            pause.backoff = Duration::from_millis(backoff_ms);
            pause.ceiling = pause.ceiling.max(pause.backoff);
        }
        tokio::select! {
            () = tokio::time::sleep(pause.wait(attempts)) => {}
            () = scope.cancel().cancelled() => return CallEnd::Cancelled,
        }
    }
}

/// Whether a failed call may be repeated: it had no effect, or it may have its effect again.
fn may_repeat(error: &CallError, is_idempotent: bool) -> bool {
    use CallErrorKind::{Busy, Failed, Panicked, TimedOut, Unavailable};
    error.retryable
        || is_idempotent && matches!(error.kind, Busy | Failed | Panicked | TimedOut | Unavailable)
}

impl From<&CallError> for StepError {
    fn from(error: &CallError) -> StepError {
        StepError::new(error.error_type(), error.text.as_str())
    }
}

/// The end of a call that has its result now.
pub(crate) fn done(result: Result<Json, StepError>, attempts: u32) -> CallEnd {
    CallEnd::Done { result, started_ms: None, ended_ms: now_ms(), attempts }
}

/// Puts values behind handles where the plan says so. A repeated call has the same handles, so that it is the call that
/// a person has approved.
async fn by_handle(
    scope: &CallScope,
    call: &PlannedCall,
    call_id: &str,
) -> Result<Object, StepError> {
    let mut arguments = Json::Object(call.arguments.clone());
    let Some(store) = scope.toolbox.handles().filter(|_| !call.as_handle.is_empty()) else {
        return Ok(call.arguments.clone());
    };
    let owner = scope.session.owner();
    let (run, outer) = (&*scope.session.run, scope.outer.as_ref().map_or("", |outer| &*outer.key));
    for path in &call.as_handle {
        let Some(value) = arguments.pointer_mut(path) else { continue };
        let stored = Content::json(std::mem::take(value));
        let id = HandleId::derive("toolwright argument 1", &owner, &[run, outer, call_id, path]);
        store.put_as(&owner, id, stored).await.map_err(|error| {
            StepError::new(
                "not_stored",
                format!("the value at '{path}' could not be stored: {error}"),
            )
        })?;
        *value = Json::from(Handle::from(id).to_string());
    }
    match arguments {
        Json::Object(arguments) => Ok(arguments),
        _ => Ok(Object::new()),
    }
}

fn output(result: &CallResult, tool: &StepTool) -> Result<Json, StepError> {
    let message = "the call succeeded earlier, and its output is no longer available";
    let pieces = result.output();
    let pieces = pieces.ok_or_else(|| StepError::new("output_unavailable", message))?;
    let output = step_output(pieces, tool.tool());
    if output.is_deeper_than(MAX_DEPTH) {
        let message = format!(
            "the output is nested more than {MAX_DEPTH} levels deep; let the tool return less, or text"
        );
        return Err(StepError::new("limit", message));
    }
    Ok(output)
}
