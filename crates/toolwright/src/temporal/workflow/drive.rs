//! The loop of a workflow: which calls are started, and what follows from their replies.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::poll_fn;
use temporalio_common::RetryPolicy;
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, WorkflowCancellationToken,
    WorkflowContext, WorkflowResult,
};
use toolwright_core::Json;
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::plan::stored::Needs;
use toolwright_core::plan::{Plan, PlannedCall, Source, StepError};

use super::{PlanWorkflow, invalid};
use crate::plan::call;
use crate::plan::intent::call_id;
use crate::plan::journal::{Entry, EntryEvent, Question};
use crate::plan::replay::{Next, Place, Replay};
use crate::plan::{RunStatus, StepAnswer};
use crate::settings::Effect;
use crate::temporal::call::{CallOrder, CallReply};
use crate::temporal::payload::Document;
use crate::temporal::state::{RunState, millis, write_entry};
use crate::temporal::values::{PAYLOAD_BYTES, inline_bytes};
use crate::temporal::worker::Activities;

/// Number of events after which a run continues as a new workflow, if the server does not suggest it earlier. The limit of
/// Temporal is 51,200.
const MAX_EVENTS: u32 = 8_000;

/// Number of events after which a run fails that is too large to continue as a new workflow.
const LAST_EVENTS: u32 = 45_000;

/// How long a call may take if it has no deadline. A lost worker is noticed much earlier.
const MAX_CALL: Duration = Duration::from_hours(24 * 30);

/// How a workflow of a run ended.
pub(super) enum End {
    Ended(RunStatus),
    Failed(RunStatus, StepError),
    /// The rest of the run is that of a new workflow
    Continued,
}

type Reply = Result<Document, ActivityExecutionError>;

/// A call in progress.
struct RunningCall<'c> {
    call: PlannedCall,
    reply: Pin<Box<dyn Future<Output = Reply> + 'c>>,
}

/// What a workflow waits for.
enum Event {
    /// The call at this position has ended
    Replied(usize, Box<Reply>),
    Answered,
    Cancelled,
    /// The run may have taken too long
    TimedOut,
}

/// The loop of a workflow.
pub(super) struct Driver<'c> {
    ctx: &'c WorkflowContext<PlanWorkflow>,
    state: RunState,
    plan: Arc<Plan>,
    positions: HashMap<String, usize>,
    replay: Replay,
    running: Vec<RunningCall<'c>>,
    /// Answers that came while the maximum of calls was in progress
    continued: Vec<Next>,
    token: WorkflowCancellationToken,
    /// Number of attempts so far
    calls: u64,
    /// Number of bytes of the state, as the input of a new workflow
    bytes: usize,
    started_ms: u64,
    waited_ms: u64,
    error: Option<StepError>,
}

