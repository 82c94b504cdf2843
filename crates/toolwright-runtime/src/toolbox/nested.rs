//! Calls that a tool makes while it runs, through its [`Scope`].
//!
//! A nested call goes through the same steps as a call of a model, under its own name: lookup, check,
//! policy, journal, ledger. It differs in four ways.
//!
//! - Its id, and so its idempotency key, is derived from the id of the outer call, so that a retry or a
//!   resumed run finds its recorded outcome. A retry repeats calls that failed, if they may be repeated. Equal
//!   nested calls of one attempt are counted; the order of different ones does not matter.
//! - It runs under the toolbox permit of the outer call, which could otherwise wait for itself. The limit of
//!   its own tool holds.
//! - It ends with the outer call: by its deadline and its cancellation.
//! - It cannot wait for a person, because a running function cannot be stored and continued elsewhere.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::time::Instant;
use toolwright_core::{Arguments, Call, Json};

use super::Toolbox;
use super::item::{CompiledTool, Item};
use super::pipeline::{self, CallState, PreparedCall};
use super::step::StepCall;
use crate::call::key::{self, CallPosition};
use crate::call::{CallResult, CallStatus, Completeness, canonical};
use crate::context::Context;
use crate::error::{CallError, CallErrorKind};
use crate::session::{Pauses, Scope, Session};

/// Maximum number of calls within each other, the outermost included.
const MAX_DEPTH: usize = 8;

/// A call that is running. All clones of its scope share it.
pub(crate) struct ActiveCall {
    toolbox: Toolbox,
    item: Arc<Item>,
    /// The context of the run, without the values of the tool itself
    context: Context,
    /// The call that made this one
    outer: Option<Arc<ActiveCall>>,
    attempts: AtomicU32,
    /// Whether an earlier attempt of the same step of a plan failed
    is_retry: bool,
    /// Number of nested calls of this attempt, by the hash of tool and arguments
    nested: Mutex<HashMap<blake3::Hash, usize>>,
}

/// What a nested call has from its outer call.
#[derive(Clone)]
pub(crate) struct Outer {
    pub(crate) call_id: Arc<str>,
    pub(crate) deadline: Instant,
    pub(crate) pauses: Pauses,
    call: Arc<ActiveCall>,
}

impl ActiveCall {
    pub(crate) fn new(
        toolbox: &Toolbox,
        item: &Arc<Item>,
        session: &Session,
        state: &CallState<'_>,
    ) -> Arc<ActiveCall> {
        Arc::new(ActiveCall {
            toolbox: toolbox.clone(),
            item: item.clone(),
            context: session.context.clone(),
            outer: state.outer.as_ref().map(|outer| outer.call.clone()),
            attempts: AtomicU32::new(0),
            is_retry: state.is_retry,
            nested: Mutex::default(),
        })
    }

    /// Number of attempts so far.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Starts an attempt. Its nested calls are counted anew, so that they have the keys of the earlier
    /// ones.
    pub(crate) fn start_attempt(&self, attempt: u32) {
        self.attempts.store(attempt, Ordering::Relaxed);
        self.nested.lock().clear();
    }

    /// Whether this call, or one around it, is made again because it failed.
    pub(crate) fn is_retry(&self) -> bool {
        self.chain().any(|call| call.is_retry || call.attempts() > 1)
    }

    /// Number of earlier nested calls of this attempt with the same tool and arguments.
    fn repeats(&self, tool: &str, arguments: &Json) -> usize {
        let arguments = match arguments {
            Json::Object(arguments) => canonical(arguments),
            other => other.compact(),
        };
        let mut nested = self.nested.lock();
        let count = nested.entry(key::digest(&[tool, &arguments])).or_default();
        *count += 1;
        *count - 1
    }

    /// This call and the ones around it, innermost first.
    fn chain(&self) -> impl Iterator<Item = &ActiveCall> {
        std::iter::successors(Some(self), |call| call.outer.as_deref())
    }

