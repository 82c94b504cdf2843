//! The loop of a run: as many calls at once as the graph and the limits allow.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolwright_core::Json;
use toolwright_core::plan::{Plan, PlanLimits, StepError, StepResult, StepState};

use super::{LiveRun, LocalEngine, RunningCalls, lock};
use crate::call::journal::SharedJournal;
use crate::handle;
use crate::output::Content;
use crate::plan::call::{self, CallEnd, CallScope};
use crate::plan::engine::PlanRunError;
use crate::plan::event::{Observer, PlanEvent, PlanEventKind};
use crate::plan::intent::IntentJournal;
use crate::plan::journal::{
    Entry, EntryEvent, PlanJournal, PlanJournalError, Question, RunRecord, RunStatus, StepAnswer,
};
use crate::plan::replay::{Next, Place, Replay};
use crate::plan::report::RunReport;
use crate::plan::start::now_ms;
use crate::session::Session;
use crate::toolbox::StepTool;

/// Makes the calls of a run until it ends or waits for a person.
pub(super) async fn drive(
    engine: &LocalEngine,
    run: &str,
    observer: Option<Observer>,
) -> Result<RunReport, PlanRunError> {
    loop {
        let (report, mut answered) = drive_once(engine, run, observer.clone()).await?;
        // An answer may have come after the last look, and nobody else continues the run.
        if report.status() != RunStatus::Waiting || answered.try_recv().is_err() {
            return Ok(report);
        }
    }
}

type Answers = mpsc::UnboundedReceiver<(String, Option<usize>, StepAnswer)>;

async fn drive_once(
    engine: &LocalEngine,
    run: &str,
    observer: Option<Observer>,
) -> Result<(RunReport, Answers), PlanRunError> {
    let claim = engine.journal.claim(run).await?;
    let (answers, answered) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    // An answer that comes after the journal is read goes to the live run.
    let running = RunningCalls::default();
    let live = LiveRun { cancel: cancel.clone(), answers, running: Arc::clone(&running) };
    engine.live().insert(run.into(), live);
    let guard = LiveGuard { engine, run, is_closed: Arc::default() };
    let (mut record, tools, replay) = engine.load(run).await?;
    engine.check_record(&record, &tools)?;
    let tools = step_tools(engine, &record.plan).await?;
    if record.status != RunStatus::Running {
        record.status = RunStatus::Running;
        engine.journal.set_status(run, record.status, None).await?;
    }
    let is_closed = Arc::clone(&guard.is_closed);
    let mut scope = scope(engine, &record, &tools, cancel, observer, is_closed);
    scope.calls = AtomicU64::new(replay.calls);
    restore_slots(&scope, &tools, &replay).await;
    if record.plan.limits.time_ms.is_some() {
        let entry = Entry::new("", None, now_ms(), EntryEvent::DriveStarted);
        engine.journal.append(run, entry).await?;
    }
    let mut driver = Driver {
        engine,
        plan: Arc::clone(&record.plan),
        positions: record
            .plan
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| (step.id.clone(), at))
            .collect(),
        replay,
        tools,
        scope,
        answered,
        calls: running,
        error: None,
        unrecorded: None,
    };
    driver.run().await;
    let concluded = driver.conclude(record).await;
    drop(guard);
    drop(claim);
    concluded
}

/// Ends the life of a run when its drive ends or is dropped, before the claim does.
struct LiveGuard<'e> {
    engine: &'e LocalEngine,
    run: &'e str,
    is_closed: Arc<AtomicBool>,
}

impl Drop for LiveGuard<'_> {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        self.engine.live().remove(self.run);
    }
}

/// Returns the tool of each step, with the step's settings.
async fn step_tools(engine: &LocalEngine, plan: &Plan) -> Result<Vec<StepTool>, PlanRunError> {
    let mut tools = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let tool = call::step_tool(&engine.toolbox, step);
        tools.push(tool.await.map_err(|error| PlanRunError::Engine(error.text))?);
    }
    Ok(tools)
}

