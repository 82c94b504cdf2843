//! `/v1/plans`: checks plans, runs them, and shows, continues, cancels and repeats runs.
//!
//! A client sees the runs of its tenant. Others do not exist for it. `events` streams what happens in a run, `picture`
//! draws it.

mod document;
mod events;
mod picture;
mod record;
mod resume;

use std::sync::Arc;

use http::StatusCode;
use toolwright_catalog::without_version;
use toolwright_core::json::{Object, Path};
use toolwright_core::{Fault, FaultClass, Json, object};
use toolwright_plan::journal::{PlanJournalError, RunFilter, RunQuota};
use toolwright_plan::{
    Engine, LocalEngine, NewRun, Plan, PlanRunError, RunReport, RunStatus, StepAnswer, StepError,
    Template,
};
use toolwright_runtime::call::canonical;
use toolwright_runtime::handle::HandleStore;
use toolwright_runtime::{Caller, Context, Toolbox};

use self::document::{ANSWER_COPIES, CHECK_COPIES, REPORT_COPIES, parse, read, reply};
pub use self::resume::resume;
use super::Plans;
use crate::fault::invalid;
use crate::http::{Budget, Full, HttpRequest, Reply, Share};
use crate::journal::EffectJournal;
use crate::key::{Client, Keys};
use crate::query::Query;
use crate::telemetry::Telemetry;
use crate::tool_runs::saved_runs::SavedRuns;
use crate::tools::Tools;
use crate::{fault, idempotency};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Returns the JSON Schema of plans
    Schema,
    /// Checks a plan
    Check,
    /// Derives the workflow view of a plan
    View,
    /// Makes a plan of a run of tools, or of calls
    Record,
    /// Starts a run
    Start,
    /// Lists runs
    List,
    /// Shows a run
    Show,
    /// Deletes a run
    Delete,
    /// Returns the plan of a run
    Plan,
    /// Draws a run
    Picture,
    /// Streams the events of a run
    Events,
    /// Continues a run
    Resume,
    /// Cancels a run
    Cancel,
    /// Answers a question of a run
    Answer,
    /// Repeats a run from a step on
    Fork,
}

/// What plans need of the gateway.
#[derive(Clone)]
pub struct PlanState {
    /// The runs of plans
    pub plans: Arc<Plans>,
    /// The clients
    pub keys: Arc<Keys>,
    /// The tools that steps may use
    pub tools: Arc<Tools>,
    /// Runs of tools for chat requests, of which plans can be made
    pub runs: Arc<SavedRuns>,
    /// The journal of the effects of calls that tools make themselves
    pub journal: Arc<EffectJournal>,
    /// Values behind handles
    pub handles: Arc<dyn HandleStore>,
    /// Records every call
    pub telemetry: Telemetry,
    /// The memory of runs
    pub budget: Arc<Budget>,
}

/// A client that asks about plans.
pub(crate) struct Asker {
    pub(crate) state: PlanState,
    pub(crate) client: Arc<Client>,
    /// Whether clients of this gateway may approve at all
    pub(crate) may_approve: bool,
}

impl Asker {
    /// Answers a request.
    pub(crate) async fn answer(
        &self,
        action: Action,
        id: &str,
        request: HttpRequest,
    ) -> Result<Reply, Fault> {
        match action {
            Action::Schema => Ok(fault::document(&Plan::schema())),
            Action::Check => self.check(request).await,
            Action::View => self.view(request).await,
            Action::Record => self.record(request).await,
            Action::Start => self.start(request).await,
            Action::List => self.list(&Query::new(request.uri.query())).await,
            Action::Show => self.show(&self.engine_with(id).await?, id).await,
            Action::Plan => self.plan(id).await,
            Action::Delete => self.delete(id).await,
            Action::Picture => self.picture(id, &Query::new(request.uri.query())).await,
            Action::Events => self.events(id).await,
            Action::Resume => self.resume(id).await,
            Action::Cancel => {
                let engine = self.engine_with(id).await?;
                engine.cancel(id).await.map_err(refusal)?;
                self.show_changed(&engine, id, self.show(&engine, id).await).await
            }
            Action::Answer => self.decide(id, request).await,
            Action::Fork => self.fork(id, request).await,
        }
    }

