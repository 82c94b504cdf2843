//! `/v1/plans`: checks plans, runs them, and shows, continues, cancels and repeats runs.
//!
//! A client sees the runs of its tenant. Others do not exist for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::sync::broadcast;
use toolwright::Toolbox;
use toolwright::call::journal::{MemoryJournal, SharedJournal};
use toolwright::plan::journal::{PlanJournalError, RunFilter};
use toolwright::plan::{
    Engine, Graph, LocalEngine, MAX_STEPS, NewRun, Plan, PlanError, PlanEvent, PlanEventKind,
    PlanRunError, PlanTools, RunReport, RunStatus, StepAnswer, StepStatus, Template, View, check,
    draw, plan_tools,
};
use toolwright_core::json::{Object, Path};
use toolwright_core::{Fault, FaultClass, Json, object, percent};

use crate::gateway::Gateway;
use crate::http::{HttpRequest, Reply, ReplyBody};
use crate::key::Client;
use crate::proxy::fault;

/// Default and maximum number of runs on a page.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;

/// Maximum number of steps and edges of a picture, whose cost grows faster than they do.
const MAX_DRAWN_STEPS: usize = 500;
const MAX_DRAWN_EDGES: usize = 2000;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Returns the JSON Schema of plans
    Schema,
    /// Checks a plan
    Check,
    /// Derives the workflow view of a plan
    View,
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

/// A client that asks about plans.
pub(super) struct Asker<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) client: &'a Arc<Client>,
    /// Whether clients of this gateway may approve at all
    pub(super) may_approve: bool,
}

