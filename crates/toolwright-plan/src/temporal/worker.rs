//! A worker: it offers the tools of a toolbox on a task queue, and runs the workflows of plans.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use temporalio_client::Client;
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_sdk::runtime::RuntimeOptions;
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;
use toolwright_core::document::ObjectReader;
use toolwright_core::object;
use toolwright_json::Object;
use toolwright_runtime::call::journal::SharedJournal;
use toolwright_runtime::context::Context;
use toolwright_runtime::handle::HandleStore;
use toolwright_runtime::session::Session;
use toolwright_runtime::toolbox::Toolbox;

use crate::plan::StepError;

use super::TemporalError;
use super::call::{CallOrder, write_end};
use super::client::{Address, connect};
use super::log::WorkflowLog;
use super::payload::Document;
use super::state::{text, write_tool};
use super::values::{PAYLOAD_BYTES, Values};
use super::workflow::{PlanWorkflow, ToolsWorkflow};
use crate::run::call::{self, CallEnd, CallScope};
use crate::run::journal::Question;
use crate::run::plan_tools;
use crate::run::scope::RunScope;
use crate::run::start::now_ms;

/// How long a workflow waits for the worker that ran it last.
const STICKY: Duration = Duration::from_secs(3);

/// Offers the tools of a toolbox on a task queue of a Temporal server, and runs the workflows of plans that start
/// there.
pub struct TemporalWorker {
    address: Address,
    queue: String,
    activities: Activities,
}

impl TemporalWorker {
    /// Creates a worker of a task queue.
    pub fn new(address: Address, queue: impl Into<String>, toolbox: Toolbox) -> TemporalWorker {
        let (context, values) = (Context::new(), Values::default());
        let activities = Activities { toolbox, context, values, client: None };
        TemporalWorker { address, queue: queue.into(), activities }
    }

    /// Sets the context of all calls: values for tools that no plan contains.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> TemporalWorker {
        self.activities.context = context;
        self
    }

    /// Sets the store for large values, which all workers and engines of a run share. It is also that of the toolbox,
    /// so that slots can be filled by one worker and read by another.
    #[must_use]
    pub fn with_handles(mut self, store: Arc<dyn HandleStore>) -> TemporalWorker {
        self.activities.toolbox = self.activities.toolbox.with_handles(Arc::clone(&store));
        self.activities.values = Values(Some(store));
        self
    }

    /// Works until the future is ready, and then until the calls in progress have ended. `ready` is called when the
    /// worker is connected. The future cannot be sent to another thread.
    pub async fn run(
        mut self,
        ready: impl FnOnce(),
        until: impl Future<Output = ()>,
    ) -> Result<(), TemporalError> {
        let client = connect(&self.address).await?;
        self.activities.client = Some(client.clone());
        let failed = |error: &dyn std::fmt::Display| TemporalError(format!("the worker: {error}"));
        let options = WorkerOptions::new(self.queue)
            .sticky_queue_schedule_to_start_timeout(STICKY)
            .register_activities(self.activities)
            .register_workflow::<PlanWorkflow>()
            .map_err(|error| failed(&error))?
            .register_workflow::<ToolsWorkflow>()
            .map_err(|error| failed(&error))?
            .build();
        let runtime = Runtime::from_current_tokio(RuntimeOptions::default())
            .map_err(|error| failed(&error))?;
        let mut worker = Worker::new(&runtime, client, options).map_err(|error| failed(&error))?;
        let stop = worker.shutdown_handle();
        ready();
        let mut run = std::pin::pin!(worker.run());
        let ended = tokio::select! {
            ended = &mut run => ended,
            () = until => {
                stop();
                run.await
            }
        };
        ended.map_err(|error| failed(&error))
    }
}

/// What a worker does for workflows.
pub struct Activities {
    toolbox: Toolbox,
    context: Context,
    values: Values,
    /// The server, once the worker is connected
    client: Option<Client>,
}

#[activities]
impl Activities {
    /// Describes the named tools, as far as the worker has them.
    #[activity(name = "toolwright_tools")]
    pub async fn tools(
        self: Arc<Self>,
        _context: ActivityContext,
        request: Document,
    ) -> Result<Document, ActivityError> {
        let names = ObjectReader::of(&request.0).and_then(|fields| fields.list("names", text));
        let names: BTreeSet<String> = names.map_err(invalid)?.into_iter().collect();
        let known = plan_tools(&self.toolbox, names.iter().map(String::as_str)).await;
        let (mut tools, mut unavailable) = (Vec::<Object>::new(), Vec::new());
        for name in &names {
            match (known.get(name), self.toolbox.resolve(name).await) {
                (Some(tool), Ok(handler)) => {
                    tools.push(write_tool(tool, handler.settings().effect));
                }
                (_, Err(error))
                    if error.kind != toolwright_runtime::error::CallErrorKind::UnknownTool =>
                {
                    unavailable.push(name.as_str());
                }
                _ => {}
            }
        }
        let all = self.toolbox.all_names();
        let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
        Ok(object! {"tools": tools, "unavailable": unavailable, "names": all}.into())
    }