    /// Why a call of this tool cannot be made here.
    fn refuses(&self, tool: &str, item: &Item) -> Option<CallError> {
        let own = &self.item.name;
        // The name that was called may have a version.
        if self.chain().any(|call| call.item.name == item.name) {
            let problem = format!("{tool} is already running, and a tool may not call itself");
            return Some(refused(own, tool, &problem));
        }
        if self.chain().count() >= MAX_DEPTH {
            let problem = format!("there are already {MAX_DEPTH} calls within each other");
            return Some(refused(own, tool, &problem));
        }
        // The running call may have locked the value until it ends.
        let needs = item.handler.needs();
        let mut held = self.chain().flat_map(|call| call.item.handler.needs());
        let shared = held.find(|held| needs.iter().any(|need| need.excludes(held)));
        shared.map(|need| {
            let problem =
                format!("both use the context value {}, which one of them changes", need.name());
            refused(own, tool, &problem)
        })
    }
}

impl Scope {
    /// Calls another tool of the same toolbox and returns its result; the error is that of the failed
    /// call.
    ///
    /// The call is checked, allowed or denied by the policy under its own name, journaled and recorded in
    /// the ledger, like a call of a model. Its idempotency key is derived from this call, so that a retry
    /// or a resumed run does not repeat its effect. It ends at the deadline of this call at the latest.
    /// See [`CallResult::value`] for its output.
    ///
    /// Refused are: a tool that is already running in this call (no recursion), more than eight calls
    /// within each other, a tool that needs the approval of a person, and a tool that uses a context value
    /// of this tool if one of the two changes it. Two tools with concurrency limits that call each other
    /// may wait for each other until their deadline. A function that blocks its thread can wait with
    /// `tokio::runtime::Handle::current().block_on(…)`.
    ///
    /// ```
    /// # extern crate toolwright_runtime as toolwright;
    /// use toolwright::prelude::*;
    /// use toolwright::{Scope, object};
    ///
    /// /// Returns the price of an article.
    /// #[tool(read_only)]
    /// fn price(article: String) -> u64 {
    ///     if article == "tea" { 3 } else { 4 }
    /// }
    ///
    /// /// Returns the price of some articles.
    /// #[tool(read_only)]
    /// async fn total(#[scope] scope: &Scope, articles: Vec<String>) -> Result<u64, ToolError> {
    ///     let mut total = 0;
    ///     for article in articles {
    ///         let price = scope.call("price", object! {"article": article}).await?;
    ///         total += price.value().and_then(|value| value.as_u64()).unwrap_or_default();
    ///     }
    ///     Ok(total)
    /// }
    /// # let toolbox = toolwright::Toolbox::new([price::handler(), total::handler()])?;
    /// # let text = r#"{"articles": ["tea", "milk"]}"#;
    /// # let call = toolwright::Call::new("c1", "total", toolwright::Arguments::from_text(text));
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let status = toolbox.call(&toolwright::Session::new("run"), &call).await;
    /// # assert_eq!(status.result().and_then(|done| done.value()?.as_u64()), Some(7));
    /// # });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn call(
        &self,
        tool: &str,
        arguments: impl Into<Json>,
    ) -> Result<CallResult, CallError> {
        let active = self.active(tool)?;
        let found = active.toolbox.find(tool).await;
        self.call_found(&active, tool, arguments.into(), found).await
    }

    /// Calls a tool that is not in the toolbox, and is otherwise as [`call`](Scope::call).
    pub async fn call_tool(
        &self,
        tool: &CompiledTool,
        arguments: impl Into<Json>,
    ) -> Result<CallResult, CallError> {
        let name = &*tool.0.name;
        let found = Ok(Some(tool.0.clone()));
        self.call_found(&self.active(name)?, name, arguments.into(), found).await
    }

    /// Calls the tool of a step of a plan. The id of the call is unique within this call. A call that needs approval is
    /// refused, unless the plan can wait for a person.
    pub async fn call_step(
        &self,
        step: StepCall<'_>,
        may_wait: bool,
    ) -> Result<CallStatus, CallError> {
        let active = self.active(&step.call.name)?;
        let id = format!("{}/{}", self.call_id, step.call.id.as_deref().unwrap_or_default());
        let call = Call { id: Some(id), ..step.call.clone() };
        let found = Ok(Some(step.tool.0.clone()));
        let session = self.nested_session(&active);
        let position = CallPosition::default();
        let prepared = self.prepare(&active, &session, &call, found, position, may_wait).await;
        Ok(step.proceed(&active.toolbox, &session, prepared).await)
    }

    /// Whether this call, or one around it, is made again because it failed.
    pub fn is_retry(&self) -> bool {
        self.active(&self.tool).is_ok_and(|active| active.is_retry())
    }

    /// Whether the policy of the toolbox lets the caller call a tool, at least with some arguments. The tool
    /// need not exist.
    pub fn may_call(&self, tool: &str) -> bool {
        let active = self.active(tool);
        active.is_ok_and(|active| active.toolbox.may_call(tool, &self.session.caller))
    }

    fn active(&self, tool: &str) -> Result<Arc<ActiveCall>, CallError> {
        let active = self.active.clone().and_then(|active| active.downcast::<ActiveCall>().ok());
        active.ok_or_else(|| refused(&self.tool, tool, "it was not started by a toolbox"))
    }

    async fn call_found(
        &self,
        active: &Arc<ActiveCall>,
        tool: &str,
        arguments: Json,
        found: Result<Option<Arc<Item>>, CallError>,
    ) -> Result<CallResult, CallError> {
        let position = CallPosition { index: 0, repeats: active.repeats(tool, &arguments) };
        let id = format!("{}/{tool}", self.call_id);
        let call = Call::new(id, tool, Arguments::from_json(&arguments));
        let session = self.nested_session(active);
        let prepared = self.prepare(active, &session, &call, found, position, false).await;
        match pipeline::proceed(&active.toolbox, &session, prepared).await {
            CallStatus::Done(CallResult { error: Some(error), .. }) => Err(error),
            CallStatus::Done(result) => Ok(result),
            CallStatus::Waiting(approval) => Err(refused(&self.tool, tool, &approval.reason)),
        }
    }

    /// Returns the session of calls within this one.
    fn nested_session(&self, active: &ActiveCall) -> Session {
        let (context, cancel) = (active.context.clone(), self.cancel.clone());
        Session { context, cancel, ..self.session.clone() }
    }

    /// Checks a call within this one.
    async fn prepare<'c>(
        &self,
        active: &Arc<ActiveCall>,
        session: &Session,
        call: &'c Call,
        found: Result<Option<Arc<Item>>, CallError>,
        position: CallPosition,
        may_wait: bool,
    ) -> PreparedCall<'c> {
        let (tool, completeness) = (call.name.as_str(), Completeness::Complete);
        let toolbox = &active.toolbox;
        let mut prepared =
            pipeline::prepare_found(toolbox, session, call, found, position, completeness).await;
        prepared.state.outer = Some(Outer {
            call_id: self.call_id.clone(),
            deadline: self.deadline,
            pauses: self.pauses.clone(),
            call: active.clone(),
        });
        if let Ok(runnable) = &prepared.runnable {
            let refusal = active.refuses(tool, &runnable.item).or_else(|| {
                let reason = runnable.ask.as_ref().filter(|_| !may_wait)?;
                let problem = format!("it needs the approval of a person. {reason}");
                Some(refused(&self.tool, tool, &problem))
            });
            if let Some(error) = refusal {
                prepared.runnable = Err(error);
            }
        }
        prepared
    }
}

fn refused(outer: &str, tool: &str, problem: &str) -> CallError {
    let text = format!(
        "{outer} cannot call {tool}: {problem}. {tool} was not run. Call {tool} directly if it is \
         needed."
    );
    CallError::new(CallErrorKind::NotAllowed, text)
}