    /// Returns the tools that the client may use.
    async fn toolbox(&self) -> Toolbox {
        self.state.tools.listed().await;
        self.state.tools.for_plans(Some(&self.client))
    }

    async fn engine(&self) -> Result<LocalEngine, Fault> {
        // The ledger records every call.
        self.state.telemetry.admit().await?;
        // The journal of plans records what a run does; this one is for calls that tools make themselves.
        let toolbox = self.toolbox().await.with_journal(self.state.journal.shared());
        let toolbox = toolbox.with_handles(Arc::clone(&self.state.handles));
        let memory = self.state.budget.share().plan_memory();
        let context = Context::new().with(self.state.tools.access(&self.client));
        let context = context.with(memory).with(self.client.call_rate());
        let settings = self.state.plans.settings();
        let quota = RunQuota { runs: settings.max_runs, bytes: settings.max_bytes };
        let engine = self.state.plans.engine(toolbox).await?;
        Ok(engine.with_context(context).with_quota(quota))
    }

    /// Returns the engine with the tools of the client that started a run: who answers for a run or continues it does
    /// not change what it may call.
    async fn engine_of(&self, caller: &Caller) -> Result<LocalEngine, Fault> {
        let Some(client) = self.state.keys.of_caller(caller) else {
            return Err(Fault::new(FaultClass::Forbidden, KEY_REMOVED));
        };
        Asker { client, state: self.state.clone(), may_approve: false }.engine().await
    }

    async fn start(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let key = idempotency::of_key(&request.headers, &[self.client.name()]);
        let (mut body, share) = read(request, CHECK_COPIES).await?;
        let identity = key.map(|key| {
            let content = body.as_object().map(canonical).unwrap_or_default();
            (format!("plan_{key}"), idempotency::hash(&[&content]))
        });
        let document = body.as_object_mut().and_then(|body| body.remove("plan"));
        let Some(document) = document.filter(|plan| matches!(plan, Json::Object(_))) else {
            let message =
                "Send {\"plan\": {…}, \"inputs\": {…}}. GET /v1/plans/schema describes plans.";
            return Err(invalid("plan", message));
        };
        let (plan, malformed) = parse(document, &share).await?;
        if !malformed.is_empty() {
            let errors = self.examine(plan, malformed, &share).await?.errors;
            return Err(refusal(PlanRunError::Invalid(errors)));
        }
        let inputs = body.as_object_mut().and_then(|body| body.remove("inputs"));
        let inputs = inputs.unwrap_or_else(|| Object::new().into());
        let is_started = flag(&body, "start")?.unwrap_or(true);
        let engine = self.engine().await?;
        let waits = flag(&body, "wait")?.unwrap_or(false);
        let new = NewRun::new(plan, inputs).with_caller(self.client.caller());
        let mut new = new.with_deferred_start(!is_started);
        if let Some((id, request)) = &identity {
            new = new.with_identity(id.as_str(), request.as_str());
        }
        match (engine.start(new).await, identity) {
            (Err(PlanRunError::Journal(PlanJournalError::Exists(id))), Some((_, request))) => {
                self.repeat(&id, &request, is_started, waits).await
            }
            (run, _) => self.drive(engine, run.map_err(refusal)?, is_started, waits).await,
        }
    }

    /// Replies to a request that was sent again with its idempotency key.
    async fn repeat(
        &self,
        id: &str,
        request: &str,
        is_started: bool,
        waits: bool,
    ) -> Result<Reply, Fault> {
        let (engine, report) = self.find(id).await?;
        if report.run.request.as_deref() != Some(request) {
            return Err(idempotency::reused());
        }
        if report.run.status == RunStatus::Interrupted {
            return self.drive(engine, report.run.id.clone(), is_started, waits).await;
        }
        self.show(&engine, id).await
    }

