//! Runs the calls of a model, each from its text to its outcome.
//!
//! | step | file |
//! |---|---|
//! | find the tool, or suggest similar names | `lookup` |
//! | refuse truncated calls; parse, resolve handles, coerce, complete, check | `arguments` |
//! | allow, deny or ask for approval; bind to the run: id, idempotency key, context | `pipeline` |
//! | return a cached result | `cache` |
//! | wait for a permit | `concurrency` |
//! | fill hidden parameters | `arguments` |
//! | record the intent, run within the deadline, retry, record the result | `execute`, `job`, `retry` |
//! | build the content that the model sees | `outcome` |
//! | record the call in the ledger | `audit` |
//!
//! `pipeline` takes one call through these steps, `batch` all calls of a turn.

mod arguments;
mod audit;
mod batch;
mod cache;
mod concurrency;
mod error;
mod execute;
mod item;
mod job;
mod lookup;
mod outcome;
mod pipeline;
mod retry;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use toolwright_core::{Call, Tool, ToolKind};

use concurrency::Limit;
pub use error::{MissingNeed, ToolboxError};
use item::Item;

use crate::call::journal::{MemoryJournal, SharedJournal};
use crate::call::key::Place;
use crate::call::{Answer, Approval, Called, Policy, Wholeness, approval};
use crate::context::Context;
use crate::handle::HandleStore;
use crate::handler::Handler;
use crate::ledger::Ledger;
use crate::session::{Caller, Session};

/// Tools that can be called, with all that their calls have in common.
///
/// ```
/// use toolwright::call::{Policy, Rule, Verdict, Wholeness};
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
///     .with_policy(Policy::default().with(Rule::new(Verdict::Ask).for_tools(["send_*"])));
///
/// // What a model wrote, nearly as it should be: a string for a number, and a comma too many.
/// let arguments = Arguments::from_text(r#"{"city": "北京", "days": "2",}"#);
/// let call = Call::new("call_1", "forecast", arguments);
/// let called = toolbox.call(&Session::new("run-1"), &call, Wholeness::Proven).await;
///
/// let done = called.done().ok_or("it waits for a person")?;
/// let text = done.outcome.content[0].as_text();
/// assert_eq!(text, Some(r#"Sun, for {"city":"北京","days":2}"#));
/// assert_eq!(done.changes.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Whatever goes wrong is an outcome that tells the model what to do, never an error of the host.
/// A tool with effects is recorded before it runs, so that the same call (of the same run and turn,
/// with the same id and arguments) has its effect once, however often it is made.
///
/// Clones share everything: limits, caches and stores. A runtime of one thread cannot give up a tool
/// that blocks it: make such a tool with [`Handler::blocking`].
#[derive(Clone)]
pub struct Toolbox {
    items: Arc<[Arc<Item>]>,
    names: Arc<HashMap<Arc<str>, usize>>,
    policy: Arc<Policy>,
    journal: SharedJournal,
    handles: Option<Arc<dyn HandleStore>>,
    ledger: Option<Arc<dyn Ledger>>,
    limit: Limit,
}

impl Toolbox {
    /// A box of some tools. Everyone may call all of them, as many at once as they like.
    pub fn new(handlers: impl IntoIterator<Item = Handler>) -> Result<Toolbox, ToolboxError> {
        let mut items = Vec::new();
        let mut names = HashMap::new();
        for handler in handlers {
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
        Ok(Toolbox { items: items.into(), names: Arc::new(names), ..Toolbox::default() })
    }

    /// The tools of these names alone. All the rest is shared with this box.
    #[must_use]
    pub fn only<'n>(&self, wanted: impl IntoIterator<Item = &'n str>) -> Toolbox {
        let wanted: HashSet<&str> = wanted.into_iter().collect();
        let kept = self.items.iter().filter(|item| wanted.contains(&*item.name));
        let items: Arc<[Arc<Item>]> = kept.cloned().collect();
        let names = items.iter().enumerate().map(|(at, item)| (item.name.clone(), at)).collect();
        Toolbox { items, names: Arc::new(names), ..self.clone() }
    }