fn scope(
    engine: &LocalEngine,
    record: &RunRecord,
    tools: &[StepTool],
    cancel: CancellationToken,
    observer: Option<Observer>,
    is_closed: Arc<AtomicBool>,
) -> CallScope {
    let once = record.plan.steps.iter().zip(tools).filter(|(_, tool)| !tool.may_repeat());
    let intents = IntentJournal {
        run: record.id.clone(),
        tenant: record.caller.tenant.clone(),
        journal: Arc::clone(&engine.journal),
        nested: engine.toolbox.journal().clone(),
        once: once.map(|(step, _)| step.id.clone()).collect(),
        begun: std::sync::Mutex::default(),
        is_closed,
    };
    let session = Session {
        cancel,
        ..Session::new(record.id.clone())
            .with_caller(record.caller.clone())
            .with_context(engine.context.clone())
    };
    let run = record.id.clone();
    let emit = move |kind| {
        if let Some(observer) = &observer {
            observer(&PlanEvent { run: run.clone(), time_ms: now_ms(), kind });
        }
    };
    CallScope {
        toolbox: engine.toolbox.clone().with_journal(SharedJournal::new(intents)),
        session,
        outer: None,
        emit: Box::new(emit),
        calls: AtomicU64::new(0),
        max_calls: record.plan.limits.calls.unwrap_or(u64::MAX),
    }
}

/// A run that is being driven.
struct Driver<'e> {
    engine: &'e LocalEngine,
    plan: Arc<Plan>,
    positions: HashMap<String, usize>,
    replay: Replay,
    tools: Vec<StepTool>,
    scope: CallScope,
    answered: Answers,
    /// The calls in progress
    calls: RunningCalls,
    /// Why the run as a whole failed
    error: Option<StepError>,
    unrecorded: Option<PlanJournalError>,
}