impl Asker<'_> {
    /// Answers a request.
    pub(super) async fn answer(
        &self,
        action: Action,
        id: &str,
        request: HttpRequest,
    ) -> Result<Reply, Fault> {
        match action {
            Action::Schema => Ok(fault::document(&Plan::schema())),
            Action::Check => self.check(request).await,
            Action::View => self.view(request).await,
            Action::Start => self.start(request).await,
            Action::List => self.list(request.uri.query().unwrap_or_default()).await,
            Action::Show => Ok(shown(&self.find(id).await?.1)),
            Action::Plan => {
                let (_, report) = self.find(id).await?;
                Ok(fault::document(&report.run.plan.to_json().into()))
            }
            Action::Delete => self.delete(id).await,
            Action::Picture => self.picture(id, request.uri.query().unwrap_or_default()).await,
            Action::Events => self.events(id).await,
            Action::Resume => self.resume(id).await,
            Action::Cancel => {
                let (engine, _) = self.find(id).await?;
                engine.cancel(id).await.map_err(refusal)?;
                Ok(shown(&self.find(id).await?.1))
            }
            Action::Answer => self.decide(id, request).await,
            Action::Fork => self.fork(id, request).await,
        }
    }

    /// Returns the tools that the client may use.
    async fn toolbox(&self) -> Toolbox {
        let live = self.gateway.live();
        live.tools.listed().await;
        live.tools.for_mcp(None, self.client).unwrap_or_default()
    }

    async fn engine(&self) -> Result<LocalEngine, Fault> {
        // The ledger records every call.
        self.gateway.telemetry.admit().await?;
        let toolbox = self.toolbox().await;
        // The journal of plans records what a run does; this one is for calls that tools make themselves.
        let toolbox = toolbox
            .with_journal(SharedJournal::new(MemoryJournal::new()))
            .with_handles(Arc::clone(&self.gateway.stores.handles));
        self.gateway.plans.engine(toolbox).await
    }

    /// Returns the engine with the tools of the client that started a run: who answers for a run or continues it does not
    /// change what it may call.
    async fn engine_of(&self, report: &RunReport) -> Result<LocalEngine, Fault> {
        let live = self.gateway.live();
        let Some(client) = live.keys.of_caller(&report.run.caller) else {
            let message =
                "The key that started the run does not exist any more, so it cannot be continued.";
            return Err(Fault::new(FaultClass::Forbidden, message));
        };
        Asker { client: &client, ..*self }.engine().await
    }

    async fn check(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let body = read(request).await?;
        let plan = match Plan::parse(&body) {
            Ok(plan) => plan,
            Err(errors) => {
                let errors: Vec<Object> = errors.iter().map(PlanError::to_json).collect();
                let report =
                    object! {"valid": false, "errors": errors, "edges": Vec::<Json>::new()};
                return Ok(fault::document(&report.into()));
            }
        };
        if plan.steps.len() > MAX_STEPS {
            let report = check(&plan, &PlanTools::default(), MAX_STEPS);
            return Ok(fault::document(&report.to_json().into()));
        }
        let tools = plan_tools(&self.toolbox().await, plan.tool_names()).await;
        Ok(fault::document(&check(&plan, &tools, MAX_STEPS).to_json().into()))
    }

    async fn view(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let body = read(request).await?;
        let plan = Plan::parse(&body).map_err(|errors| refusal(PlanRunError::Invalid(errors)))?;
        let tools = plan_tools(&self.toolbox().await, plan.tool_names()).await;
        let view = View::new(&plan, &tools);
        let view = view.map_err(|errors| refusal(PlanRunError::Invalid(errors)))?;
        Ok(fault::document(&view.to_json().into()))
    }

    async fn start(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let body = read(request).await?;
        let Some(document) = body.get("plan").filter(|plan| matches!(plan, Json::Object(_))) else {
            let message =
                "Send {\"plan\": {…}, \"inputs\": {…}}. GET /v1/plans/schema describes plans.";
            return Err(invalid("plan", message));
        };
        let plan =
            Plan::parse(document).map_err(|errors| refusal(PlanRunError::Invalid(errors)))?;
        let inputs = body.get("inputs").cloned().unwrap_or_else(|| Object::new().into());
        let is_started = flag(&body, "start")?.unwrap_or(true);
        let engine = self.engine().await?;
        let new = NewRun::new(plan, inputs).with_caller(self.client.caller());
        let run = engine.start(new).await.map_err(refusal)?;
        self.drive(engine, run, is_started, flag(&body, "wait")?.unwrap_or(false)).await
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
            let Some((observer, guard)) = self.gateway.plans.observe(&run) else {
                return Err(refusal(PlanJournalError::InProgress(run.to_string()).into()));
            };
            let (engine, run) = (engine.clone(), run.clone());
            task = Some(tokio::spawn(async move {
                let driven = engine.drive(&run, Some(observer)).await;
                drop(guard);
                if let Err(error) = &driven {
                    tracing::warn!("the run {run} of a plan was interrupted: {error}");
                }
                driven
            }));
        }
        if let Some(task) = task.filter(|_| waits) {
            let driven = task.await.map_err(|_| interrupted())?.map_err(refusal)?;
            return Ok(shown(&driven));
        }
        let report = engine.report(&run).await.map_err(refusal)?;
        let mut reply = shown(&report);
        *reply.status_mut() = StatusCode::ACCEPTED;
        Ok(reply)
    }

    async fn resume(&self, id: &str) -> Result<Reply, Fault> {
        let (_, report) = self.find(id).await?;
        let engine = self.engine_of(&report).await?;
        if report.status().is_final() {
            return Err(refusal(PlanRunError::Ended(report.status().as_str())));
        }
        self.drive(engine, report.run.id.clone(), true, false).await
    }

    async fn decide(&self, id: &str, request: HttpRequest) -> Result<Reply, Fault> {
        let (_, report) = self.find(id).await?;
        let body = read(request).await?;
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
        let asked = report.run.plan.steps.iter().find(|own| own.id == step);
        let tool = asked.map_or("", |own| own.tool.as_str());
        if !(self.may_approve && self.client.may_approve(tool)) {
            let message = format!(
                "The key `{}` may not answer for the tool `{tool}`. Use a key whose `approve` lists it.",
                self.client.name()
            );
            return Err(Fault::new(FaultClass::Forbidden, message));
        }
        let engine = self.engine_of(&report).await?;
        engine.answer(id, step, item, answer).await.map_err(refusal)?;
        if self.gateway.plans.watch(id).is_some() {
            return Ok(shown(&self.find(id).await?.1));
        }
        self.drive(engine, report.run.id.clone(), true, false).await
    }

    async fn fork(&self, id: &str, request: HttpRequest) -> Result<Reply, Fault> {
        let (engine, _) = self.find(id).await?;
        let body = read(request).await?;
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

    /// Draws the steps of a run by their states, or when each of them ran.
    async fn picture(&self, id: &str, query: &str) -> Result<Reply, Fault> {
        let (_, report) = self.find(id).await?;
        let plan = &report.run.plan;
        let tools = plan_tools(&self.toolbox().await, plan.tool_names()).await;
        let graph = Graph::new(plan, &tools);
        let is_large = plan.steps.len() > MAX_DRAWN_STEPS || graph.edges().len() > MAX_DRAWN_EDGES;
        if is_large && parameter(query, "format").as_deref().is_none_or(|format| format == "svg") {
            let message = format!(
                "The plan is too large for a picture: at most {MAX_DRAWN_STEPS} steps and {MAX_DRAWN_EDGES} edges. \
                 Use format=mermaid or format=timeline."
            );
            return Err(invalid("format", &message));
        }
        let statuses: Vec<StepStatus> = report.steps.iter().map(|step| step.status).collect();
        let (text, kind) = match parameter(query, "format").as_deref() {
            None | Some("svg") => (draw::svg(plan, &graph, &statuses), "image/svg+xml"),
            Some("timeline") => (draw::timeline(plan, &statuses), "image/svg+xml"),
            Some("mermaid") => {
                (draw::mermaid(plan, &graph, &statuses), "text/plain; charset=utf-8")
            }
            Some(_) => return Err(invalid("format", "`format` must be svg, timeline or mermaid.")),
        };
        let mut reply = Reply::new(ReplyBody::full(text));
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        Ok(reply)
    }

    async fn list(&self, query: &str) -> Result<Reply, Fault> {
        let parameter = |name: &str| parameter(query, name);
        let limit = match parameter("limit") {
            None => PAGE,
            Some(text) => match text.parse() {
                Ok(limit @ 1..=MAX_PAGE) => limit,
                _ => return Err(invalid("limit", "`limit` must be a number from 1 to 100.")),
            },
        };
        let status = match parameter("status") {
            None => None,
            Some(name) => Some(RunStatus::parse(&name).ok_or_else(|| {
                let names: Vec<&str> = RunStatus::ALL.iter().map(|own| own.as_str()).collect();
                invalid("status", &format!("`status` must be one of {}.", names.join(", ")))
            })?),
        };
        let before_ms = match parameter("before") {
            None => None,
            Some(text) => {
                Some(text.parse().ok().filter(|ms: &u64| i64::try_from(*ms).is_ok()).ok_or_else(
                    || invalid("before", "`before` must be a time in milliseconds since 1970."),
                )?)
            }
        };
        let tenant = Some(self.client.tenant().into());
        let filter = RunFilter { tenant, status, before_ms, limit: Some(limit + 1) };
        let engine = self.engine().await?;
        let mut runs =
            engine.journal().list(&filter).await.map_err(|error| refusal(error.into()))?;
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let data = runs.iter().map(|run| {
            let mut out = object! {"run": &*run.id, "status": run.status.as_str()};
            out.insert_some("name", run.plan.name.as_deref());
            out.insert("steps", run.plan.steps.len());
            out.insert("created_ms", run.created_ms);
            out.insert_some("ended_ms", run.ended_ms);
            out.insert_some("parent", run.parent.as_deref());
            Json::Object(out)
        });
        let data: Vec<Json> = data.collect();
        let list = object! {"object": "list", "data": data, "has_more": has_more};
        Ok(fault::document(&list.into()))
    }

    async fn delete(&self, id: &str) -> Result<Reply, Fault> {
        let (engine, _) = self.find(id).await?;
        // A run that is in progress cannot be claimed.
        let journal = engine.journal();
        let _claim = journal.claim(id).await.map_err(|error| refusal(error.into()))?;
        journal.delete(id).await.map_err(|error| refusal(error.into()))?;
        Ok(fault::document(&object! {"run": id, "deleted": true}.into()))
    }

    /// Streams the report of a run, then its events until it ends or waits for a person.
    async fn events(&self, id: &str) -> Result<Reply, Fault> {
        // Subscribed before the report is made, so that no event is missed.
        let watch = self.gateway.plans.watch(id);
        let (_, report) = self.find(id).await?;
        let mut first = report.to_json();
        first.insert("event", "report");
        let state = EventStream { waiting: VecDeque::from([first]), events: watch };
        let events = stream::unfold(state, EventStream::next)
            .map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
        let mut reply = Reply::new(ReplyBody::stream(StreamBody::new(events)));
        let headers = reply.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(reply)
    }

    /// Finds a run of the client's tenant.
    async fn find(&self, id: &str) -> Result<(LocalEngine, RunReport), Fault> {
        let engine = self.engine().await?;
        let report = engine.report(id).await.map_err(refusal)?;
        if *report.run.caller.tenant != *self.client.tenant() {
            return Err(refusal(PlanJournalError::UnknownRun(id.to_owned()).into()));
        }
        Ok((engine, report))
    }
}