    /// Drives a run in the background, and replies at once or when it has ended.
    async fn drive(
        &self,
        engine: LocalEngine,
        run: Arc<str>,
        is_started: bool,
        waits: bool,
    ) -> Result<Reply, Fault> {
        let mut task = None;
        if is_started {
            let (engine, id) = (engine.clone(), run.clone());
            task = Some(self.state.plans.spawn(&run, |observer| async move {
                let driven = engine.drive(&id, Some(observer)).await;
                if let Err(error) = &driven {
                    tracing::warn!("the run {id} of a plan was interrupted: {error}");
                }
                driven
            }));
        }
        let shown = match task.filter(|_| waits) {
            Some(task) => match task.await.map_err(|_| interrupted())? {
                Ok(driven) => self.shown(driven).await,
                Err(error) => Err(refusal(error)),
            },
            None => self.show(&engine, &run).await.map(accepted),
        };
        self.show_changed(&engine, &run, shown).await
    }

    /// Replies to a request that has changed a run with its state alone, if there is too little memory for the report:
    /// a client that repeats the request would start another run.
    async fn show_changed(
        &self,
        engine: &LocalEngine,
        id: &str,
        shown: Result<Reply, Fault>,
    ) -> Result<Reply, Fault> {
        let is_overloaded =
            shown.as_ref().is_err_and(|fault| fault.class == FaultClass::Overloaded);
        if !is_overloaded {
            return shown;
        }
        let run = engine.journal().summary(id).await.map_err(refusal)?;
        let state = object! {"run": id, "status": run.status.as_str()};
        Ok(accepted(fault::document(&state.into())))
    }

    async fn resume(&self, id: &str) -> Result<Reply, Fault> {
        let journal = Arc::clone(self.engine_with(id).await?.journal());
        let run = journal.summary(id).await.map_err(refusal)?;
        let engine = self.engine_of(&run.caller).await?;
        engine.check_run(id).await.map_err(refusal)?;
        self.drive(engine, run.id, true, false).await
    }

    async fn decide(&self, id: &str, request: HttpRequest) -> Result<Reply, Fault> {
        let (_, report) = self.find(id).await?;
        let (body, _share) = read(request, ANSWER_COPIES).await?;
        let hint = "Send {\"step\": \"…\", \"answer\": \"approve\" | \"reject\" | \"output\", \"reason\"?, \
                    \"output\"?, \"item\"?}.";
        let step = body.get("step").and_then(Json::as_str).ok_or_else(|| invalid("step", hint))?;
        let item = match body.get("item") {
            None | Some(Json::Null) => None,
            Some(item) => {
                let item = item.as_u64().and_then(|item| usize::try_from(item).ok());
                Some(item.ok_or_else(|| invalid("item", hint))?)
            }
        };
        let answer = StepAnswer::from_json(&body).map_err(|_| invalid("answer", hint))?;
        let asked = report.questions.iter().find(|own| own.step == step);
        let Some(asked) = asked else {
            return Err(refusal(PlanRunError::NoQuestion(step.to_owned())));
        };
        let tool = without_version(&asked.tool);
        if !(self.may_approve && self.client.may_approve(&tool)) {
            let message = format!(
                "The key `{}` may not answer for the tool `{tool}`. Use a key whose `approve` lists it.",
                self.client.name()
            );
            return Err(Fault::new(FaultClass::Forbidden, message));
        }
        let engine = self.engine_of(&report.run.caller).await?;
        let run = report.run.id.clone();
        // Its memory is needed to load the run again.
        drop(report);
        let answerer = engine.clone().with_caller(self.client.caller());
        if answerer.answer(id, step, item, answer).await.map_err(refusal)? {
            return self.show_changed(&engine, id, self.show(&engine, id).await).await;
        }
        self.drive(engine, run, true, false).await
    }

