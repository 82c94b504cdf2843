//! The workflow of a plan: it interprets the plan, and makes each call as an activity on the task queue of the tool's
//! worker. What it does follows from its input, the results of the activities and the signals alone.

mod drive;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use temporalio_common::error::ApplicationFailure;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext,
    WorkflowContextView, WorkflowResult, WorkflowTermination,
};
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use self::drive::{Driver, End};
use super::payload::Document;
use super::state::{RunState, text, write_entry};
use super::values::PAYLOAD_BYTES;
use super::worker::Activities;
use crate::plan::{RunStatus, StepAnswer};

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
    /// Answers that were not taken yet
    answers: VecDeque<Json>,
    /// The steps with calls in progress
    running: BTreeSet<usize>,
}

#[workflow_methods]
impl PlanWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, input: Document) -> Self {
        let state = RunState::from_json(&input.0);
        PlanWorkflow { state, answers: VecDeque::new(), running: BTreeSet::new() }
    }

    /// Makes the calls of the plan. The result has the end of the run, and all of it if it is not too large.
    #[run(name = "toolwright_plan")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Document> {
        let state = ctx.state(|own| own.state.clone()).map_err(invalid)?;
        let mut driver = Driver::new(ctx, &state);
        let end = driver.run().await?;
        let active_ms = driver.active_ms();
        if let End::Continued = end {
            let state = ctx.state_mut(|own| {
                own.state.as_mut().ok().map(|state| {
                    state.active_ms = active_ms;
                    state.to_json()
                })
            });
            let state = state.unwrap_or_default();
            let options = ContinueAsNewOptions::default();
            return match ctx.continue_as_new(Document(state.into()), options) {
                Ok(never) => match never {},
                Err(termination) => Err(termination),
            };
        }
        let (status, message, result) = ctx.state_mut(|own| own.conclude(end, driver.now_ms()));
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
    /// Notes how the run ended. Returns its state, a message, and the result of the workflow.
    fn conclude(&mut self, end: End, now_ms: u64) -> (RunStatus, String, Document) {
        let Ok(state) = &mut self.state else {
            return (RunStatus::Failed, String::new(), Document::default());
        };
        let (status, mut message) = match end {
            End::Ended(status) | End::Failed(status, _) if status == RunStatus::Failed => {
                (status, "a step failed".to_owned())
            }
            End::Ended(status) | End::Failed(status, _) => (status, String::new()),
            End::Continued => (RunStatus::Running, String::new()),
        };
        if let End::Failed(_, error) = end {
            message.clone_from(&error.message);
            state.error = Some(error);
        }
        (state.record.status, state.record.ended_ms) = (status, Some(now_ms));
        let mut result = state.end_to_json();
        let run = state.to_json();
        if run.compact().len() <= PAYLOAD_BYTES {
            result.insert("run", run);
        }
        (status, message, result.into())
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
