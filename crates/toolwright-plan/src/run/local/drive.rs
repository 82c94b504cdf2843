//! Drives a run: claims it, continues what its journal tells, and records how it ends.

use std::collections::hash_map::Entry as LiveEntry;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use toolwright_runtime::call::journal::SharedJournal;
use toolwright_runtime::session::Session;

use super::host::LocalHost;
use super::{LiveRun, LocalEngine, RunningCalls};
use crate::run::call::{self, CallScope};
use crate::run::drive::{DriveEnd, Driver};
use crate::run::engine::PlanRunError;
use crate::run::event::{Observer, PlanEvent, PlanEventKind};
use crate::run::journal::{
    Entry, EntryEvent, PlanJournal, PlanJournalError, PlanJournalFuture, RunRecord, RunStatus,
};
use crate::run::replay::{NestedEntries, split_entries};
use crate::run::report::RunReport;
use crate::run::scope::{RunLog, RunScope, Writes};
use crate::run::start::now_ms;

/// Makes the calls of a run until it ends or waits for a person.
pub(super) async fn drive(
    engine: &LocalEngine,
    run: &str,
    observer: Option<Observer>,
) -> Result<RunReport, PlanRunError> {
    let (live, writes) = engine.enter(run).await?;
    let scope = Arc::clone(&live.run.scope);
    // Answers that come after the journal is read go to the driver.
    let (messages, _driver) = scope.enter("");
    let claim = engine.journal.claim(run).await?;
    let loaded = engine.load(run).await?;
    let mut record = loaded.record;
    engine.check_record(&record, &loaded.tools)?;
    scope.set_entries(loaded.nested);
    let tools = call::step_tools(&engine.toolbox, &record.plan).await;
    let tools = tools.map_err(|error| PlanRunError::Engine(error.text))?;
    if record.status != RunStatus::Running {
        record.status = RunStatus::Running;
        engine.journal.set_status(run, record.status, None).await?;
    }
    let host = LocalHost {
        plan: Arc::clone(&record.plan),
        tools,
        calls: calls(engine, &record, &live.run, observer),
        messages: Some(Mutex::new(messages)),
        running: Arc::clone(&live.run.running),
        memory: loaded.memory,
    };
    host.restore_slots(&loaded.replay).await;
    if record.plan.limits.time_ms.is_some() {
        engine.note(run, EntryEvent::DriveStarted).await?;
    }
    let mut driver = Driver::new(&host, loaded.replay, engine.parallel);
    let end = writes.during(driver.run()).await;
    let concluded = conclude(engine, record, &host, driver, end).await;
    drop(claim);
    concluded
}

/// Records how a drive ended, and reports it.
async fn conclude(
    engine: &LocalEngine,
    mut record: RunRecord,
    host: &LocalHost,
    driver: Driver<'_, LocalHost>,
    end: DriveEnd,
) -> Result<RunReport, PlanRunError> {
    let (status, outputs, error) = match end {
        DriveEnd::Ended { status, outputs, error } => (status, Some(Ok(outputs)), error),
        DriveEnd::Waiting => (RunStatus::Waiting, None, None),
        // Nothing makes its calls any more, which the journal shows.
        DriveEnd::Stopped => (RunStatus::Running, None, None),
        DriveEnd::Unrecorded(error) => return Err(error.into()),
    };
    (record.status, record.ended_ms) = (status, status.is_final().then(now_ms));
    let is_resumed = driver.replay.resumed > 0 || driver.replay.error.is_some();
    if record.plan.limits.time_ms.is_some() || error.is_some() || is_resumed {
        engine.note(&record.id, EntryEvent::DriveEnded { error: error.clone() }).await?;
    }
    engine.journal.set_status(&record.id, status, record.ended_ms).await?;
    if status == RunStatus::Running {
        record.status = RunStatus::Interrupted;
    }
    (host.calls.emit)(PlanEventKind::RunEnded { status: record.status });
    let nested = host.calls.run.as_ref().map(|run| run.questions()).unwrap_or_default();
    let memory = Some(Arc::clone(&host.memory));
    let outputs = if outputs.is_some() {
        outputs
    } else {
        let weight = driver.replay.interpreter.outputs_weight();
        host.memory.grow(weight).await.err().map(Err)
    };
    Ok(RunReport::new(record, &driver.replay, nested, outputs, error, memory))
}

fn calls(
    engine: &LocalEngine,
    record: &RunRecord,
    live: &LiveRun,
    observer: Option<Observer>,
) -> CallScope {
    let context = engine.context.clone().with(Arc::clone(&live.scope));
    let session = Session {
        cancel: live.cancel.clone(),
        ..Session::new(record.id.clone()).with_caller(record.caller.clone()).with_context(context)
    };
    let run = record.id.clone();
    let emit = move |kind| {
        if let Some(observer) = &observer {
            observer(&PlanEvent { run: run.clone(), time_ms: now_ms(), kind });
        }
    };
    CallScope {
        toolbox: engine.toolbox.clone().with_journal(SharedJournal::of(live.scope.clone())),
        session,
        outer: None,
        run: Some(Arc::clone(&live.scope)),
        stop: engine.stop.clone(),
        emit: Box::new(emit),
        attempts: AtomicU64::new(0),
        max_attempts: record.plan.limits.calls.unwrap_or(u64::MAX),
    }
}

/// A run in a journal.
struct JournalLog {
    journal: Arc<dyn PlanJournal>,
    run: Arc<str>,
}

impl RunLog for JournalLog {
    fn append(&self, entry: Entry) -> PlanJournalFuture<'_, ()> {
        self.journal.append(&self.run, entry)
    }

    fn load_nested(&self) -> PlanJournalFuture<'_, NestedEntries> {
        Box::pin(async { Ok(split_entries(self.journal.load(&self.run).await?.1).1) })
    }
}

/// A run that is being driven, until this is dropped.
pub(super) struct LiveGuard<'e> {
    engine: &'e LocalEngine,
    id: Arc<str>,
    run: LiveRun,
}

impl Drop for LiveGuard<'_> {
    fn drop(&mut self) {
        self.engine.live().remove(&self.id);
        self.run.ended.cancel();
    }
}

impl LocalEngine {
    /// Begins to drive a run, which nothing in this process may drive. A drive that only has to record its end is
    /// waited for.
    async fn enter(&self, id: &str) -> Result<(LiveGuard<'_>, Writes), PlanRunError> {
        loop {
            let ending = match self.live().entry(id.into()) {
                LiveEntry::Vacant(vacant) => {
                    let (run, calls) = (vacant.key().clone(), self.toolbox.journal().clone());
                    let log = JournalLog { journal: Arc::clone(&self.journal), run: run.clone() };
                    let (scope, writes) =
                        RunScope::new(Arc::new(log), false, calls, self.stop.clone());
                    let live = LiveRun {
                        cancel: CancellationToken::new(),
                        scope: Arc::new(scope),
                        running: RunningCalls::default(),
                        ended: CancellationToken::new(),
                    };
                    vacant.insert(live.clone());
                    return Ok((LiveGuard { engine: self, id: run, run: live }, writes));
                }
                LiveEntry::Occupied(live) if live.get().scope.has_left("") => {
                    live.get().ended.clone()
                }
                LiveEntry::Occupied(_) => {
                    return Err(PlanJournalError::InProgress(id.to_owned()).into());
                }
            };
            ending.cancelled().await;
        }
    }
}
