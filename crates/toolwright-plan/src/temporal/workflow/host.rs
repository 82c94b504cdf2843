//! A workflow as the host of a driver: each call is an activity on the task queue of the tool's worker.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use temporalio_common::RetryPolicy;
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, WorkflowCancellationToken,
    WorkflowContext,
};
use toolwright_core::Json;
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_runtime::settings::Effect;

use crate::plan::stored::Needs;
use crate::plan::{PlannedCall, Source, StepError};

use super::PlanWorkflow;
use crate::run::StepAnswer;
use crate::run::call::{self, CallEnd};
use crate::run::drive::{Answered, Host, Message};
use crate::run::journal::{Entry, EntryEvent, PlanJournalError, Question, RunStatus};
use crate::run::replay::{Place, has_answer};
use crate::run::scope::{call_id, is_within, outermost, split};
use crate::temporal::call::{CallOrder, read_end};
use crate::temporal::payload::Document;
use crate::temporal::state::{RunState, millis};
use crate::temporal::values::{PAYLOAD_BYTES, inline_bytes};
use crate::temporal::worker::Activities;

/// Number of events after which a run continues as a new workflow, if the server does not suggest it earlier. The limit
/// of Temporal is 51,200.
const MAX_EVENTS: u32 = 8_000;

/// Number of events after which a run fails that is too large to continue as a new workflow.
const LAST_EVENTS: u32 = 45_000;

/// How long a call may take if it has no deadline. A lost worker is noticed much earlier.
const MAX_CALL: Duration = Duration::from_hours(24 * 30);

/// A workflow as a host.
pub(super) struct WorkflowHost<'c> {
    ctx: &'c WorkflowContext<PlanWorkflow>,
    /// The run, without its entries
    state: RunState,
    token: WorkflowCancellationToken,
    attempts: AtomicU64,
    /// The last known time
    now_ms: Cell<u64>,
}

impl<'c> WorkflowHost<'c> {
    pub(super) fn new(
        ctx: &'c WorkflowContext<PlanWorkflow>,
        state: &RunState,
    ) -> WorkflowHost<'c> {
        WorkflowHost {
            ctx,
            state: RunState { entries: Vec::new(), ..state.clone() },
            token: ctx.cancellation_token().child_token(),
            attempts: AtomicU64::new(0),
            now_ms: Cell::new(state.record.created_ms),
        }
    }

    /// Whether the run is too large to continue as a new workflow.
    pub(super) fn is_too_large(&self) -> bool {
        self.ctx.state(|own| own.bytes) > PAYLOAD_BYTES
    }

    /// Returns the next answer of a person.
    pub(super) fn take_answer(&self) -> Option<Message> {
        let answer = self.ctx.state_mut(|own| own.answers.pop_front())?;
        let Ok((step, item, answer)) = read_answer(&answer) else { return Some(Message::Wake) };
        if split(&step).0.is_empty() {
            return Some(Message::Answer { step, item, answer: Some(answer) });
        }
        let (outer, outer_item) = outermost(&step);
        let message = Message::Answer { step: outer.to_owned(), item: outer_item, answer: None };
        let event = EntryEvent::Answered { answer, by: None };
        self.append(Entry::new(step, item, self.now_ms(), event));
        Some(message)
    }

    fn append(&self, entry: Entry) {
        self.ctx.state_mut(|own| own.append(entry));
    }

    fn order(&self, call: &PlannedCall, answered: Answered) -> (CallOrder, ActivityOptions) {
        let plan = &self.state.record.plan;
        let step = &plan.steps[call.step];
        let place = self.state.tools.get(&step.tool);
        let effect = call::effect(step, place.map(|place| place.effect).unwrap_or_default());
        let order = CallOrder {
            run: self.state.record.id.to_string(),
            caller: self.state.record.caller.clone(),
            step: step.clone(),
            call: call.clone(),
            answered,
            digest: place.and_then(|place| place.digest.clone()),
            calls: self.attempts.load(Ordering::Relaxed),
            max_calls: plan.limits.calls.unwrap_or(u64::MAX),
            needs: Needs::new(plan, &Source::Step(step.id.clone())),
            inline: inline_bytes(plan.steps.len() + call.calls),
        };
        let retry = RetryPolicy::builder().maximum_interval(Duration::from_secs(10));
        // A lost worker may have made the call.
        let retry = retry.maximum_attempts(u32::from(effect == Effect::Once)).build();
        let options = ActivityOptions::with_start_to_close_timeout(MAX_CALL)
            .activity_id(call_id(&step.id, call.item))
            .maybe_task_queue(place.map(|place| place.queue.clone()))
            .heartbeat_timeout(self.state.settings.heartbeat)
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .cancellation_token(self.token.clone())
            .retry_policy(retry)
            .summary(step.tool.clone())
            .build();
        (order, options)
    }

    /// Returns how a call ended.
    fn end(&self, path: &str, reply: Result<Document, ActivityExecutionError>) -> CallEnd {
        let failed = |why: String| {
            let (now, error) = (self.now_ms(), StepError::new("worker", why));
            let (started_ms, ended_ms) = (Some(now), now);
            CallEnd::Done { result: Err(error), started_ms, ended_ms, attempts: 0 }
        };
        let reply = match reply {
            Ok(reply) => read_end(&reply.0),
            Err(ActivityExecutionError::Cancelled(_)) => return CallEnd::Cancelled,
            Err(error) if error.as_timeout().is_some() => {
                return CallEnd::Waiting(Question::Uncertain);
            }
            Err(error) => {
                let why = error.reason().map_or_else(|| error.to_string(), ToString::to_string);
                return failed(why);
            }
        };
        let is_answered = |own: &PlanWorkflow| {
            let entries = own.state.iter().flat_map(|state| &state.entries);
            has_answer(entries.filter(|entry| is_within(split(&entry.step).0, path)))
        };
        match &reply {
            Ok(CallEnd::Done { attempts, .. }) => {
                self.attempts.fetch_add(attempts.saturating_sub(1).into(), Ordering::Relaxed);
            }
            Ok(CallEnd::Waiting(Question::Within)) if self.ctx.state(is_answered) => {
                return CallEnd::AnsweredWithin;
            }
            _ => {}
        }
        reply.unwrap_or_else(|error| failed(format!("the reply of the worker is invalid: {error}")))
    }
}