impl Driver<'_> {
    async fn run(&mut self) {
        let PlanLimits { calls: max_calls, time_ms, parallel } = self.plan.limits;
        let parallel =
            parallel.map_or(usize::MAX, |calls| usize::try_from(calls).unwrap_or(usize::MAX));
        let parallel = parallel.min(self.engine.parallel);
        let left = time_ms.map(|ms| ms.saturating_sub(self.replay.driven_ms));
        let deadline = left.map(|ms| tokio::time::Instant::now() + Duration::from_millis(ms));
        let plan = Arc::clone(&self.plan);
        // The calls borrow what they share, so that the loop may change the rest.
        let (scope, tools, journal) = (&self.scope, &self.tools, &*self.engine.journal);
        let (replay, answered) = (&mut self.replay, &mut self.answered);
        let mut running = FuturesUnordered::new();
        // Answers that came while all permits were taken
        let mut continued: Vec<Next> = Vec::new();
        loop {
            while running.len() < parallel
                && self.unrecorded.is_none()
                && self.error.is_none()
                && !scope.session.cancel.is_cancelled()
            {
                let next = continued.pop();
                let next = next.or_else(|| if replay.is_full() { None } else { replay.next() });
                let Some(next) = next else { break };
                let (call, answer) = match next {
                    Next::Call(call, answer) => (call, answer),
                    Next::Ask(place, question) => {
                        self.unrecorded = ask(scope, journal, &plan, place, question).await.err();
                        continue;
                    }
                    Next::Output(place, output) => {
                        fill_slot(scope, &tools[place.0], &output).await;
                        self.unrecorded =
                            give(scope, journal, &plan, replay, place, output).await.err();
                        continue;
                    }
                };
                if left == Some(0) {
                    self.error = Some(out_of_time(time_ms));
                    break;
                }
                if let Some(max) = max_calls.filter(|_| !scope.may_call()) {
                    let message = format!(
                        "the run has reached its limit of {max} calls; raise limits.calls of the plan"
                    );
                    self.error = Some(StepError::new("limit", message));
                    break;
                }
                scope.count_call();
                let started_ms = now_ms();
                replay.start(call.step, started_ms);
                lock(&self.calls).insert((call.step, call.item), started_ms);
                let (step, tool) = (&plan.steps[call.step], &tools[call.step]);
                running.push(async move {
                    let end = call::make(scope, step, tool, &call, answer).await;
                    let end = record(scope, journal, &step.id, call.item, end, started_ms).await;
                    (call, end)
                });
            }
            announce(scope, &plan, replay);
            if running.is_empty() {
                // Recorded answers may have come in the meantime.
                match answered.try_recv().ok() {
                    Some(answer) => continued.extend(take(&self.positions, replay, answer)),
                    None => return,
                }
                continue;
            }
            tokio::select! {
                biased;
                Some((call, end)) = running.next() => {
                    lock(&self.calls).remove(&(call.step, call.item));
                    match end {
                        CallEnd::Done { result, ended_ms, attempts } => {
                            replay.end(call.step, ended_ms, attempts);
                            match result {
                                Ok(output) => replay.interpreter.succeed(call.step, call.item, output),
                                Err(error) => replay.fail(call.step, call.item, error),
                            }
                        }
                        // A run that is continued later does not reach an item after one that failed.
                        CallEnd::Waiting(_) if replay.is_abandoned(call.step, call.item) => {
                            replay.interpreter.abandon(call.step);
                        }
                        CallEnd::Waiting(approval) => {
                            let place = (call.step, call.item);
                            let question = Question::Approval(approval);
                            replay.wait(call, question.clone());
                            let asked = ask(scope, journal, &plan, place, question).await;
                            self.unrecorded = self.unrecorded.take().or(asked.err());
                        }
                        CallEnd::Cancelled => {}
                        CallEnd::Unrecorded(error) => self.unrecorded = Some(error),
                    }
                }
                Some(answer) = answered.recv() => {
                    continued.extend(take(&self.positions, replay, answer));
                }
                () = until(deadline), if self.error.is_none() => {
                    self.error = Some(out_of_time(time_ms));
                    scope.session.cancel.cancel();
                }
            }
        }
    }

    /// Records how the run ended, and reports it.
    async fn conclude(
        mut self,
        mut record: RunRecord,
    ) -> Result<(RunReport, Answers), PlanRunError> {
        if let Some(error) = self.unrecorded {
            return Err(error.into());
        }
        let interpreter = &self.replay.interpreter;
        if self.error.is_none() && interpreter.is_done() {
            self.error = interpreter.outputs().err();
        }
        record.status = if self.error.is_some() {
            RunStatus::Failed
        } else if self.scope.session.cancel.is_cancelled() {
            RunStatus::Cancelled
        } else if !interpreter.is_done() {
            RunStatus::Waiting
        } else if interpreter.has_failed() {
            RunStatus::Failed
        } else {
            RunStatus::Succeeded
        };
        record.ended_ms = record.status.is_final().then(now_ms);
        if self.plan.limits.time_ms.is_some() || self.error.is_some() {
            let event = EntryEvent::DriveEnded { error: self.error.clone() };
            self.engine.journal.append(&record.id, Entry::new("", None, now_ms(), event)).await?;
        }
        self.engine.journal.set_status(&record.id, record.status, record.ended_ms).await?;
        (self.scope.emit)(PlanEventKind::RunEnded { status: record.status });
        Ok((RunReport::new(record, &self.replay, self.error), self.answered))
    }
}

