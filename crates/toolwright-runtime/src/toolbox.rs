//! Runs the calls of a model, each from its text to its outcome.
//!
//! | step | file |
//! |---|---|
//! | find the tool | `listing`, `sources` |
//! | refuse unknown tools, with similar names, and tools that the caller may not call | `lookup` |
//! | refuse truncated calls; parse, resolve handles, check, coerce, complete | `arguments` |
//! | allow, deny or ask for approval; bind to the run: id, idempotency key, context | `pipeline` |
//! | return a cached result | `cache` |
//! | wait for a permit | `concurrency` |
//! | fill hidden parameters | `arguments` |
//! | record the intent, run within the deadline, retry, record the result | `execute`, `job`, `retry` |
//! | build the content that the model sees | `outcome` |
//! | record the call in the ledger | `audit` |
//!
//! `pipeline` takes one call through these steps, `batch` all calls of a turn, `nested` those that a
//! running tool makes.

mod arguments;
mod audit;
mod batch;
mod cache;
mod concurrency;
mod error;
mod execute;
mod hidden;
mod item;
mod job;
mod listing;
mod lookup;
mod nested;
mod outcome;
mod pipeline;
mod retry;
mod source;
mod sources;
mod step;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use toolwright_core::args::{ResolvedArguments, parse_exact};
use toolwright_core::{Arguments, Call, Tool, ToolKind};

use concurrency::Limit;
pub use error::{MissingNeed, ToolboxError};
pub use item::CompiledTool;
use item::Item;
pub use source::{
    MissingTool, SourceError, SourceFuture, SourceProblem, SourceReport, ToolPage, ToolSource,
};
use sources::Sources;
pub use step::{StepCall, StepTool};

use crate::call::journal::{MemoryJournal, SharedJournal};
use crate::call::key::CallPosition;
use crate::call::{Answer, Approval, CallStatus, Completeness, Policy, Rule, approval};
use crate::context::Context;
use crate::error::CallError;
use crate::handle::HandleStore;
use crate::handler::{Handler, IntoHandler};
use crate::ledger::Ledger;
use crate::session::{Caller, Session};

/// Tools, with the policy, limits and stores that their calls share.
///
/// ```
/// # extern crate toolwright_runtime as toolwright;
/// use toolwright::call::{Policy, Rule, Verdict};
/// use toolwright::{Arguments, Call, Effect, Handler, Json, Output, Session, Tool, Toolbox};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let schema = Json::parse(
///     r#"{"type": "object", "required": ["city"], "properties": {
///         "city": {"type": "string"}, "days": {"type": "integer", "default": 3}}}"#,
/// )?;
/// let forecast = Handler::new(Tool::function("forecast", schema), |_, arguments| async move {
///     Ok(Output::text(format!("Sun, for {arguments}")))
/// })
/// .with_effect(Effect::None);
/// let toolbox = Toolbox::new([forecast])?
///     .with_policy(Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["send_*"])));
///
/// // The text of a model with two mistakes: a string for a number, and a trailing comma.
/// let arguments = Arguments::from_text(r#"{"city": "北京", "days": "2",}"#);
/// let call = Call::new("call_1", "forecast", arguments);
/// let status = toolbox.call(&Session::new("run-1"), &call).await;
///
/// let result = status.result().ok_or("the call waits for approval")?;
/// let text = result.outcome.content[0].as_text();
/// assert_eq!(text, Some(r#"Sun, for {"city":"北京","days":2}"#));
/// assert_eq!(result.changes.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A failed call is an outcome that explains the failure to the model, never an error of the host. A tool
/// with effects is recorded in a journal before it runs, so that the same call (of the same run and
/// turn, with the same id and arguments) has its effect once, however often it is repeated.
///
/// Clones share limits, caches and stores. On a single-threaded runtime the deadline of a tool that
/// blocks its thread cannot hold: define such a tool with [`Handler::blocking`].
#[must_use]
#[derive(Clone, Default)]
pub struct Toolbox {
    /// Shared by clones and by running calls
    parts: Arc<Parts>,
}

/// The tools of sources that may be used.
#[derive(Clone)]
enum Allowed {
    Names(Arc<HashSet<Arc<str>>>),
    Rule(Arc<dyn Fn(&str) -> bool + Send + Sync>),
}