/// Returns a parameter of a query.
fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| percent::decode(value)).next()
}

/// The events of a run, on their way to a client.
struct EventStream {
    waiting: VecDeque<Object>,
    events: Option<broadcast::Receiver<PlanEvent>>,
}

impl EventStream {
    async fn next(mut self) -> Option<(String, EventStream)> {
        if let Some(event) = self.waiting.pop_front() {
            return Some((frame(&event), self));
        }
        let mut events = self.events.take()?;
        let event = match events.recv().await {
            Ok(event) => {
                if !matches!(event.kind, PlanEventKind::RunEnded { .. }) {
                    self.events = Some(events);
                }
                event.to_json()
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                self.events = Some(events);
                object! {"event": "missed", "count": missed}
            }
            Err(broadcast::error::RecvError::Closed) => return None,
        };
        Some((frame(&event), self))
    }
}

fn frame(event: &Object) -> String {
    let name = event.get("event").and_then(Json::as_str).unwrap_or("message");
    format!("event: {name}\ndata: {}\n\n", event.compact())
}

fn shown(report: &RunReport) -> Reply {
    fault::document(&report.to_json().into())
}

async fn read(request: HttpRequest) -> Result<Json, Fault> {
    let body = request.body.read().await?;
    Json::parse_bytes(&body)
        .map_err(|error| Fault::new(FaultClass::Invalid, format!("The body is not JSON: {error}")))
}

fn flag(body: &Json, name: &str) -> Result<Option<bool>, Fault> {
    match body.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => {
            let message = format!("`{name}` must be true or false.");
            value.as_bool().map(Some).ok_or_else(|| invalid(name, &message))
        }
    }
}

fn refusal(error: PlanRunError) -> Fault {
    let message = error.to_string();
    let (class, status) = match &error {
        PlanRunError::Invalid(_) => (FaultClass::Invalid, StatusCode::BAD_REQUEST),
        PlanRunError::Journal(PlanJournalError::UnknownRun(_)) => {
            let message = "There is no such run for this key. `GET /v1/plans` lists runs.";
            return Fault::new(FaultClass::NotFound, message);
        }
        PlanRunError::ToolsChanged(_)
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
    let mut fault = Fault::new(class, message);
    fault.status = Some(status.as_u16());
    fault
}

fn interrupted() -> Fault {
    let message = "The run was interrupted. The gateway's log says why; resume the run.";
    Fault::new(FaultClass::Internal, message)
}

fn invalid(parameter: &str, message: &str) -> Fault {
    let mut fault = Fault::new(FaultClass::Invalid, message);
    fault.param = Some(parameter.to_owned());
    fault
}