    async fn fork(&self, id: &str, request: HttpRequest) -> Result<Reply, Fault> {
        let engine = self.engine_with(id).await?;
        let (body, _share) = read(request, CHECK_COPIES).await?;
        let hint = "Send {\"step\": \"…\", \"args\": {…}}: the run is repeated from this step on, with these \
                    arguments if they are given.";
        let step = body.get("step").and_then(Json::as_str).ok_or_else(|| invalid("step", hint))?;
        let arguments = match body.get("args") {
            None | Some(Json::Null) => None,
            Some(Json::Object(arguments)) => {
                let mut parsed = Vec::new();
                for (name, value) in arguments.iter() {
                    let template = Template::from_json(value, &Path::ROOT.key("args").key(name));
                    let template =
                        template.map_err(|errors| refusal(PlanRunError::Invalid(errors)))?;
                    parsed.push((name.to_owned(), template));
                }
                Some(parsed)
            }
            Some(_) => return Err(invalid("args", hint)),
        };
        let caller = self.client.caller();
        let run = engine.fork(id, step, arguments, caller).await.map_err(refusal)?;
        self.drive(engine, run, true, false).await
    }

    async fn list(&self, query: &Query) -> Result<Reply, Fault> {
        let limit = query.limit()?;
        let status = match query.get("status") {
            None => None,
            Some(name) => Some(RunStatus::parse(name).ok_or_else(|| {
                let names: Vec<&str> = RunStatus::ALL.iter().map(|own| own.as_str()).collect();
                invalid("status", format!("`status` must be one of {}.", names.join(", ")))
            })?),
        };
        let (mut before_ms, mut before_id) = (None, None);
        if let Some(text) = query.get("before") {
            let (ms, id) = text.split_once('.').unwrap_or((text, ""));
            let ms = ms.parse().ok().filter(|ms: &u64| i64::try_from(*ms).is_ok());
            let message =
                "`before` must be `next` of another page, or a time in milliseconds since 1970.";
            before_ms = Some(ms.ok_or_else(|| invalid("before", message))?);
            before_id = Some(id.into());
        }
        let tenant = Some(self.client.tenant().into());
        let filter = RunFilter { tenant, status, before_ms, before_id, limit: Some(limit + 1) };
        let engine = self.engine().await?;
        let mut runs = engine.journal().list(&filter).await.map_err(refusal)?;
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let data = runs.iter().map(|run| {
            let mut out = object! {"run": &*run.id, "status": run.status.as_str()};
            out.insert_some("name", run.name.as_deref());
            out.insert("steps", run.steps);
            out.insert("created_ms", run.created_ms);
            out.insert_some("ended_ms", run.ended_ms);
            out.insert_some("parent", run.parent.as_deref());
            Json::Object(out)
        });
        let data: Vec<Json> = data.collect();
        let mut list = object! {"object": "list", "data": data, "has_more": has_more};
        let next = runs.last().filter(|_| has_more);
        list.insert_some("next", next.map(|run| format!("{}.{}", run.created_ms, run.id)));
        Ok(fault::document(&list.into()))
    }

    async fn delete(&self, id: &str) -> Result<Reply, Fault> {
        // The record is not read, so that a damaged run can be removed.
        let engine = self.engine_with(id).await?;
        let journal = engine.journal();
        // A run that is in progress cannot be claimed.
        let _claim = journal.claim(id).await.map_err(refusal)?;
        journal.delete(id).await.map_err(refusal)?;
        Ok(fault::document(&object! {"run": id, "deleted": true}.into()))
    }

    /// Returns the engine, which has a run of the client's tenant.
    async fn engine_with(&self, id: &str) -> Result<LocalEngine, Fault> {
        let engine = self.engine().await?;
        let run = engine.journal().summary(id).await.map_err(refusal)?;
        if *run.caller.tenant != *self.client.tenant() {
            return Err(refusal(PlanJournalError::UnknownRun(id.to_owned())));
        }
        Ok(engine)
    }

