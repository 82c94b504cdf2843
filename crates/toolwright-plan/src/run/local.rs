//! The engine of this process: it makes calls through a toolbox and records them in a journal.

mod drive;
mod host;
pub(crate) mod nested;
mod report;
mod resume;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use toolwright_json::pointer;
use toolwright_runtime::context::Context;
use toolwright_runtime::ledger::ApprovalEntry;
use toolwright_runtime::session::Caller;
use toolwright_runtime::toolbox::Toolbox;

use crate::plan::{
    Graph, Interpreter, MAX_STEPS, Plan, PlanError, PlanErrorKind, PlanTools, Template, check,
};

use super::engine::{Engine, EngineFuture, NewRun, PlanRunError};
use super::event::Observer;
use super::journal::{
    Entry, EntryEvent, MemoryPlanJournal, PlanJournal, PlanJournalError, RunQuota, RunRecord,
    RunStatus, StepAnswer,
};
use super::memory::Reservation;
use super::replay::{
    NestedEntries, NestedQuestion, Place, Replay, nested_questions, split_entries,
};
use super::report::{RunReport, StepQuestion};
use super::scope::{RunScope, call_id, outermost};
use super::start::{blocking, check_run, digests, new_record, now_ms};
use super::tools::plan_tools;

/// Number of concurrent calls of a run, unless the plan or the host says otherwise.
const PARALLEL: usize = 32;

/// Time between two attempts to reserve memory for a run that waits for it.
const MEMORY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs plans in this process. Clones share their runs.
#[derive(Clone)]
pub struct LocalEngine {
    toolbox: Toolbox,
    journal: Arc<dyn PlanJournal>,
    context: Context,
    max_steps: usize,
    parallel: usize,
    accepts_changed_tools: bool,
    /// How many runs a tenant may have
    quota: Option<RunQuota>,
    /// Whether the host continues runs by itself after a restart
    resumes: bool,
    /// Whether a run waits until there is enough memory to load it
    waits_for_memory: bool,
    /// Who acts through this engine
    caller: Caller,
    /// Cancelled when no further call may start
    stop: CancellationToken,
    /// Held while an answer is recorded
    answering: Arc<tokio::sync::Mutex<()>>,
    /// The runs that are being driven
    live: Arc<Mutex<HashMap<Arc<str>, LiveRun>>>,
}

/// A run that is being driven.
#[derive(Clone)]
struct LiveRun {
    cancel: CancellationToken,
    scope: Arc<RunScope>,
    running: RunningCalls,
    /// Cancelled when the drive has ended
    ended: CancellationToken,
}

/// A run as its journal tells it.
struct Loaded {
    record: RunRecord,
    tools: PlanTools,
    replay: Replay,
    /// What happened within its calls
    nested: NestedEntries,
    nested_questions: Vec<NestedQuestion>,
    /// The memory of its values
    memory: Arc<Reservation>,
}

/// The calls in progress of a run, and when each started, in milliseconds since 1970.
type RunningCalls = Arc<Mutex<Vec<(Place, u64)>>>;

impl LocalEngine {
    /// Creates an engine whose runs end with the process.
    pub fn new(toolbox: Toolbox) -> LocalEngine {
        LocalEngine {
            toolbox,
            journal: Arc::new(MemoryPlanJournal::new()),
            context: Context::new(),
            max_steps: MAX_STEPS,
            parallel: PARALLEL,
            accepts_changed_tools: false,
            quota: None,
            resumes: false,
            waits_for_memory: false,
            caller: Caller::default(),
            stop: CancellationToken::new(),
            answering: Arc::default(),
            live: Arc::default(),
        }
    }

    /// The same engine with another toolbox, such as that of another caller. They share their runs.
    #[must_use]
    pub fn with_toolbox(&self, toolbox: Toolbox) -> LocalEngine {
        LocalEngine { toolbox, ..self.clone() }
    }