#[derive(Clone, Default)]
struct Parts {
    items: Arc<[Arc<Item>]>,
    names: Arc<HashMap<Arc<str>, usize>>,
    sources: Option<Arc<Sources>>,
    /// The source of tools that nothing else has
    unlisted: Option<Arc<Sources>>,
    /// The tools of the sources that may be used; all if absent
    allowed: Option<Allowed>,
    policy: Arc<Policy>,
    journal: SharedJournal,
    handles: Option<Arc<dyn HandleStore>>,
    ledger: Option<Arc<dyn Ledger>>,
    limit: Limit,
}

impl Toolbox {
    /// Creates a toolbox. By default every caller may call every tool, with no concurrency limit.
    pub fn new(handlers: impl IntoIterator<Item: IntoHandler>) -> Result<Toolbox, ToolboxError> {
        Toolbox::default().with_handlers(handlers)
    }

    /// Adds tools.
    pub fn with_handlers(
        mut self,
        handlers: impl IntoIterator<Item: IntoHandler>,
    ) -> Result<Toolbox, ToolboxError> {
        let mut items = self.parts.items.to_vec();
        let mut names = HashMap::clone(&self.parts.names);
        for handler in handlers.into_iter().map(IntoHandler::into_handler) {
            let tool = handler.tool().name.clone();
            if tool.is_empty() {
                return Err(ToolboxError::Nameless);
            }
            if matches!(handler.tool().kind, ToolKind::Hosted(_)) {
                return Err(ToolboxError::Hosted { tool });
            }
            let item = Item::new(handler)
                .map_err(|source| ToolboxError::Schema { tool: tool.clone(), source })?;
            if names.insert(item.name.clone(), items.len()).is_some() {
                return Err(ToolboxError::Duplicate { tool });
            }
            items.push(Arc::new(item));
        }
        let parts = self.parts_mut();
        (parts.items, parts.names) = (items.into(), Arc::new(names));
        Ok(self)
    }