    /// Finds a run of the client's tenant. The report has no outputs.
    async fn find(&self, id: &str) -> Result<(LocalEngine, RunReport), Fault> {
        let engine = self.engine_with(id).await?;
        let report = engine.progress(id).await.map_err(refusal)?;
        Ok((engine, report))
    }

    async fn show(&self, engine: &LocalEngine, id: &str) -> Result<Reply, Fault> {
        self.shown(engine.report(id).await.map_err(refusal)?).await
    }

    /// Replies with a report, whose JSON form and text are within the memory of the gateway.
    async fn shown(&self, mut report: RunReport) -> Result<Reply, Fault> {
        let share = self.report_share(&mut report).await?;
        reply(Arc::new(share), move || report.to_json()).await
    }

    /// Reserves memory for the JSON form of a report and its text. Outputs that never fit are left out.
    async fn report_share(&self, report: &mut RunReport) -> Result<Share, Fault> {
        let mut share = self.state.budget.share();
        if share.resize(REPORT_COPIES * report.weight()).await == Err(Full::Ever) {
            report.outputs = Object::new();
            let message = "the outputs need more memory than the gateway has for all requests";
            report.error.get_or_insert(StepError::new("limit", message));
        }
        share.resize(REPORT_COPIES * report.weight()).await?;
        Ok(share)
    }

    async fn plan(&self, id: &str) -> Result<Reply, Fault> {
        let (_, report) = self.find(id).await?;
        let plan = report.run.plan.to_json();
        let mut share = self.state.budget.share();
        share.resize(REPORT_COPIES * plan.weight()).await?;
        reply(Arc::new(share), move || plan).await
    }
}

/// Why a run cannot be continued whose key was removed.
const KEY_REMOVED: &str =
    "The key that started the run does not exist any more, so it cannot be continued.";

fn accepted(mut reply: Reply) -> Reply {
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

fn flag(body: &Json, name: &str) -> Result<Option<bool>, Fault> {
    match body.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => {
            let message = format!("`{name}` must be true or false.");
            value.as_bool().map(Some).ok_or_else(|| invalid(name, message))
        }
    }
}

fn refusal(error: impl Into<PlanRunError>) -> Fault {
    let error = error.into();
    let message = error.to_string();
    let (class, status) = match &error {
        PlanRunError::Invalid(_) => (FaultClass::Invalid, StatusCode::BAD_REQUEST),
        PlanRunError::Journal(PlanJournalError::UnknownRun(_)) => {
            let message = "There is no such run for this key. `GET /v1/plans` lists runs.";
            return Fault::new(FaultClass::NotFound, message);
        }
        PlanRunError::Journal(PlanJournalError::Full(_)) => {
            let message = format!(
                "{message}. Answer, cancel or delete some: `GET /v1/plans?status=waiting` lists them."
            );
            return Fault::new(FaultClass::RateLimited, message);
        }
        PlanRunError::TooLarge(_) => (FaultClass::Overloaded, StatusCode::SERVICE_UNAVAILABLE),
        PlanRunError::ToolsChanged(_)
        | PlanRunError::ToolsMissing(_)
        | PlanRunError::Ended(_)
        | PlanRunError::NoQuestion(_)
        | PlanRunError::Journal(PlanJournalError::InProgress(_)) => {
            (FaultClass::Invalid, StatusCode::CONFLICT)
        }
        _ => {
            tracing::warn!("a run of a plan: {error}");
            return interrupted();
        }
    };
    Fault { status: Some(status.as_u16()), ..Fault::new(class, message) }
}

fn interrupted() -> Fault {
    let message = "The run was interrupted. The gateway's log says why; resume the run.";
    Fault::new(FaultClass::Internal, message)
}