    /// With a policy: who may call what.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Toolbox {
        self.policy = Arc::new(policy);
        self
    }

    /// With a journal of effects that outlives the process. Without one they are remembered as
    /// long as this box lives.
    #[must_use]
    pub fn with_journal(mut self, journal: SharedJournal) -> Toolbox {
        self.journal = journal;
        self
    }

    /// With a ledger in which every call is noted.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Arc<dyn Ledger>) -> Toolbox {
        self.ledger = Some(ledger);
        self
    }

    /// With a store for results that are too large for a model, and for handles in arguments.
    #[must_use]
    pub fn with_handles(mut self, handles: Arc<dyn HandleStore>) -> Toolbox {
        self.handles = Some(handles);
        self
    }

    /// With at most so many calls at once, of all tools together.
    #[must_use]
    pub fn with_concurrency(mut self, calls: usize) -> Toolbox {
        self.limit = Limit::of(calls);
        self
    }

    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| &*item.name)
    }

    /// What a model is shown: every tool, without its hidden parameters; where there is a store of
    /// handles, parameters that take data admit a handle.
    pub fn tools(&self) -> Vec<Tool> {
        self.items.iter().map(|item| self.shown(item)).collect()
    }

    /// What the model of a caller is shown: the tools that the policy lets the caller call, at least
    /// with some arguments.
    pub fn tools_for(&self, caller: &Caller) -> Vec<Tool> {
        self.visible(caller).map(|item| self.shown(item)).collect()
    }

    /// A tool with what runs it.
    pub fn handler(&self, name: &str) -> Option<&Handler> {
        self.item(name).map(|item| &item.handler)
    }

    /// Whether a context has all that the tools need. To be asked before a run begins.
    pub fn check_context(&self, context: &Context) -> Result<(), Vec<MissingNeed>> {
        let missing: Vec<MissingNeed> = self
            .items
            .iter()
            .flat_map(|item| item.handler.needs().iter().map(move |need| (item, need)))
            .filter(|(_, need)| !context.meets(need))
            .map(|(item, need)| MissingNeed { tool: item.name.clone(), needed: need.name() })
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    /// Makes one call.
    pub async fn call(&self, session: &Session, call: &Call, wholeness: Wholeness) -> Called {
        let prepared = pipeline::prepare(self, session, call, Place::default(), wholeness);
        pipeline::proceed(self, session, prepared).await
    }

    /// Makes all the calls of a turn at once. What comes back is in the order of the calls,
    /// whichever ends first.
    ///
    /// Of a model that was cut off, only the last call is taken to be; those before it were written
    /// to their end. Calls of the same tool with equal arguments are made once.
    pub async fn call_all(
        &self,
        session: &Session,
        calls: &[Call],
        wholeness: Wholeness,
    ) -> Vec<Called> {
        batch::call_all(self, session, calls, wholeness).await
    }

    /// Goes on with a call that waited for a person, in this process or another.
    ///
    /// The call is prepared anew: the policy may deny it by now. If its arguments have become
    /// others in the meantime (a handle that stands for something else, a new default), the person
    /// did not agree to them, and the question is put again. Answering twice does not run a tool
    /// with effects twice.
    pub async fn answer(&self, session: &Session, asked: &Approval, answer: Answer) -> Called {
        let session = session.clone().with_turn(asked.turn);
        let (call, place) = (&asked.call, asked.place);
        let mut prepared = pipeline::prepare(self, &session, call, place, asked.wholeness);
        if !asked.belongs_to(&session) {
            return pipeline::refuse(self, &session, prepared.made, approval::foreign(&call.name));
        }
        match (answer, &mut prepared.ready) {
            (Answer::Reject(reason), _) => {
                let error = approval::rejected(&call.name, &reason);
                return pipeline::refuse(self, &session, prepared.made, error);
            }
            // An equal call of the same turn shares its key, so the approval's own is the one.
            (Answer::Approve, Ok(ready)) if asked.covers(&ready.canonical) => {
                ready.ask = None;
                ready.key = asked.key.clone();
                prepared.made.key = Some(asked.key.clone());
            }
            (Answer::Approve, _) => {}
        }
        pipeline::proceed(self, &session, prepared).await
    }

    pub(crate) fn item(&self, name: &str) -> Option<&Arc<Item>> {
        self.names.get(name).and_then(|index| self.items.get(*index))
    }

    fn shown(&self, item: &Item) -> Tool {
        if self.handles.is_some() { item.admitting.clone() } else { item.shown.clone() }
    }

    /// The tools that a caller may see.
    pub(crate) fn visible<'t>(&'t self, caller: &'t Caller) -> impl Iterator<Item = &'t Arc<Item>> {
        self.items.iter().filter(|item| self.policy.shows(&item.name, caller))
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn journal(&self) -> &SharedJournal {
        &self.journal
    }

    pub(crate) fn handles(&self) -> Option<&dyn HandleStore> {
        self.handles.as_deref()
    }

    pub(crate) fn shared_handles(&self) -> Option<Arc<dyn HandleStore>> {
        self.handles.clone()
    }

    pub(crate) fn ledger(&self) -> Option<&dyn Ledger> {
        self.ledger.as_deref()
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Whether the ledger shall have arguments and outcomes too.
    pub(crate) fn wants_data(&self) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| ledger.wants_data())
    }
}

impl Default for Toolbox {
    /// An empty box.
    fn default() -> Toolbox {
        Toolbox {
            items: Arc::new([]),
            names: Arc::default(),
            policy: Arc::default(),
            journal: SharedJournal::new(MemoryJournal::new()),
            handles: None,
            ledger: None,
            limit: Limit::default(),
        }
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.items.iter().map(|item| item.name.as_ref()).collect();
        formatter.debug_struct("Toolbox").field("tools", &names).finish_non_exhaustive()
    }
}