    /// A toolbox with only the named tools. Policy, limits, stores and sources are shared with this one. A
    /// name that no source lists yet is allowed.
    pub fn only<'n>(&self, wanted: impl IntoIterator<Item = &'n str>) -> Toolbox {
        let wanted: HashSet<&str> = wanted.into_iter().collect();
        let kept = self.parts.items.iter().filter(|item| wanted.contains(&*item.name));
        let mut parts = (*self.parts).clone();
        parts.set_items(kept.cloned().collect());
        let has_sources = self.parts.sources.is_some() || self.parts.unlisted.is_some();
        parts.allowed = has_sources.then(|| {
            let wanted = wanted.iter().filter(|name| self.allows(name));
            Allowed::Names(Arc::new(wanted.map(|name| Arc::from(*name)).collect()))
        });
        Toolbox { parts: Arc::new(parts) }
    }

    /// Adds tools, such as functions of a catalog. Each has a name that no other tool of the toolbox has.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = CompiledTool>) -> Toolbox {
        let added = tools.into_iter().map(|tool| tool.0);
        let items = self.parts.items.iter().cloned().chain(added).collect();
        self.parts_mut().set_items(items);
        self
    }

    /// A toolbox with the tools that a rule allows, by their names. Otherwise like [`only`](Toolbox::only), whose cost
    /// grows with the number of names; this one tests the tools of sources when they are listed or called.
    pub fn filtered(&self, rule: impl Fn(&str) -> bool + Send + Sync + 'static) -> Toolbox {
        let own = self.clone();
        let rule = move |name: &str| own.allows(name) && rule(name);
        let mut parts = (*self.parts).clone();
        if !self.parts.items.iter().all(|item| rule(&item.name)) {
            let kept = self.parts.items.iter().filter(|item| rule(&item.name));
            parts.set_items(kept.cloned().collect());
        }
        parts.allowed = Some(Allowed::Rule(Arc::new(rule)));
        Toolbox { parts: Arc::new(parts) }
    }

    /// Sets the policy that decides which caller may call which tool.
    pub fn with_policy(mut self, policy: Policy) -> Toolbox {
        self.parts_mut().policy = Arc::new(policy);
        self
    }

    /// Adds a rule to the policy, after the others.
    pub fn with_rule(mut self, rule: Rule) -> Toolbox {
        let parts = self.parts_mut();
        parts.policy = Arc::new(Policy::clone(&parts.policy).with_rule(rule));
        self
    }

    /// Sets the journal of effects. The default one lasts as long as the toolbox; one in a file outlives
    /// the process.
    pub fn with_journal(mut self, journal: SharedJournal) -> Toolbox {
        self.parts_mut().journal = journal;
        self
    }

    /// Sets the ledger that records every call.
    pub fn with_ledger(mut self, ledger: Arc<dyn Ledger>) -> Toolbox {
        self.parts_mut().ledger = Some(ledger);
        self
    }

    /// Sets the store for results that exceed the budget of their tool. Arguments may then be handles.
    pub fn with_handles(mut self, handles: Arc<dyn HandleStore>) -> Toolbox {
        self.parts_mut().handles = Some(handles);
        self
    }

    /// Limits the number of concurrent calls, of all tools together.
    pub fn with_concurrency(mut self, calls: usize) -> Toolbox {
        self.parts_mut().limit = Limit::new(calls);
        self
    }

    /// The names of the tools, without those of sources.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.items.iter().map(|item| &*item.name)
    }

    /// The names of all tools, including those that sources list.
    pub fn all_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self.parts.items.iter().map(|item| item.name.clone()).collect();
        self.each_listed(|listed| names.push(listed.name.clone()));
        names
    }

    /// The definitions for a model, without hidden parameters. With a handle store, parameters that take
    /// data accept a handle as well.
    pub fn tools(&self) -> Vec<Tool> {
        self.definitions(|_| true).iter().map(|tool| Tool::clone(tool)).collect()
    }

    /// The definitions of the tools that the policy allows a caller to call, at least with some
    /// arguments.
    pub fn tools_for(&self, caller: &Caller) -> Vec<Tool> {
        self.shared_tools_for(caller).iter().map(|tool| Tool::clone(tool)).collect()
    }

    /// Returns what [`tools_for`](Toolbox::tools_for) returns, without copies.
    pub fn shared_tools_for(&self, caller: &Caller) -> Vec<Arc<Tool>> {
        self.definitions(|name| self.parts.policy.shows(name, caller))
    }

    fn definitions(&self, is_shown: impl Fn(&str) -> bool) -> Vec<Arc<Tool>> {
        let has_handles = self.parts.handles.is_some();
        let mut tools = Vec::new();
        for item in self.parts.items.iter().filter(|item| is_shown(&item.name)) {
            let own = if has_handles { &item.definition_with_handles } else { &item.definition };
            tools.push(own.clone());
        }
        self.each_listed(|listed| {
            if is_shown(&listed.name) {
                let own = if has_handles { listed.with_handles() } else { &listed.tool };
                tools.push(own.clone());
            }
        });
        tools
    }

    /// The handler of a tool that no source provides; see [`resolve`](Toolbox::resolve).
    pub fn handler(&self, name: &str) -> Option<&Handler> {
        self.item(name).map(|item| &item.handler)
    }

    /// The handler of a tool, from a source if necessary. The error is that of a call of the tool: there is
    /// no such tool, or its source failed.
    pub async fn resolve(&self, name: &str) -> Result<Handler, CallError> {
        match self.find(name).await? {
            Some(item) => Ok(item.handler.clone()),
            None => Err(self.unknown(name, None)),
        }
    }

    /// Whether there is a tool of this name, or a source lists one.
    pub fn contains(&self, name: &str) -> bool {
        let is_listed =
            |sources: &Arc<Sources>| self.allows(name) && sources.snapshot().get(name).is_some();
        self.parts.names.contains_key(name) || self.parts.sources.as_ref().is_some_and(is_listed)
    }

    /// Whether the policy lets a caller call a tool, at least with some arguments. The tool need not exist.
    pub fn may_call(&self, tool: &str, caller: &Caller) -> bool {
        self.parts.policy.shows(tool, caller)
    }

    /// Checks that a context has every value that the tools need.
    pub fn check_context(&self, context: &Context) -> Result<(), Vec<MissingNeed>> {
        let missing: Vec<MissingNeed> = self
            .parts
            .items
            .iter()
            .flat_map(|item| item.handler.needs().iter().map(move |need| (item, need)))
            .filter(|(_, need)| !context.meets(need))
            .map(|(item, need)| MissingNeed { tool: item.name.clone(), needed: need.name() })
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    /// Checks arguments as they are written, without a call: nothing is repaired, coerced or resolved from handles.
    /// The result has every error with its path, or the arguments with defaults filled in. The error says that there
    /// is no such tool.
    ///
    /// A call of a session [with exact arguments](Session::with_exact_arguments) checks in the same way.
    pub async fn check_arguments(
        &self,
        tool: &str,
        arguments: &Arguments,
    ) -> Result<ResolvedArguments, CallError> {
        match self.find(tool).await? {
            Some(item) => Ok(item.parameters.resolve_exact(parse_exact(arguments))),
            None => Err(self.unknown(tool, None)),
        }
    }

    /// Runs one call. Incomplete arguments are refused; see [`call_with`](Toolbox::call_with).
    pub async fn call(&self, session: &Session, call: &Call) -> CallStatus {
        self.call_with(session, call, Completeness::default()).await
    }

    /// Runs one call of which the stop reason of the model is known.
    pub async fn call_with(
        &self,
        session: &Session,
        call: &Call,
        completeness: Completeness,
    ) -> CallStatus {
        let position = CallPosition::default();
        let prepared = pipeline::prepare(self, session, call, position, completeness).await;
        pipeline::proceed(self, session, prepared).await
    }

    /// Runs one call of a tool that is not in the toolbox, with the policy, limits and stores of the
    /// toolbox. They know the tool by its own name; the call may have another one.
    pub async fn call_tool(
        &self,
        session: &Session,
        tool: &CompiledTool,
        call: &Call,
    ) -> CallStatus {
        let (found, position) = (Ok(Some(tool.0.clone())), CallPosition::default());
        let completeness = Completeness::default();
        let prepared =
            pipeline::prepare_found(self, session, call, found, position, completeness).await;
        pipeline::proceed(self, session, prepared).await
    }

    /// Runs the calls of a turn concurrently. The results are in the order of the calls.
    ///
    /// If the model was cut off, only the last call counts as truncated. Calls of the same tool with
    /// equal arguments run once.
    pub async fn call_all(
        &self,
        session: &Session,
        calls: &[Call],
        completeness: Completeness,
    ) -> Vec<CallStatus> {
        batch::call_all(self, session, calls, completeness).await
    }

    /// Continues a call that waited for approval, also in another process than the one that asked.
    ///
    /// The call is checked again: the policy may deny it by now. If its tool or its arguments have changed
    /// in the meantime (another [digest](Handler::digest), a handle with another value), the person did not
    /// approve them, and the call waits again. Answering twice does not run a tool with effects twice.
    pub async fn answer(&self, session: &Session, asked: &Approval, answer: Answer) -> CallStatus {
        let session = session.clone().with_turn(asked.turn);
        let (call, position) = (&asked.call, asked.position);
        let mut prepared =
            pipeline::prepare(self, &session, call, position, asked.completeness).await;
        if !asked.belongs_to(&session) {
            return pipeline::refuse(self, &session, prepared.state, approval::foreign(&call.name));
        }
        match (answer, &mut prepared.runnable) {
            (Answer::Reject(reason), _) => {
                let error = approval::rejected(&call.name, &reason);
                return pipeline::refuse(self, &session, prepared.state, error);
            }
            // Equal calls of a turn share a key, so the key of the approval is used.
            (Answer::Approve, Ok(runnable))
                if asked.covers(runnable.item.digest, &runnable.canonical) =>
            {
                runnable.ask = None;
                runnable.keys.key = asked.key.clone();
                prepared.state.key = Some(asked.key.clone());
            }
            (Answer::Approve, _) => {}
        }
        pipeline::proceed(self, &session, prepared).await
    }

    pub(crate) fn item(&self, name: &str) -> Option<&Arc<Item>> {
        self.parts.names.get(name).and_then(|index| self.parts.items.get(*index))
    }

    fn parts_mut(&mut self) -> &mut Parts {
        Arc::make_mut(&mut self.parts)
    }

    /// Returns the journal of effects.
    pub fn journal(&self) -> &SharedJournal {
        &self.parts.journal
    }

    /// Returns the store of handles.
    pub fn handles(&self) -> Option<&dyn HandleStore> {
        self.parts.handles.as_deref()
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> Option<&dyn Ledger> {
        self.parts.ledger.as_deref()
    }

    /// Whether the ledger records arguments and outcomes.
    pub(crate) fn wants_data(&self) -> bool {
        self.parts.ledger.as_ref().is_some_and(|ledger| ledger.wants_data())
    }
}

impl Parts {
    fn set_items(&mut self, items: Arc<[Arc<Item>]>) {
        let names = items.iter().enumerate().map(|(at, item)| (item.name.clone(), at));
        self.names = Arc::new(names.collect());
        self.items = items;
    }
}

impl Default for SharedJournal {
    /// A journal that lasts as long as the process.
    fn default() -> SharedJournal {
        SharedJournal::new(MemoryJournal::new())
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.parts.items.iter().map(|item| item.name.as_ref()).collect();
        formatter.debug_struct("Toolbox").field("tools", &names).finish_non_exhaustive()
    }
}