impl Host for WorkflowHost<'_> {
    fn now_ms(&self) -> u64 {
        let time = self.ctx.workflow_time().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        self.now_ms.set(time.map_or(self.now_ms.get(), millis));
        self.now_ms.get()
    }

    /// Whether the run continues as a new workflow, because the history of this one becomes too long.
    fn is_stopping(&self) -> bool {
        let events = self.ctx.history_length();
        let is_long = self.ctx.continue_as_new_suggested() || events > MAX_EVENTS;
        is_long && (!self.is_too_large() || events > LAST_EVENTS)
    }

    fn is_cancelled(&self) -> bool {
        self.ctx.cancellation_token().is_cancelled()
    }

    fn cancel_calls(&self) {
        self.token.cancel();
    }

    fn attempts(&self) -> &AtomicU64 {
        &self.attempts
    }

    async fn call(&self, call: PlannedCall, answered: Answered) -> (PlannedCall, CallEnd) {
        let (order, options) = self.order(&call, answered);
        let path = call_id(&order.step.id, call.item);
        let order = Document::from(order.to_json());
        let reply = self.ctx.execute_activity(Activities::call, order, options).await;
        let end = self.end(&path, reply);
        (call, end)
    }

    async fn record(&self, entry: Entry) -> Result<(), PlanJournalError> {
        self.append(entry);
        Ok(())
    }

    async fn message(&self, _is_idle: bool) -> Option<Message> {
        if self.is_cancelled() {
            return std::future::pending().await;
        }
        match self.ctx.wait_condition(|own| !own.answers.is_empty()).await {
            Ok(()) => self.take_answer().or(Some(Message::Wake)),
            Err(_) => Some(Message::Wake),
        }
    }

    async fn sleep(&self, ms: u64) {
        let _ = self.ctx.timer(Duration::from_millis(ms)).await;
    }

    fn answered(&self, (step, item): Place, answer: &StepAnswer) {
        let event = EntryEvent::Answered { answer: answer.clone(), by: None };
        let step = self.state.record.plan.steps[step].id.as_str();
        self.append(Entry::new(step, item, self.now_ms(), event));
    }

    /// Lets queries see which steps are running, and whether the run waits for a person.
    fn publish(&self, running: Vec<(Place, u64)>, is_waiting: bool) {
        let status = if is_waiting { RunStatus::Waiting } else { RunStatus::Running };
        self.ctx.state_mut(|own| {
            own.running = running.iter().map(|((step, _), _)| *step).collect();
            if let Ok(state) = &mut own.state {
                state.record.status = status;
            }
        });
    }
}

fn read_answer(document: &Json) -> Result<(String, Option<usize>, StepAnswer), DocumentError> {
    let fields = ObjectReader::of(document)?;
    let answer = fields.required("answer", StepAnswer::from_json)?;
    Ok((fields.text("step")?.to_owned(), fields.optional_count("item")?, answer))
}
