//! The engine for plans on a Temporal server. It starts workflows and watches them; workers make the calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use temporalio_client::errors::{
    WorkflowGetResultError, WorkflowInteractionError, WorkflowQueryError,
};
use temporalio_client::{
    Client, WorkflowCancelOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowQueryOptions,
    WorkflowSignalOptions, WorkflowStartOptions,
};
use tokio::sync::OnceCell;
use toolwright_core::document::DocumentError;
use toolwright_core::{Json, object};
use toolwright_json::Object;
use toolwright_runtime::handle::HandleStore;

use crate::plan::stored::{Needs, has_handles};
use crate::plan::{MAX_STEPS, Plan, PlanError, PlanErrorKind, PlanTools, Source, StepError};

use super::TemporalError;
use super::client::{Address, connect};
use super::payload::Document;
use super::reply::{read_result, read_tools, take_page};
use super::state::{RunSettings, RunState, ToolPlace};
use super::values::{INLINE_BYTES, PAYLOAD_BYTES, Values};
use super::watch::Watch;
use super::workflow::{PlanWorkflow, ToolsWorkflow, write_answer};
use crate::run::journal::PlanJournalError;
use crate::run::start::{blocking, check_run};
use crate::run::{
    Engine, EngineFuture, NewRun, Observer, PlanRunError, RunReport, RunStatus, StepAnswer,
    StepQuestion,
};

/// Number of concurrent calls of a run, unless the plan or the host says otherwise. Temporal allows 2,000.
const PARALLEL: usize = 200;

/// How long the workers may take to describe their tools.
const DESCRIBE: Duration = Duration::from_secs(30);

/// How long a drive goes on while the server does not answer.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs plans on a Temporal server. Calls are made by [workers](super::TemporalWorker).
#[derive(Clone)]
pub struct TemporalEngine {
    address: Address,
    queues: Vec<String>,
    values: Values,
    settings: RunSettings,
    max_steps: usize,
    client: Arc<OnceCell<Client>>,
}

pub(super) type Handle<W> = WorkflowHandle<Client, W>;

impl TemporalEngine {
    /// Creates an engine for workers of some task queues. A tool is called on the first queue whose worker has it; the
    /// first queue also has the workflows.
    pub fn new(
        address: Address,
        queues: impl IntoIterator<Item = impl Into<String>>,
    ) -> TemporalEngine {
        TemporalEngine {
            address,
            queues: queues.into_iter().map(Into::into).collect(),
            values: Values::default(),
            settings: RunSettings { parallel: PARALLEL, heartbeat: Duration::from_secs(10) },
            max_steps: MAX_STEPS,
            client: Arc::default(),
        }
    }

    /// Sets the store for large values, which must be that of the workers.
    #[must_use]
    pub fn with_handles(mut self, store: Arc<dyn HandleStore>) -> TemporalEngine {
        self.values = Values(Some(store));
        self
    }

    /// Sets the maximum number of concurrent calls of a run, at most 1,000.
    #[must_use]
    pub fn with_parallel(mut self, calls: usize) -> TemporalEngine {
        self.settings.parallel = calls.clamp(1, 1000);
        self
    }

    pub(super) async fn client(&self) -> Result<&Client, PlanRunError> {
        Ok(self.client.get_or_try_init(|| connect(&self.address)).await?)
    }

    async fn handle(&self, run: &str) -> Result<Handle<PlanWorkflow>, PlanRunError> {
        Ok(self.client().await?.get_workflow_handle::<PlanWorkflow>(run))
    }

