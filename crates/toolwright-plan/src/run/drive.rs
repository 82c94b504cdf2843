//! The driver: makes the calls of a plan until it ends or waits for a person, on every engine and at every depth.
//!
//! A [`Host`] makes a call, records what happened, and tells the time. Which calls come next, how many run at once,
//! what their results mean and when the plan ends is decided here, so that a plan has one meaning everywhere. Calls are
//! polled in the order in which they started, because a workflow must do the same whenever it is replayed.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use toolwright_core::Json;
use toolwright_json::Object;

use crate::plan::{Plan, PlannedCall, StepError, StepResult, StepState};

use super::call::CallEnd;
use super::event::PlanEventKind;
use super::journal::{Entry, EntryEvent, PlanJournalError, Question, RunStatus, StepAnswer};
use super::replay::{Next, Place, Replay};

/// The question that a call asked, and the answer of a person.
pub(crate) type Answered = Option<(Question, StepAnswer)>;

/// A message to a driver.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    /// A person has answered a question of a step; without the answer, one within its call
    Answer { step: String, item: Option<usize>, answer: Option<StepAnswer> },
    /// The run was cancelled, or the host stops
    Wake,
}

/// What differs between engines.
pub(crate) trait Host {
    /// Returns the time in milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Whether no further call starts, because the run is continued later or elsewhere.
    fn is_stopping(&self) -> bool;

    /// Whether the run was cancelled.
    fn is_cancelled(&self) -> bool;

    /// Cancels the calls in progress.
    fn cancel_calls(&self);

    /// Number of attempts of the plan so far.
    fn attempts(&self) -> &AtomicU64;

    /// Makes a call, with its retries.
    fn call(
        &self,
        call: PlannedCall,
        answered: Answered,
    ) -> impl Future<Output = (PlannedCall, CallEnd)>;

    /// Records what happened to a call. It is durable when the future is ready.
    fn record(&self, entry: Entry) -> impl Future<Output = Result<(), PlanJournalError>>;

    /// Reserves memory. The error is that of what needs it.
    fn reserve(&self, _bytes: usize) -> impl Future<Output = Result<(), StepError>> {
        std::future::ready(Ok(()))
    }

    /// Releases reserved memory.
    fn release(&self, _bytes: usize) {}

    /// Waits for a message. Without calls in progress, `None` ends the drive.
    fn message(&self, is_idle: bool) -> impl Future<Output = Option<Message>>;

    /// Waits for this many milliseconds.
    fn sleep(&self, ms: u64) -> impl Future<Output = ()>;

    /// Notes that the driver has accepted an answer.
    fn answered(&self, _place: Place, _answer: &StepAnswer) {}

    /// Uses the output that a person gave for a call.
    fn use_output(&self, _step: usize, _output: &Json) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Shows which calls are in progress since when, and whether the run waits for a person.
    fn publish(&self, running: Vec<(Place, u64)>, is_waiting: bool);

    /// Reports an event.
    fn emit(&self, _event: PlanEventKind) {}
}

/// How a drive ended.
pub(crate) enum DriveEnd {
    /// The plan has ended, with its outputs, and the error if it failed as a whole
    Ended { status: RunStatus, outputs: Object, error: Option<StepError> },
    /// It waits for a person
    Waiting,
    /// The host stops; the run is to be continued
    Stopped,
    /// The journal failed
    Unrecorded(PlanJournalError),
}

/// Drives a plan.
pub(crate) struct Driver<'h, H> {
    host: &'h H,
    plan: Arc<Plan>,
    pub(crate) replay: Replay,
    /// Maximum number of concurrent calls
    parallel: usize,
    /// Answered calls, which come before all others
    continued: Vec<Next>,
    started_ms: u64,
    waited_ms: u64,
    error: Option<StepError>,
    unrecorded: Option<PlanJournalError>,
}

/// How many times as much memory as its arguments a call needs: they are copied, written, parsed and checked.
const CALL_COPIES: usize = 4;

/// A call in progress.
struct RunningCall<F> {
    place: Place,
    started_ms: u64,
    /// The reserved memory
    bytes: usize,
    future: Pin<Box<F>>,
}