    /// Sets the journal of runs.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn PlanJournal>) -> LocalEngine {
        self.journal = journal;
        self
    }

    /// Sets the context of all runs: values for tools that no plan contains.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> LocalEngine {
        self.context = context;
        self
    }

    /// Sets the maximum number of steps of a plan.
    #[must_use]
    pub fn with_max_steps(mut self, steps: usize) -> LocalEngine {
        self.max_steps = steps;
        self
    }

    /// Sets the maximum number of concurrent calls of a run.
    #[must_use]
    pub fn with_parallel(mut self, calls: usize) -> LocalEngine {
        self.parallel = calls.max(1);
        self
    }

    /// Continues runs whose tools have changed since they started.
    #[must_use]
    pub fn with_changed_tools(mut self) -> LocalEngine {
        self.accepts_changed_tools = true;
        self
    }

    /// Sets who answers questions through this engine: the journal and the ledger have the name.
    #[must_use]
    pub fn with_caller(mut self, caller: Caller) -> LocalEngine {
        self.caller = caller;
        self
    }

    /// Limits how many runs a tenant may have. The oldest ended ones are removed for new ones.
    #[must_use]
    pub fn with_quota(mut self, quota: RunQuota) -> LocalEngine {
        self.quota = Some(quota);
        self
    }

    /// Lets the host continue new runs by itself after a restart, with [`resume`](Self::resume).
    #[must_use]
    pub fn with_resumed_runs(mut self) -> LocalEngine {
        self.resumes = true;
        self
    }

    /// Lets runs end as interrupted after their calls in progress, once the token is cancelled.
    #[must_use]
    pub fn with_stop(mut self, stop: CancellationToken) -> LocalEngine {
        self.stop = stop;
        self
    }

    /// Returns the journal of runs.
    pub fn journal(&self) -> &Arc<dyn PlanJournal> {
        &self.journal
    }

    fn live(&self) -> MutexGuard<'_, HashMap<Arc<str>, LiveRun>> {
        self.live.lock()
    }

    async fn tools(&self, plan: &Plan) -> PlanTools {
        plan_tools(&self.toolbox, plan.tool_names()).await
    }

    async fn start_run(&self, new: NewRun) -> Result<Arc<str>, PlanRunError> {
        if let Some(id) = &new.id
            && self.journal.summary(id).await.is_ok()
        {
            // It may exist although its tools do not any more.
            return Err(PlanJournalError::Exists(id.to_string()).into());
        }
        // A plan with too many steps is refused before its tools are asked for.
        let is_small = new.plan.steps.len() <= self.max_steps;
        let mut tools = if is_small { self.tools(&new.plan).await } else { PlanTools::default() };
        let max_steps = self.max_steps;
        let mut record = blocking(move || check_run(new, &mut tools, max_steps)).await??;
        record.resumes = self.resumes;
        self.journal.create(&record, Vec::new(), self.quota).await?;
        Ok(record.id)
    }

    /// Records a new run that repeats another one from a step on, with other arguments for this step if they are
    /// given. The results of all steps that do not depend on it are those of the other run, which must not be in
    /// progress; a call of theirs with an unknown outcome is a question in the new run as well. Returns the id of the
    /// new run.
    pub async fn fork(
        &self,
        run: &str,
        step: &str,
        arguments: Option<Vec<(String, Template)>>,
        caller: Caller,
    ) -> Result<Arc<str>, PlanRunError> {
        let _claim = self.journal.claim(run).await?;
        let _memory = self.reserve(run).await?;
        let (record, mut entries) = self.journal.load(run).await?;
        let mut plan = (*record.plan).clone();
        let at = plan.position(step).ok_or_else(|| {
            let message = format!("there is no step '{step}'");
            PlanRunError::Invalid(vec![PlanError::new(PlanErrorKind::Reference, "", message)])
        })?;
        if let Some(arguments) = arguments {
            plan.steps[at].args = arguments;
        }
        let tools = self.tools(&plan).await;
        let max_steps = self.max_steps;
        let RunRecord { id: parent, inputs, .. } = record;
        let forked = blocking(move || {
            let errors = check(&plan, &tools, max_steps).errors;
            if !errors.is_empty() {
                return Err(PlanRunError::Invalid(errors));
            }
            let mut repeated = Graph::new(&plan, &tools).dependents(at);
            repeated.push(at);
            let repeated: HashSet<String> =
                repeated.into_iter().map(|at| plan.steps[at].id.clone()).collect();
            Ok((new_record(plan, inputs, caller, &tools, Some(parent))?, repeated))
        });
        let (mut forked, repeated) = forked.await??;
        forked.resumes = self.resumes;
        // Questions, answers and drives belong to their run.
        entries.retain(|entry| {
            use EntryEvent::{Answered, Asked, DriveEnded, DriveStarted, Resumed};
            let is_of_run = matches!(
                entry.event,
                Asked(_) | Answered { .. } | Resumed | DriveStarted | DriveEnded { .. }
            );
            !is_of_run && !repeated.contains(outermost(&entry.step).0)
        });
        self.journal.create(&forked, entries, self.quota).await?;
        Ok(forked.id)
    }

    /// Reserves the memory of a run that is to be loaded.
    async fn reserve(&self, run: &str) -> Result<Reservation, PlanRunError> {
        let weight = self.journal.weight(run).await?;
        loop {
            let memory = Reservation::of(&self.context).await;
            let Err(error) = memory.grow(weight).await else { return Ok(memory) };
            if !self.waits_for_memory || !memory.may_fit(weight) {
                return Err(PlanRunError::TooLarge(error));
            }
            tokio::select! {
                () = tokio::time::sleep(MEMORY_INTERVAL) => {}
                () = self.stop.cancelled() => return Err(PlanRunError::TooLarge(error)),
            }
        }
    }

    /// Loads a run, with the tools of its plan.
    async fn load(&self, run: &str) -> Result<Loaded, PlanRunError> {
        let is_live = self.live().contains_key(run);
        let memory = Arc::new(self.reserve(run).await?);
        let (record, entries) = self.journal.load(run).await?;
        let tools = self.tools(&record.plan).await;
        let load = move || {
            let graph = Arc::new(Graph::new(&record.plan, &tools));
            let (plan, inputs) = (Arc::clone(&record.plan), Arc::clone(&record.inputs));
            let (own, nested) = split_entries(entries);
            let nested_questions = nested_questions(&nested, is_live);
            let interpreter = Interpreter::new(plan, graph, inputs);
            let replay = Replay::new(record.created_ms, own, interpreter);
            Loaded { record, tools, replay, nested, nested_questions, memory }
        };
        blocking(load).await
    }

    /// Checks that a run can be continued: it has not ended, and its tools are those that it started with.
    pub async fn check_run(&self, run: &str) -> Result<(), PlanRunError> {
        let loaded = self.load(run).await?;
        self.check_record(&loaded.record, &loaded.tools)
    }

    /// Records what happened to a run as a whole.
    async fn note(&self, run: &str, event: EntryEvent) -> Result<(), PlanRunError> {
        Ok(self.journal.append(run, Entry::new("", None, now_ms(), event)).await?)
    }

    /// Records the answer to a question of a run. Without an item, it answers the questions of all items of the step.
    async fn answer_step(
        &self,
        run: &str,
        step: &str,
        item: Option<usize>,
        answer: StepAnswer,
    ) -> Result<bool, PlanRunError> {
        let _turn = self.answering.lock().await;
        // If another process drives the run, a call that was started there may be in progress.
        let claim = loop {
            if self.live().contains_key(run) {
                break None;
            }
            match self.journal.claim(run).await {
                Ok(claim) => break Some(claim),
                // A drive has just started here.
                Err(PlanJournalError::InProgress(_)) if self.live().contains_key(run) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let is_live = claim.is_none();
        let Loaded { record, mut replay, nested_questions, memory: _memory, .. } =
            self.load(run).await?;
        record.check_open()?;
        let new = replay.prepare_report(is_live).into_iter();
        let new = new.map(|(at, item)| (record.plan.steps[at].id.clone(), item));
        let mut new: HashSet<(String, Option<usize>)> = new.collect();
        let unrecorded = nested_questions.iter().filter(|own| !own.is_recorded);
        new.extend(unrecorded.map(|own| (own.step.clone(), own.item)));
        let mut questions = StepQuestion::all(&record.plan, &replay, nested_questions);
        let open = questions.len();
        questions.retain(|own| own.step == step && (item.is_none() || own.item == item));
        if questions.is_empty() {
            return Err(PlanRunError::NoQuestion(step.to_owned()));
        }
        if !is_live && questions.len() == open {
            // Nothing waits any more: until something drives the run, it is interrupted. This is recorded first,
            // because a run that waits and has its answer would wait for ever.
            self.note(run, EntryEvent::DriveEnded { error: None }).await?;
            self.journal.set_status(run, RunStatus::Running, None).await?;
        }
        let mut is_continued = true;
        for StepQuestion { step, item, question, tool } in questions {
            let entry = |event| Entry::new(step.as_str(), item, now_ms(), event);
            if new.contains(&(step.clone(), item)) {
                self.journal.append(run, entry(EntryEvent::Asked(question))).await?;
            }
            let by = Some(self.caller.id.clone());
            let answered = EntryEvent::Answered { answer: answer.clone(), by };
            self.journal.append(run, entry(answered)).await?;
            self.record_answer(&record, &call_id(&step, item), &tool, &answer).await;
            let live = self.live().get(run).map(|live| Arc::clone(&live.scope));
            is_continued &= live.is_some_and(|scope| scope.deliver(&step, item, &answer));
        }
        drop(claim);
        Ok(is_continued)
    }

    /// Records in the ledger who answered a question.
    async fn record_answer(&self, record: &RunRecord, call: &str, tool: &str, answer: &StepAnswer) {
        let Some(ledger) = self.toolbox.ledger() else { return };
        // The name of the tool has no version.
        let handler = self.toolbox.resolve(tool).await;
        let tool = handler.as_ref().map_or(tool, |handler| handler.tool().name.as_str());
        let entry = ApprovalEntry {
            time: SystemTime::now(),
            run: record.id.clone(),
            caller: self.caller.clone(),
            approval: call.into(),
            tool: tool.into(),
            conversation: None,
            approved: *answer == StepAnswer::Approve,
        };
        ledger.record(entry.into());
    }

    fn check_record(&self, record: &RunRecord, tools: &PlanTools) -> Result<(), PlanRunError> {
        record.check_open()?;
        let missing = record.plan.steps.iter().filter_map(|step| {
            let path = format!("/steps/{}/tool", pointer::escape(&step.id));
            tools.find(&step.tool, &path).err()
        });
        let missing: Vec<PlanError> = missing.collect();
        if !missing.is_empty() {
            return Err(PlanRunError::ToolsMissing(missing));
        }
        let now = digests(&record.plan, tools);
        let changed = record.digests.iter().filter(|known| !now.contains(known));
        let changed: Vec<String> = changed.map(|(tool, _)| tool.clone()).collect();
        if changed.is_empty() || self.accepts_changed_tools {
            return Ok(());
        }
        Err(PlanRunError::ToolsChanged(changed))
    }
}

impl Engine for LocalEngine {
    fn start(&self, run: NewRun) -> EngineFuture<'_, Arc<str>> {
        Box::pin(self.start_run(run))
    }

    fn drive<'a>(
        &'a self,
        run: &'a str,
        observer: Option<Observer>,
    ) -> EngineFuture<'a, RunReport> {
        Box::pin(drive::drive(self, run, observer))
    }

    fn answer<'a>(
        &'a self,
        run: &'a str,
        step: &'a str,
        item: Option<usize>,
        answer: StepAnswer,
    ) -> EngineFuture<'a, bool> {
        Box::pin(self.answer_step(run, step, item, answer))
    }

    fn cancel<'a>(&'a self, run: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            if let Some(live) = self.live().get(run) {
                live.cancel.cancel();
                return Ok(());
            }
            let status = self.journal.summary(run).await?.status;
            if status.is_final() {
                return Err(PlanRunError::Ended(status.as_str()));
            }
            let _claim = self.journal.claim(run).await?;
            Ok(self.journal.set_status(run, RunStatus::Cancelled, Some(now_ms())).await?)
        })
    }

    fn report<'a>(&'a self, run: &'a str) -> EngineFuture<'a, RunReport> {
        Box::pin(self.look(run, true))
    }
}