    /// Asks the workers for the tools of a plan.
    async fn tools(
        &self,
        plan: &Plan,
    ) -> Result<(PlanTools, BTreeMap<String, ToolPlace>), PlanRunError> {
        let Some(queue) = self.queues.first() else {
            return Err(PlanRunError::Engine("the engine has no task queue".to_owned()));
        };
        let names: BTreeSet<&str> = plan.tool_names().collect();
        let names: Vec<&str> = names.into_iter().collect();
        let queues: Vec<&str> = self.queues.iter().map(String::as_str).collect();
        let request = object! {"queues": queues, "names": names};
        let id = format!("tools_{}", crate::run::start::random_id()?);
        let options =
            WorkflowStartOptions::new(queue.as_str(), id).execution_timeout(DESCRIBE).build();
        let client = self.client().await?;
        let started = client.start_workflow(ToolsWorkflow::run, Document::from(request), options);
        let started = started.await.map_err(|error| engine(&error))?;
        let described = started.get_result(WorkflowGetResultOptions::default()).await;
        let described = described.map_err(|error| match error {
            WorkflowGetResultError::TimedOut => PlanRunError::Engine(format!(
                "no worker answered on the task queue '{queue}': start one with toolwright worker"
            )),
            WorkflowGetResultError::Failed(error) => PlanRunError::Engine(error.to_string()),
            error => engine(&error),
        })?;
        read_tools(&described.0).map_err(|error| damaged(&error))
    }

    async fn start_run(&self, new: NewRun) -> Result<Arc<str>, PlanRunError> {
        let (mut tools, places) = if new.plan.steps.len() <= self.max_steps {
            self.tools(&new.plan).await?
        } else {
            (PlanTools::default(), BTreeMap::new())
        };
        let max_steps = self.max_steps;
        let mut record = blocking(move || check_run(new, &mut tools, max_steps)).await??;
        let refuse = |path: &str, message: String| {
            let error = PlanError::new(PlanErrorKind::Limit, path.to_owned(), message);
            PlanRunError::Invalid(vec![error])
        };
        if has_handles(&record.plan.to_json().into()) {
            let message = "'$handle' has a meaning on Temporal and cannot be in a plan".to_owned();
            return Err(refuse("", message));
        }
        let owner = record.owner();
        let needs = Needs::new(&record.plan, &Source::Inputs);
        let inputs = (*record.inputs).clone();
        let inputs = self.values.put(&owner, inputs, &needs, INLINE_BYTES).await;
        record.inputs = Arc::new(inputs.map_err(|error| refuse("/inputs", error.message))?);
        let name = record.plan.name.clone();
        let id = record.id.clone();
        let state = RunState {
            record,
            settings: self.settings,
            tools: places,
            entries: Vec::new(),
            active_ms: 0,
            error: None,
        };
        let state = state.to_json();
        let bytes = state.compact().len();
        if bytes > PAYLOAD_BYTES {
            let message = format!(
                "the plan has {bytes} bytes, and Temporal takes {PAYLOAD_BYTES}: pass large values as inputs"
            );
            return Err(refuse("", message));
        }
        let queue = self.queues.first().map_or("", String::as_str);
        let options = WorkflowStartOptions::new(queue, &*id).maybe_static_summary(name).build();
        let client = self.client().await?;
        let started = client.start_workflow(PlanWorkflow::run, Document::from(state), options);
        started.await.map_err(|error| engine(&error))?;
        Ok(id)
    }

    /// Loads a run: from the result of its workflow if it has ended, else from the workflow.
    async fn load(&self, run: &str) -> Result<Loaded, PlanRunError> {
        let handle = self.handle(run).await?;
        let described =
            handle.describe(temporalio_client::WorkflowDescribeOptions::default()).await;
        let described = described.map_err(|error| interaction(run, error))?;
        let status = described.status();
        let mut end = None;
        if status != temporalio_client::WorkflowExecutionStatus::Running {
            let ended = handle.get_result(WorkflowGetResultOptions::default()).await;
            end = Some(read_result(run, ended)?);
        }
        let whole = end.as_ref().and_then(|end| end.get("run"));
        let mut loaded = match whole {
            Some(state) => {
                let state = RunState::from_json(state).map_err(|error| damaged(&error))?;
                Loaded { state, running: Vec::new() }
            }
            None => query(&handle, run, None).await?,
        };
        if let Some(end) = end {
            loaded.state.read_end(&end).map_err(|error| damaged(&error))?;
        }
        Ok(loaded)
    }

