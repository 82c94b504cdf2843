//! The workflow of a plan: it interprets the plan, and makes each call as an activity on the task queue of the tool's
//! worker. What it does follows from its input, the results of the activities and the signals alone.

mod host;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use temporalio_common::error::ApplicationFailure;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext,
    WorkflowContextView, WorkflowResult, WorkflowTermination,
};
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use crate::plan::StepError;

use self::host::WorkflowHost;
use super::payload::Document;
use super::state::{RunState, read_entry, text, write_entry};
use super::values::PAYLOAD_BYTES;
use super::worker::Activities;
use crate::run::drive::{DriveEnd, Driver, Host as _};
use crate::run::journal::Entry;
use crate::run::{RunStatus, StepAnswer};

/// Number of bytes of the entries in a reply to a query.
const PAGE_BYTES: usize = 500_000;

/// How long the worker of a task queue may take to describe its tools.
const DESCRIBE: Duration = Duration::from_secs(20);

/// Asks the workers of some task queues for tools.
#[workflow]
#[derive(Default)]
pub struct ToolsWorkflow;

#[workflow_methods]
impl ToolsWorkflow {
    #[run(name = "toolwright_tools")]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        request: Document,
    ) -> WorkflowResult<Document> {
        let queues = ObjectReader::of(&request.0).and_then(|fields| fields.list("queues", text));
        let mut replies = Vec::<Json>::new();
        for queue in queues.map_err(invalid)? {
            let options = ActivityOptions::with_schedule_to_close_timeout(DESCRIBE);
            let options = options.task_queue(queue.clone()).build();
            let described = ctx.execute_activity(Activities::tools, request.clone(), options).await;
            let Document(mut reply) = described.map_err(|error| {
                let why = match error.as_timeout() {
                    Some(_) => "no worker answered".to_owned(),
                    None => error.to_string(),
                };
                fail(format!("the task queue '{queue}': {why}"))
            })?;
            if let Json::Object(reply) = &mut reply {
                reply.insert("queue", queue);
            }
            replies.push(reply);
        }
        Ok(Json::from(replies).into())
    }
}

/// Runs a plan.
#[workflow]
pub struct PlanWorkflow {
    state: Result<RunState, DocumentError>,
    /// Number of bytes of the state, as the input of a new workflow
    bytes: usize,
    /// Answers that were not taken yet
    answers: VecDeque<Json>,
    /// The steps with calls in progress
    running: BTreeSet<usize>,
}