fn out_of_time(time_ms: Option<u64>) -> StepError {
    let message = format!(
        "the run took longer than {} ms; raise limits.time_ms of the plan",
        time_ms.unwrap_or_default()
    );
    StepError::new("limit", message)
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Takes the answer of a person.
fn take(
    positions: &HashMap<String, usize>,
    replay: &mut Replay,
    (step, item, answer): (String, Option<usize>, StepAnswer),
) -> Option<Next> {
    replay.answer((*positions.get(&step)?, item), answer)
}

/// Records the result of a call, if it has one.
async fn record(
    scope: &CallScope,
    journal: &dyn PlanJournal,
    step: &str,
    item: Option<usize>,
    end: CallEnd,
    started_ms: u64,
) -> CallEnd {
    let CallEnd::Done { result, ended_ms, attempts } = &end else { return end };
    let (time_ms, attempts) = (*ended_ms, *attempts);
    let event = match result {
        Ok(output) => EntryEvent::Succeeded { output: output.clone(), started_ms, attempts },
        Err(error) => EntryEvent::Failed { error: error.clone(), started_ms, attempts },
    };
    let entry = Entry { step: step.to_owned(), item, time_ms, event };
    if let Err(error) = journal.append(&scope.session.run, entry).await {
        return CallEnd::Unrecorded(error);
    }
    (scope.emit)(PlanEventKind::CallEnded {
        step: step.to_owned(),
        item,
        duration_ms: time_ms.saturating_sub(started_ms),
        error: result.as_ref().err().cloned(),
    });
    end
}

/// Asks a person about a call.
async fn ask(
    scope: &CallScope,
    journal: &dyn PlanJournal,
    plan: &Plan,
    (step, item): Place,
    question: Question,
) -> Result<(), PlanJournalError> {
    let step = plan.steps[step].id.clone();
    let reason = question.reason().to_owned();
    let event = EntryEvent::Asked(question);
    let entry = Entry { step: step.clone(), item, time_ms: now_ms(), event };
    journal.append(&scope.session.run, entry).await?;
    (scope.emit)(PlanEventKind::Asked { step, item, reason });
    Ok(())
}

/// Fills the slots that recorded steps have filled, if their values are lost: they may have ended with the process.
async fn restore_slots(scope: &CallScope, tools: &[StepTool], replay: &Replay) {
    let Some(store) = scope.toolbox.handles() else { return };
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (step, tool) in tools.iter().enumerate() {
        if let Some(slot) = tool.slot().filter(|_| replay.recorded_output(step).is_some()) {
            last.insert(slot, step);
        }
    }
    for (slot, step) in last {
        if let Some(output) = replay.recorded_output(step)
            && !handle::has_slot(slot, &scope.session.owner(), store).await
        {
            fill_slot(scope, &tools[step], output).await;
        }
    }
}

/// Fills the slot of a tool with an output that it did not return itself.
async fn fill_slot(scope: &CallScope, tool: &StepTool, output: &Json) {
    if let (Some(slot), Some(store)) = (tool.slot(), scope.toolbox.handles()) {
        let content = match output {
            Json::String(text) => Content::Text(text.as_str().to_owned()),
            output => Content::Json(output.clone()),
        };
        // The call that reads the slot says if it is empty.
        drop(handle::put_in_slot(slot, vec![content], &scope.session.owner(), store).await);
    }
}

/// Records the output that a person gave.
async fn give(
    scope: &CallScope,
    journal: &dyn PlanJournal,
    plan: &Plan,
    replay: &mut Replay,
    (step, item): Place,
    output: Json,
) -> Result<(), PlanJournalError> {
    let time_ms = now_ms();
    let event = EntryEvent::Succeeded { output: output.clone(), started_ms: time_ms, attempts: 0 };
    let entry = Entry { step: plan.steps[step].id.clone(), item, time_ms, event };
    journal.append(&scope.session.run, entry).await?;
    replay.start(step, time_ms);
    replay.end(step, time_ms, 0);
    replay.interpreter.succeed(step, item, output);
    Ok(())
}

/// Tells of the steps that have ended.
fn announce(scope: &CallScope, plan: &Plan, replay: &mut Replay) {
    for at in replay.interpreter.take_settled() {
        let (state, reason) = match replay.interpreter.result(at) {
            Some(StepResult::Succeeded(_)) => (StepState::Succeeded, None),
            Some(StepResult::Skipped { reason }) => (StepState::Skipped, Some(reason.clone())),
            Some(StepResult::Failed { error, .. }) => {
                (StepState::Failed, Some(error.message.clone()))
            }
            Some(StepResult::Blocked { by }) => {
                let reason = format!("the step '{}' failed", plan.steps[*by].id);
                (StepState::Blocked, Some(reason))
            }
            None => continue,
        };
        let step = plan.steps[at].id.clone();
        (scope.emit)(PlanEventKind::StepEnded { step, state, reason });
    }
}