    /// Watches a run until it ends or waits for a person.
    async fn watch(
        &self,
        run: &str,
        observer: Option<Observer>,
    ) -> Result<RunReport, PlanRunError> {
        let handle = self.handle(run).await?;
        let first = self.load(run).await?;
        let mut watch = Watch::new(run, observer, &first.state.entries);
        // The run does not need to be watched in order to go on.
        if first.state.record.status.is_final() {
            watch.look(&first);
            return with_outputs(self.report_of(first).await);
        }
        let mut known = first.state;
        let mut lost: Option<Instant> = None;
        let mut pause = Duration::from_millis(50);
        let ended = || Box::pin(handle.get_result(WorkflowGetResultOptions::default()));
        let mut end = ended();
        loop {
            // The end of the workflow is reported at once, everything else is asked for.
            let has_ended = tokio::select! {
                result = &mut end => {
                    end = ended();
                    result.is_ok() || result.is_err_and(|error| error.is_workflow_outcome())
                }
                () = tokio::time::sleep(pause) => false,
            };
            pause = (pause * 2).min(Duration::from_millis(500));
            let loaded = if has_ended {
                self.load(run).await
            } else {
                query(&handle, run, Some(known.clone())).await
            };
            match loaded {
                Ok(loaded) => {
                    lost = None;
                    watch.look(&loaded);
                    if loaded.state.record.status != RunStatus::Running {
                        return with_outputs(self.report_of(loaded).await);
                    }
                    known = loaded.state;
                }
                Err(error) if lost.get_or_insert_with(Instant::now).elapsed() > PATIENCE => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
    }

    /// Returns the report of a run, with stored values in their places. What cannot be read is left out; the error says
    /// so if it is an output of a run that succeeded.
    async fn report_of(&self, loaded: Loaded) -> RunReport {
        let Loaded { state, running } = loaded;
        let mut replay = state.replay();
        replay.prepare_report(true);
        for step in running {
            if let Some(status) = replay.statuses.get_mut(step) {
                status.state = crate::plan::StepState::Running;
            }
        }
        let (owner, nested) = (state.record.owner(), state.nested_questions());
        let mut report = RunReport::new(state.record, &replay, nested, None, state.error, None);
        for (name, value) in report.outputs.iter_mut() {
            let Err(error) = self.values.get(&owner, value).await else { continue };
            *value = Json::Null;
            if report.run.status == RunStatus::Succeeded {
                let message = format!("the output '{name}' cannot be read: {error}");
                report.error.get_or_insert(StepError { message, ..error });
            }
        }
        for step in &mut report.steps {
            if let Some(input) = &mut step.input
                && self.values.get(&owner, input).await.is_err()
            {
                step.input = None;
            }
            if let Some(output) = &mut step.output
                && self.values.get(&owner, Arc::make_mut(output)).await.is_err()
            {
                step.output = None;
            }
        }
        report
    }
}

/// Refuses the report of a run that succeeded if its outputs cannot be read.
fn with_outputs(report: RunReport) -> Result<RunReport, PlanRunError> {
    match report.error {
        Some(error) if report.run.status == RunStatus::Succeeded => {
            Err(PlanRunError::Engine(error.message))
        }
        _ => Ok(report),
    }
}

/// A run as it was loaded.
pub(super) struct Loaded {
    pub(super) state: RunState,
    /// The steps with calls in progress
    pub(super) running: Vec<usize>,
}

impl Engine for TemporalEngine {
    fn start(&self, run: NewRun) -> EngineFuture<'_, Arc<str>> {
        Box::pin(self.start_run(run))
    }

    fn drive<'a>(
        &'a self,
        run: &'a str,
        observer: Option<Observer>,
    ) -> EngineFuture<'a, RunReport> {
        Box::pin(self.watch(run, observer))
    }

    fn answer<'a>(
        &'a self,
        run: &'a str,
        step: &'a str,
        item: Option<usize>,
        answer: StepAnswer,
    ) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            let Loaded { state, .. } = self.load(run).await?;
            state.record.check_open()?;
            let mut replay = state.replay();
            replay.prepare_report(true);
            let plan = &state.record.plan;
            let mut asked = StepQuestion::all(plan, &replay, state.nested_questions());
            asked.retain(|own| own.step == step && (item.is_none() || own.item == item));
            if asked.is_empty() {
                return Err(PlanRunError::NoQuestion(step.to_owned()));
            }
            let answer = match answer {
                StepAnswer::Output(output) => {
                    let owner = state.record.owner();
                    let needs = Needs::new(plan, &Source::Step(step.to_owned()));
                    let output = Arc::unwrap_or_clone(output);
                    let stored = self.values.put(&owner, output, &needs, INLINE_BYTES).await;
                    let stored = stored.map_err(|error| PlanRunError::Engine(error.message))?;
                    StepAnswer::Output(Arc::new(stored))
                }
                answer => answer,
            };
            let handle = self.handle(run).await?;
            for question in asked {
                let answer = Document::from(write_answer(step, question.item, &answer));
                let options = WorkflowSignalOptions::default();
                let sent = handle.signal(PlanWorkflow::answer, answer, options).await;
                sent.map_err(|error| interaction(run, error))?;
            }
            Ok(true)
        })
    }

    fn cancel<'a>(&'a self, run: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            self.load(run).await?.state.record.check_open()?;
            let cancelled = self.handle(run).await?.cancel(WorkflowCancelOptions::default()).await;
            cancelled.map_err(|error| interaction(run, error))
        })
    }

    fn report<'a>(&'a self, run: &'a str) -> EngineFuture<'a, RunReport> {
        Box::pin(async move { Ok(self.report_of(self.load(run).await?).await) })
    }
}