#[workflow_methods]
impl PlanWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, input: Document) -> Self {
        let (state, bytes) = (RunState::from_json(&input.0), input.0.compact().len());
        PlanWorkflow { state, bytes, answers: VecDeque::new(), running: BTreeSet::new() }
    }

    /// Makes the calls of the plan. The result has the end of the run, and all of it if it is not too large.
    #[run(name = "toolwright_plan")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Document> {
        let state = ctx.state(|own| own.state.clone()).map_err(invalid)?;
        let host = WorkflowHost::new(ctx, &state);
        let mut driver = Driver::new(&host, state.replay(), state.settings.parallel);
        let (status, error) = match driver.run().await {
            DriveEnd::Ended { status, error, .. } => (status, error),
            DriveEnd::Stopped if host.is_too_large() => {
                let message = "the run has too many calls with too large outputs for Temporal; start the workers with \
                               --gateway, so that outputs pass by handle";
                (RunStatus::Failed, Some(StepError::new("limit", message)))
            }
            DriveEnd::Stopped | DriveEnd::Waiting => {
                // They may have come with the last reply.
                while let Some(answer) = host.take_answer() {
                    driver.take_message(answer);
                }
                host.publish(Vec::new(), driver.replay.is_waiting());
                let active_ms = driver.active_ms();
                let state = ctx.state_mut(|own| {
                    own.state.as_mut().ok().map(|state| {
                        state.active_ms = active_ms;
                        state.to_json()
                    })
                });
                let state = Document(state.unwrap_or_default().into());
                return match ctx.continue_as_new(state, ContinueAsNewOptions::default()) {
                    Ok(never) => match never {},
                    Err(termination) => Err(termination),
                };
            }
            DriveEnd::Unrecorded(error) => return Err(fail(error.to_string())),
        };
        let now_ms = host.now_ms();
        let (message, result) = ctx.state_mut(|own| own.conclude(status, error, now_ms));
        match status {
            RunStatus::Succeeded => Ok(result),
            RunStatus::Cancelled => Err(WorkflowTermination::cancelled_with_details(result)),
            _ => Err(ApplicationFailure::builder(message)
                .type_name("plan_failed".to_owned())
                .non_retryable(true)
                .details(result)
                .build()
                .into()),
        }
    }

    /// Takes the answer of a person.
    #[signal]
    pub fn answer(&mut self, _ctx: &mut SyncWorkflowContext<Self>, answer: Document) {
        self.answers.push_back(answer.0);
    }

    /// Takes what happened to a call of a plan within a call, which its worker makes.
    #[signal]
    pub fn record(&mut self, _ctx: &mut SyncWorkflowContext<Self>, entry: Document) {
        if let Ok(entry) = read_entry(&entry.0) {
            self.append(entry);
        }
    }

    /// Returns a part of the entries, and the run itself if it is asked for.
    #[query]
    pub fn journal(&self, _ctx: &WorkflowContextView, request: Document) -> Document {
        let Ok(state) = &self.state else { return Document::default() };
        let from = request.0.get("from").and_then(Json::as_u64).unwrap_or_default();
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(state.entries.len());
        let (mut page, mut bytes) = (Vec::<Json>::new(), 0);
        for entry in &state.entries[from..] {
            let entry = write_entry(entry);
            bytes += entry.compact().len();
            if !page.is_empty() && bytes > PAGE_BYTES {
                break;
            }
            page.push(entry);
        }
        let mut out = state.end_to_json();
        out.insert("total", state.entries.len());
        out.insert("page", page);
        out.insert("running", self.running.iter().copied().collect::<Vec<usize>>());
        if request.0.get("run").is_some() {
            let run = RunState { entries: Vec::new(), ..state.clone() };
            out.insert("run", run.to_json());
        }
        out.into()
    }
}

impl PlanWorkflow {
    fn append(&mut self, entry: Entry) {
        self.bytes += write_entry(&entry).compact().len();
        if let Ok(state) = &mut self.state {
            state.entries.push(entry);
        }
    }

    /// Notes how the run ended. Returns a message, and the result of the workflow.
    fn conclude(
        &mut self,
        status: RunStatus,
        error: Option<StepError>,
        now_ms: u64,
    ) -> (String, Document) {
        let Ok(state) = &mut self.state else { return (String::new(), Document::default()) };
        let failed = (status == RunStatus::Failed).then(|| "a step failed".to_owned());
        let message = error.as_ref().map(|error| error.message.clone()).or(failed);
        state.error = error;
        (state.record.status, state.record.ended_ms) = (status, Some(now_ms));
        let mut result = state.end_to_json();
        let run = state.to_json();
        if run.compact().len() <= PAYLOAD_BYTES {
            result.insert("run", run);
        }
        (message.unwrap_or_default(), result.into())
    }
}

fn invalid(error: DocumentError) -> WorkflowTermination {
    fail(format!("the input is invalid: {error}"))
}

fn fail(message: String) -> WorkflowTermination {
    ApplicationFailure::non_retryable(message).into()
}

/// Writes the answer to a question.
pub(super) fn write_answer(step: &str, item: Option<usize>, answer: &StepAnswer) -> Object {
    let mut out = object! {"step": step};
    out.insert_some("item", item);
    out.insert("answer", answer.to_json());
    out
}