    /// Makes a call.
    #[activity(name = "toolwright_call")]
    pub async fn call(
        self: Arc<Self>,
        context: ActivityContext,
        order: Document,
    ) -> Result<Document, ActivityError> {
        let order = CallOrder::from_json(&order.0).map_err(invalid)?;
        let session = Session::new(order.run.as_str())
            .with_caller(order.caller.clone())
            .with_context(self.context.clone());
        let cancel = session.cancel.clone();
        let heartbeat = context.info().heartbeat_timeout.unwrap_or(Duration::from_secs(10));
        let mut beat = tokio::time::interval(heartbeat / 4);
        let started_ms = now_ms();
        let mut made = std::pin::pin!(self.make(session, order));
        loop {
            tokio::select! {
                end = &mut made => {
                    return match end.unwrap_or_else(|error| call::done(Err(error), 0)) {
                        CallEnd::Cancelled => Err(ActivityError::cancelled()),
                        end => Ok(write_end(&end, started_ms).into()),
                    };
                }
                () = context.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                _ = beat.tick() => context.record_heartbeat(Document::default()).await?,
            }
        }
    }
}

fn invalid(error: toolwright_core::document::DocumentError) -> ActivityError {
    let message = format!("the worker does not understand the order: {error}; update it");
    ActivityError::application(ApplicationFailure::non_retryable(message))
}

impl Activities {
    /// Makes a call. The error is that of a call that was not made, or whose end is not known.
    async fn make(&self, session: Session, mut order: CallOrder) -> Result<CallEnd, StepError> {
        let tool = call::step_tool(&self.toolbox, &order.step).await;
        let tool = tool.map_err(|error| StepError::from(&error))?;
        let name = order.step.tool.as_str();
        let digest = self.toolbox.resolve(name).await.ok();
        let digest = digest.map(|handler| handler.digest().to_string());
        if order.digest.is_some() && order.digest != digest {
            let message =
                format!("the tool '{name}' has changed since the run started; start a new run");
            return Err(StepError::new("tool_changed", message));
        }
        let owner = session.owner();
        let mut arguments = order.call.arguments.into();
        self.values.get(&owner, &mut arguments).await?;
        order.call.arguments = arguments.as_object().cloned().unwrap_or_default();
        let Some(client) = self.client.clone() else { return Ok(CallEnd::Cancelled) };
        let (owner_of_log, values) = (owner.clone(), self.values.clone());
        let log = WorkflowLog { client, run: order.run.clone(), owner: owner_of_log, values };
        // The workflow knows which calls of steps have started.
        let journal = self.toolbox.journal().clone();
        let (run, writes) = RunScope::new(Arc::new(log), true, journal, CancellationToken::new());
        let run = Arc::new(run);
        let context = session.context.clone().with(Arc::clone(&run));
        let scope = CallScope {
            toolbox: self.toolbox.clone().with_journal(SharedJournal::of(run.clone())),
            session: session.with_context(context),
            outer: None,
            stop: run.stop.clone(),
            run: Some(run),
            emit: Box::new(|_| {}),
            attempts: AtomicU64::new(order.calls),
            max_attempts: order.max_calls,
        };
        let made = call::make(&scope, &order.step, &tool, &order.call, order.answered);
        let mut end = writes.during(made).await;
        match &mut end {
            CallEnd::Waiting(Question::Approval(_)) => {
                let bytes = write_end(&end, 0).compact().len();
                if bytes > PAYLOAD_BYTES {
                    let message = format!(
                        "the call waits for approval, and its arguments have {bytes} bytes, too many to ask about on Temporal"
                    );
                    return Err(StepError::new("too_large", message));
                }
            }
            CallEnd::Unrecorded(error) => {
                return Err(StepError::new("unrecorded", error.to_string()));
            }
            CallEnd::Done { result, .. } => {
                if let Ok(output) = result {
                    let output = std::mem::take(output);
                    *result = self.values.put(&owner, output, &order.needs, order.inline).await;
                }
            }
            _ => {}
        }
        Ok(end)
    }
}