/// Asks a workflow for its run, page by page, without what is known already.
pub(super) async fn query(
    handle: &Handle<PlanWorkflow>,
    run: &str,
    known: Option<RunState>,
) -> Result<Loaded, PlanRunError> {
    let mut found = known;
    loop {
        let mut request = Object::new();
        match &found {
            Some(state) => request.insert("from", state.entries.len()),
            None => request.insert("run", true),
        }
        let options = WorkflowQueryOptions::default();
        let page = handle.query(PlanWorkflow::journal, Document::from(request), options).await;
        let Document(page) = page.map_err(|error| query_error(run, error))?;
        let (running, total) = take_page(&mut found, &page).map_err(|error| damaged(&error))?;
        if let Some(state) = found.take_if(|state| state.entries.len() >= total) {
            return Ok(Loaded { state, running });
        }
    }
}

fn unknown(run: &str) -> PlanRunError {
    PlanJournalError::UnknownRun(run.to_owned()).into()
}

fn engine(error: &dyn std::error::Error) -> PlanRunError {
    PlanRunError::Engine(format!("Temporal: {error}"))
}

fn interaction(run: &str, error: WorkflowInteractionError) -> PlanRunError {
    match error {
        WorkflowInteractionError::NotFound(_) => unknown(run),
        error => engine(&error),
    }
}

fn query_error(run: &str, error: WorkflowQueryError) -> PlanRunError {
    match error {
        WorkflowQueryError::NotFound(_) => unknown(run),
        error => PlanRunError::Engine(format!(
            "no worker answers for the run {run}: {error}; start one with toolwright worker"
        )),
    }
}

fn damaged(error: &DocumentError) -> PlanRunError {
    PlanRunError::Engine(format!("a document of the workflow is damaged: {error}"))
}

impl From<TemporalError> for PlanRunError {
    fn from(error: TemporalError) -> PlanRunError {
        PlanRunError::Engine(error.to_string())
    }
}