impl<'c> Driver<'c> {
    pub(super) fn new(ctx: &'c WorkflowContext<PlanWorkflow>, state: &RunState) -> Driver<'c> {
        let replay = state.replay();
        let plan = Arc::clone(&state.record.plan);
        let ids = plan.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at));
        let mut driver = Driver {
            ctx,
            state: RunState { entries: Vec::new(), ..state.clone() },
            positions: ids.collect(),
            plan,
            calls: replay.calls,
            bytes: state.to_json().compact().len(),
            replay,
            running: Vec::new(),
            continued: Vec::new(),
            token: ctx.cancellation_token().child_token(),
            started_ms: 0,
            waited_ms: 0,
            error: None,
        };
        driver.started_ms = driver.now_ms();
        driver
    }

    /// Returns the time of the workflow, in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        let time = self.ctx.workflow_time().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        time.map_or(self.started_ms, millis)
    }

    /// Returns how long calls have been in progress, in milliseconds.
    pub(super) fn active_ms(&self) -> u64 {
        let here = self.now_ms().saturating_sub(self.started_ms).saturating_sub(self.waited_ms);
        self.state.active_ms + here
    }

    pub(super) async fn run(&mut self) -> WorkflowResult<End> {
        let max_ms = self.plan.limits.time_ms;
        // A timer has at least a millisecond.
        let left = max_ms.map(|max| max.saturating_sub(self.state.active_ms).max(1));
        let mut timer = left.map(|left| self.timer(left));
        loop {
            let is_stopping = self.should_continue_as_new();
            if is_stopping {
                // They may have come with the last reply.
                self.take_answers();
            } else {
                self.start_calls();
            }
            self.publish();
            if self.running.is_empty() {
                if let Some(error) = self.error.take() {
                    return Ok(End::Failed(RunStatus::Failed, error));
                }
                if self.ctx.cancellation_token().is_cancelled() {
                    return Ok(End::Ended(RunStatus::Cancelled));
                }
                if self.replay.interpreter.is_done() {
                    if let Err(error) = self.replay.interpreter.outputs() {
                        return Ok(End::Failed(RunStatus::Failed, error));
                    }
                    let has_failed = self.replay.interpreter.has_failed();
                    let status = if has_failed { RunStatus::Failed } else { RunStatus::Succeeded };
                    return Ok(End::Ended(status));
                }
                if is_stopping {
                    return Ok(End::Continued);
                }
            }
            let is_waiting = self.running.is_empty();
            let since = self.now_ms();
            let event = self.next_event(timer.as_mut()).await;
            if is_waiting {
                self.waited_ms += self.now_ms().saturating_sub(since);
            }
            match event {
                Event::Replied(at, reply) => self.take_reply(at, *reply)?,
                Event::Answered => self.take_answers(),
                Event::Cancelled => {}
                Event::TimedOut => {
                    let max = max_ms.unwrap_or_default();
                    let left = max.saturating_sub(self.active_ms());
                    timer = (left > 0).then(|| self.timer(left));
                    if left == 0 {
                        let message = format!(
                            "the run took longer than {max} ms; raise limits.time_ms of the plan"
                        );
                        self.error = Some(StepError::new("limit", message));
                        self.token.cancel();
                    }
                }
            }
        }
    }

    /// Whether the run continues as a new workflow, because the history of this one becomes too long.
    fn should_continue_as_new(&mut self) -> bool {
        let events = self.ctx.history_length();
        let is_long = self.ctx.continue_as_new_suggested() || events > MAX_EVENTS;
        if is_long && self.bytes > PAYLOAD_BYTES && events > LAST_EVENTS && self.error.is_none() {
            let message = "the run has too many calls with too large outputs for Temporal; start the workers with \
                           --gateway, so that outputs pass by handle";
            self.error = Some(StepError::new("limit", message));
        }
        is_long && self.bytes <= PAYLOAD_BYTES
    }

    /// Starts as many calls as the plan and the limits allow.
    fn start_calls(&mut self) {
        let limit = self.plan.limits.parallel.map_or(usize::MAX, |calls| calls as usize);
        let parallel = limit.min(self.state.settings.parallel);
        let max_calls = self.plan.limits.calls.unwrap_or(u64::MAX);
        while self.running.len() < parallel && self.error.is_none() && !self.token.is_cancelled() {
            let Some(next) = self.continued.pop().or_else(|| self.replay.next()) else { break };
            match next {
                Next::Call(..) if self.calls >= max_calls => {
                    let message = format!(
                        "the run has reached its limit of {max_calls} calls; raise limits.calls of the plan"
                    );
                    self.error = Some(StepError::new("limit", message));
                }
                Next::Call(call, answered) => self.start_call(call, answered, max_calls),
                Next::Ask(place, question) => self.append(place, EntryEvent::Asked(question)),
                Next::Output((step, item), output) => {
                    let time_ms = self.now_ms();
                    let event = EntryEvent::Succeeded {
                        output: output.clone(),
                        started_ms: time_ms,
                        attempts: 0,
                    };
                    self.append((step, item), event);
                    self.replay.start(step, time_ms);
                    self.replay.end(step, time_ms, 0);
                    self.replay.interpreter.succeed(step, item, output);
                }
            }
        }
    }

    fn start_call(
        &mut self,
        planned: PlannedCall,
        answered: Option<(Question, StepAnswer)>,
        max_calls: u64,
    ) {
        self.calls += 1;
        self.replay.start(planned.step, self.now_ms());
        let step = &self.plan.steps[planned.step];
        let place = self.state.tools.get(&step.tool);
        let effect = call::effect(step, place.map(|place| place.effect).unwrap_or_default());
        let items = self.replay.interpreter.items(planned.step).map_or(1, |(_, all)| all);
        let order = CallOrder {
            run: self.state.record.id.to_string(),
            caller: self.state.record.caller.clone(),
            step: step.clone(),
            call: planned.clone(),
            answered,
            digest: place.and_then(|place| place.digest.clone()),
            calls: self.calls,
            max_calls,
            needs: Needs::new(&self.plan, &Source::Step(step.id.clone())),
            inline: inline_bytes(self.plan.steps.len() + items),
        };
        let retry = RetryPolicy::builder().maximum_interval(Duration::from_secs(10));
        // A lost worker may have made the call.
        let retry = retry.maximum_attempts(u32::from(effect == Effect::Once)).build();
        let options = ActivityOptions::with_start_to_close_timeout(MAX_CALL)
            .activity_id(call_id(&step.id, planned.item))
            .maybe_task_queue(place.map(|place| place.queue.clone()))
            .heartbeat_timeout(self.state.settings.heartbeat)
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .cancellation_token(self.token.clone())
            .retry_policy(retry)
            .summary(step.tool.clone())
            .build();
        let order = Document::from(order.to_json());
        let reply = Box::pin(self.ctx.execute_activity(Activities::call, order, options));
        self.running.push(RunningCall { call: planned, reply });
    }

    /// Takes the reply to a call.
    fn take_reply(&mut self, at: usize, reply: Reply) -> WorkflowResult<()> {
        let RunningCall { call, .. } = self.running.remove(at);
        let place = (call.step, call.item);
        let reply = match reply {
            Ok(reply) => CallReply::from_json(&reply.0).map_err(invalid)?,
            Err(ActivityExecutionError::Cancelled(_)) => return Ok(()),
            Err(error) if error.as_timeout().is_some() => {
                self.wait(call, Question::Uncertain);
                return Ok(());
            }
            Err(error) => {
                let why = error.reason().map_or_else(|| error.to_string(), ToString::to_string);
                let now = self.now_ms();
                let result = Err(StepError::new("worker", why));
                CallReply::Done { result, started_ms: now, ended_ms: now, attempts: 0 }
            }
        };
        match reply {
            // A run that is continued later does not reach an item after one that failed.
            CallReply::Waiting(_) if self.replay.is_abandoned(call.step, call.item) => {
                self.replay.interpreter.abandon(call.step);
            }
            CallReply::Waiting(approval) => {
                self.calls -= 1;
                self.wait(call, Question::Approval(approval));
            }
            CallReply::Done { result, started_ms, ended_ms, attempts } => {
                self.calls += u64::from(attempts.saturating_sub(1));
                let event = match &result {
                    Ok(output) => {
                        EntryEvent::Succeeded { output: output.clone(), started_ms, attempts }
                    }
                    Err(error) => EntryEvent::Failed { error: error.clone(), started_ms, attempts },
                };
                self.append_at(place, ended_ms, event);
                self.replay.end(call.step, ended_ms, attempts);
                match result {
                    Ok(output) => self.replay.interpreter.succeed(call.step, call.item, output),
                    Err(error) => self.replay.fail(call.step, call.item, error),
                }
            }
        }
        Ok(())
    }

    fn take_answers(&mut self) {
        let answers = self.ctx.state_mut(|own| std::mem::take(&mut own.answers));
        for answer in answers {
            let Ok((step, item, answer)) = read_answer(&answer) else { continue };
            let Some(&at) = self.positions.get(&step) else { continue };
            if let Some(next) = self.replay.answer((at, item), answer.clone()) {
                self.append((at, item), EntryEvent::Answered { answer, by: None });
                self.continued.push(next);
            }
        }
    }

    fn wait(&mut self, call: PlannedCall, question: Question) {
        self.append((call.step, call.item), EntryEvent::Asked(question.clone()));
        self.replay.wait(call, question);
    }

    fn append(&mut self, place: Place, event: EntryEvent) {
        self.append_at(place, self.now_ms(), event);
    }

    fn append_at(&mut self, (step, item): Place, time_ms: u64, event: EntryEvent) {
        let entry = Entry::new(self.plan.steps[step].id.clone(), item, time_ms, event);
        self.bytes += write_entry(&entry).compact().len();
        self.ctx.state_mut(|own| {
            if let Ok(state) = &mut own.state {
                state.entries.push(entry);
            }
        });
    }

    /// Lets queries see which steps are running, and whether the run waits for a person.
    fn publish(&self) {
        let running = self.running.iter().map(|running| running.call.step).collect();
        let is_waiting = self.running.is_empty() && !self.replay.questions().is_empty();
        let status = if is_waiting { RunStatus::Waiting } else { RunStatus::Running };
        self.ctx.state_mut(|own| {
            own.running = running;
            if let Ok(state) = &mut own.state {
                state.record.status = status;
            }
        });
    }

    fn timer(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + 'c>> {
        let timer = self.ctx.timer(Duration::from_millis(ms));
        Box::pin(timer.map(|_| ()))
    }

    /// Waits for a reply, an answer, the end of the time, or the cancellation. They are looked at in this order.
    async fn next_event(
        &mut self,
        mut timer: Option<&mut Pin<Box<dyn Future<Output = ()> + 'c>>>,
    ) -> Event {
        let is_cancelled = self.ctx.cancellation_token().is_cancelled();
        let mut answered = Box::pin(self.ctx.wait_condition(|own| !own.answers.is_empty()));
        let running = &mut self.running;
        poll_fn(move |wake| {
            for (at, call) in running.iter_mut().enumerate() {
                if let Poll::Ready(reply) = call.reply.as_mut().poll(wake) {
                    return Poll::Ready(Event::Replied(at, Box::new(reply)));
                }
            }
            if !is_cancelled && let Poll::Ready(waited) = answered.as_mut().poll(wake) {
                let event = if waited.is_ok() { Event::Answered } else { Event::Cancelled };
                return Poll::Ready(event);
            }
            if !is_cancelled
                && let Some(timer) = timer.as_deref_mut()
                && timer.as_mut().poll(wake).is_ready()
            {
                return Poll::Ready(Event::TimedOut);
            }
            Poll::Pending
        })
        .await
    }
}

fn read_answer(document: &Json) -> Result<(String, Option<usize>, StepAnswer), DocumentError> {
    let fields = ObjectReader::of(document)?;
    let answer = fields.required("answer", StepAnswer::from_json)?;
    Ok((fields.text("step")?.to_owned(), fields.optional_count("item")?, answer))
}