enum Event {
    /// The call at this position has ended
    Ended(usize, PlannedCall, CallEnd),
    Message(Option<Message>),
    TimeUp,
}

impl<'h, H: Host> Driver<'h, H> {
    /// Creates a driver that continues a plan, with at most `parallel` calls at once unless the plan says fewer.
    pub(crate) fn new(host: &'h H, replay: Replay, parallel: usize) -> Driver<'h, H> {
        let plan = Arc::clone(replay.interpreter.plan());
        let limit = plan.limits.parallel.map_or(usize::MAX, |calls| calls as usize);
        host.attempts().store(replay.calls, Ordering::Relaxed);
        Driver {
            host,
            plan,
            replay,
            parallel: parallel.min(limit).max(1),
            continued: Vec::new(),
            started_ms: host.now_ms(),
            waited_ms: 0,
            error: None,
            unrecorded: None,
        }
    }

    /// Returns how long calls have been in progress, in milliseconds, in all drives.
    pub(crate) fn active_ms(&self) -> u64 {
        let here = self.host.now_ms().saturating_sub(self.started_ms);
        self.replay.driven_ms + here.saturating_sub(self.waited_ms)
    }

    /// Makes calls until the plan ends or waits for a person.
    pub(crate) async fn run(&mut self) -> DriveEnd {
        let host = self.host;
        let max_ms = self.plan.limits.time_ms;
        let left = |driver: &Self| max_ms.map(|max| max.saturating_sub(driver.active_ms()));
        // A timer has at least a millisecond.
        let mut timer = left(self).map(|left| Box::pin(host.sleep(left.max(1))));
        let mut running = Vec::new();
        loop {
            let is_stopping = host.is_stopping();
            while running.len() < self.parallel && !is_stopping && self.may_start() {
                let Some((call, answered, bytes)) = self.next_call().await else { break };
                if left(self) == Some(0) {
                    self.fail_by_time();
                    break;
                }
                let (place, started_ms) = ((call.step, call.item), host.now_ms());
                self.replay.start(call.step, started_ms);
                let future = Box::pin(host.call(call, answered));
                running.push(RunningCall { place, started_ms, bytes, future });
            }
            self.announce();
            let is_idle = running.is_empty();
            let calls = running.iter().map(|call| (call.place, call.started_ms)).collect();
            host.publish(calls, is_idle && self.replay.is_waiting());
            if is_idle && let Some(end) = self.end(is_stopping).await {
                return end;
            }
            let since = host.now_ms();
            let event = next_event(host, &mut running, timer.as_mut()).await;
            if is_idle {
                self.waited_ms += host.now_ms().saturating_sub(since);
            }
            match event {
                Event::Ended(at, call, end) => {
                    let RunningCall { started_ms, bytes, .. } = running.remove(at);
                    host.release(bytes);
                    self.take_end(call, end, started_ms).await;
                }
                Event::Message(None) => return DriveEnd::Waiting,
                Event::Message(Some(message)) => self.take_message(message),
                Event::TimeUp => {
                    timer =
                        left(self).filter(|left| *left > 0).map(|left| Box::pin(host.sleep(left)));
                    if timer.is_none() && self.error.is_none() {
                        self.fail_by_time();
                    }
                }
            }
        }
    }

    fn may_start(&self) -> bool {
        self.error.is_none() && self.unrecorded.is_none() && !self.host.is_cancelled()
    }

    fn fail_by_time(&mut self) {
        let message = format!(
            "the run took longer than {} ms; raise limits.time_ms of the plan",
            self.plan.limits.time_ms.unwrap_or_default()
        );
        self.error = Some(StepError::new("limit", message));
        self.host.cancel_calls();
    }

    /// Returns the next call with the memory that is reserved for it, and counts it. Questions and outputs of people
    /// are recorded on the way.
    async fn next_call(&mut self) -> Option<(PlannedCall, Answered, usize)> {
        while self.may_start() {
            let (next, bytes) = match self.continued.pop() {
                // It may be too large by now; it was not when it began to wait.
                Some(next) => (next, 0),
                None if self.replay.is_full() => return None,
                None => {
                    let bytes = CALL_COPIES * self.replay.next_weight();
                    if let Err(error) = self.host.reserve(bytes).await {
                        // There is no memory for its arguments.
                        if let Some(place) = self.replay.take_next() {
                            self.settle_now(place, Err(error)).await;
                        }
                        continue;
                    }
                    let Some(next) = self.replay.next() else {
                        self.host.release(bytes);
                        return None;
                    };
                    (next, bytes)
                }
            };
            let (place, output) = match next {
                Next::Call(call, answered) => {
                    let max = self.plan.limits.calls.unwrap_or(u64::MAX);
                    if self.host.attempts().fetch_add(1, Ordering::Relaxed) < max {
                        return Some((call, answered, bytes));
                    }
                    let message = format!(
                        "the run has reached its limit of {max} calls; raise limits.calls of the plan"
                    );
                    self.error = Some(StepError::new("limit", message));
                    return None;
                }
                Next::Ask(place, question) => {
                    self.host.release(bytes);
                    self.ask(place, question).await;
                    continue;
                }
                Next::Output(place, output) => (place, output),
            };
            self.host.release(bytes);
            let reserved = self.host.reserve(output.weight()).await;
            if reserved.is_ok() {
                self.host.use_output(place.0, &output).await;
            }
            self.settle_now(place, reserved.map(|()| output)).await;
        }
        None
    }

    /// Takes the result of a call that is not made.
    async fn settle_now(&mut self, place: Place, result: Result<Arc<Json>, StepError>) {
        let now_ms = self.host.now_ms();
        self.replay.start(place.0, now_ms);
        self.settle(place, result, now_ms, now_ms, 0).await;
    }

    /// Takes the result of a call. Returns whether it is recorded.
    async fn settle(
        &mut self,
        place: Place,
        result: Result<Arc<Json>, StepError>,
        started_ms: u64,
        ended_ms: u64,
        attempts: u32,
    ) -> bool {
        let event = match result.clone() {
            Ok(output) => EntryEvent::Succeeded { output, started_ms, attempts },
            Err(error) => EntryEvent::Failed { error, started_ms, attempts },
        };
        let is_recorded = self.record(place, ended_ms, event).await;
        if is_recorded {
            self.replay.end(place.0, ended_ms, attempts);
            self.replay.apply(place, result);
        }
        is_recorded
    }

    /// Takes the end of a call.
    async fn take_end(&mut self, call: PlannedCall, end: CallEnd, started_ms: u64) {
        let (step, item) = (call.step, call.item);
        match end {
            CallEnd::Done { result, started_ms: started, ended_ms, attempts } => {
                let started_ms = started.unwrap_or(started_ms);
                let result = match result {
                    Ok(output) => {
                        let reserved = self.host.reserve(output.weight()).await;
                        reserved.map(|()| Arc::new(output))
                    }
                    Err(error) => Err(error),
                };
                let error = result.as_ref().err().cloned();
                if self.settle((step, item), result, started_ms, ended_ms, attempts).await {
                    let duration_ms = ended_ms.saturating_sub(started_ms);
                    let step = self.plan.steps[step].id.clone();
                    self.host.emit(PlanEventKind::CallEnded { step, item, duration_ms, error });
                }
            }
            // A run that is continued later does not reach an item after one that failed.
            CallEnd::Waiting(_) if self.replay.is_abandoned(step, item) => {
                self.replay.interpreter.abandon(step);
            }
            CallEnd::Waiting(question) => {
                self.host.attempts().fetch_sub(1, Ordering::Relaxed);
                self.replay.wait(call, question.clone());
                if question != Question::Within {
                    self.ask((step, item), question).await;
                }
            }
            CallEnd::AnsweredWithin => {
                self.host.attempts().fetch_sub(1, Ordering::Relaxed);
                self.continued.push(Next::Call(call, None));
            }
            CallEnd::Cancelled => {}
            CallEnd::Unrecorded(error) => self.unrecorded = self.unrecorded.take().or(Some(error)),
        }
    }

    /// Takes a message.
    pub(crate) fn take_message(&mut self, message: Message) {
        let Message::Answer { step, item, answer } = message else { return };
        let Some(step) = self.plan.position(&step) else { return };
        let Some(answer) = answer else {
            return self.continued.extend(self.replay.continue_call((step, item)));
        };
        if let Some(next) = self.replay.answer((step, item), answer.clone()) {
            self.host.answered((step, item), &answer);
            self.continued.push(next);
        }
    }

    /// Records the question to a person.
    async fn ask(&mut self, (step, item): Place, question: Question) {
        let reason = question.reason().to_owned();
        if self.record((step, item), self.host.now_ms(), EntryEvent::Asked(question)).await {
            let step = self.plan.steps[step].id.clone();
            self.host.emit(PlanEventKind::Asked { step, item, reason });
        }
    }

    /// Records what happened to a call. Returns whether that succeeded.
    async fn record(&mut self, (step, item): Place, time_ms: u64, event: EntryEvent) -> bool {
        let entry = Entry::new(self.plan.steps[step].id.as_str(), item, time_ms, event);
        let recorded = self.host.record(entry).await;
        self.unrecorded = self.unrecorded.take().or(recorded.err());
        self.unrecorded.is_none()
    }

    /// Returns how the drive ends, now that no call is in progress; none if it may wait for a person.
    async fn end(&mut self, is_stopping: bool) -> Option<DriveEnd> {
        if let Some(error) = self.unrecorded.take() {
            return Some(DriveEnd::Unrecorded(error));
        }
        let interpreter = &self.replay.interpreter;
        let (mut status, mut error) = (RunStatus::Failed, self.error.take());
        if error.is_none() {
            if self.host.is_cancelled() {
                status = RunStatus::Cancelled;
            } else if !interpreter.is_done() {
                return is_stopping.then_some(DriveEnd::Stopped);
            } else if !interpreter.has_failed() {
                status = RunStatus::Succeeded;
            }
        }
        let outputs = match self.host.reserve(interpreter.outputs_weight()).await {
            Ok(()) => interpreter.outputs(),
            Err(too_large) => Err(too_large),
        };
        let outputs = outputs.unwrap_or_else(|too_large| {
            error.get_or_insert(too_large);
            Object::new()
        });
        if error.is_some() && status == RunStatus::Succeeded {
            status = RunStatus::Failed;
        }
        Some(DriveEnd::Ended { status, outputs, error })
    }

    /// Reports the steps that have ended.
    fn announce(&mut self) {
        for at in self.replay.interpreter.take_settled() {
            let (state, reason) = match self.replay.interpreter.result(at) {
                Some(StepResult::Succeeded(_)) => (StepState::Succeeded, None),
                Some(StepResult::Skipped { reason }) => (StepState::Skipped, Some(reason.clone())),
                Some(StepResult::Failed { error, .. }) => {
                    (StepState::Failed, Some(error.message.clone()))
                }
                Some(StepResult::Blocked { by }) => {
                    let reason = format!("the step '{}' failed", self.plan.steps[*by].id);
                    (StepState::Blocked, Some(reason))
                }
                None => continue,
            };
            let step = self.plan.steps[at].id.clone();
            self.host.emit(PlanEventKind::StepEnded { step, state, reason });
        }
    }
}

/// Waits for the end of a call, a message, or the end of the time. They are looked at in this order.
async fn next_event<H: Host, F, T>(
    host: &H,
    running: &mut [RunningCall<F>],
    mut timer: Option<&mut Pin<Box<T>>>,
) -> Event
where
    F: Future<Output = (PlannedCall, CallEnd)>,
    T: Future<Output = ()>,
{
    let mut message = pin!(host.message(running.is_empty()));
    poll_fn(move |wake| {
        for (at, call) in running.iter_mut().enumerate() {
            if let Poll::Ready((call, end)) = call.future.as_mut().poll(wake) {
                return Poll::Ready(Event::Ended(at, call, end));
            }
        }
        if let Poll::Ready(message) = message.as_mut().poll(wake) {
            return Poll::Ready(Event::Message(message));
        }
        match timer.as_deref_mut().map(|timer| timer.as_mut().poll(wake)) {
            Some(Poll::Ready(())) => Poll::Ready(Event::TimeUp),
            _ => Poll::Pending,
        }
    })
    .await
}
