//! Takes one call through all steps.
//!
//! [`prepare`] checks the calls of a turn in order, and waits at most for the values of handles;
//! [`proceed`] does the rest, for all of them concurrently.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use toolwright_core::args::{Change, CheckedCall};
use toolwright_core::{Call, Outcome, Part};
use toolwright_json::Object;

use super::cache::{self, Lookup};
use super::item::Item;
use super::job::{Execution, Job};
use super::nested::{ActiveCall, Outer};
use super::{Toolbox, arguments, audit, concurrency, execute, hidden, lookup, outcome};
use crate::call::key::{self, CallKeys, CallPosition};
use crate::call::{Approval, CallResult, CallStatus, Completeness, Verdict, approval, canonical};
use crate::error::{CallError, CallErrorKind};
use crate::handler::Handler;
use crate::ledger::{Ledger, ResultSource};
use crate::session::{Pauses, Scope, Session};

/// A call after [`prepare`].
pub(crate) struct PreparedCall<'c> {
    pub(crate) state: CallState<'c>,
    /// What runs, or why the call is refused
    pub(crate) runnable: Result<RunnableCall, CallError>,
}

/// What is known of a call, also if it is refused.
pub(crate) struct CallState<'c> {
    pub(crate) call: &'c Call,
    pub(crate) position: CallPosition,
    pub(crate) completeness: Completeness,
    /// The call that makes this one, if a tool does
    pub(crate) outer: Option<Outer>,
    /// Whether an earlier attempt of the same step of a plan failed
    pub(crate) is_retry: bool,
    /// The internal id, unique in the turn
    pub(crate) call_id: Arc<str>,
    pub(crate) time: SystemTime,
    pub(crate) start: Instant,
    /// The tool, if it exists
    pub(crate) item: Option<Arc<Item>>,
    pub(crate) changes: Vec<Change>,
    /// The checked arguments, if the ledger records them
    pub(crate) arguments: Option<Object>,
    /// The idempotency key, once it is computed
    pub(crate) key: Option<Arc<str>>,
}

/// A call whose arguments were checked and that the policy does not deny.
pub(crate) struct RunnableCall {
    pub(crate) item: Arc<Item>,
    pub(crate) checked: CheckedCall,
    pub(crate) canonical: String,
    pub(crate) keys: CallKeys,
    /// Why the call needs approval, if it does
    pub(crate) ask: Option<String>,
}

/// Finds the tool, checks the arguments and the policy, and computes the idempotency key.
pub(crate) async fn prepare<'c>(
    toolbox: &Toolbox,
    session: &Session,
    call: &'c Call,
    position: CallPosition,
    completeness: Completeness,
) -> PreparedCall<'c> {
    let found = toolbox.find(&call.name).await;
    prepare_found(toolbox, session, call, found, position, completeness).await
}

/// Does what [`prepare`] does, with a tool that was looked up before.
pub(crate) fn prepare_found<'a, 'c: 'a>(
    toolbox: &'a Toolbox,
    session: &'a Session,
    call: &'c Call,
    found: Result<Option<Arc<Item>>, CallError>,
    position: CallPosition,
    completeness: Completeness,
) -> BoxFuture<'a, PreparedCall<'c>> {
    Box::pin(async move {
        let (item, unavailable) = match found {
            Ok(item) => (item, None),
            Err(error) => (None, Some(error)),
        };
        let mut state = CallState {
            call,
            position,
            completeness,
            outer: None,
            is_retry: false,
            call_id: position.id(session, call),
            time: SystemTime::now(),
            start: Instant::now(),
            item,
            changes: Vec::new(),
            arguments: None,
            key: None,
        };
        let runnable = match unavailable {
            Some(error) => Err(error),
            None => check(toolbox, session, &mut state).await,
        };
        PreparedCall { state, runnable }
    })
}

async fn check(
    toolbox: &Toolbox,
    session: &Session,
    state: &mut CallState<'_>,
) -> Result<RunnableCall, CallError> {
    let Some(item) = state.item.clone() else {
        return Err(toolbox.unknown(&state.call.name, Some(&session.caller)));
    };
    if let Some(judged) = toolbox.parts.policy.barred(&item.name, &session.caller) {
        return Err(lookup::forbidden(&item.name, judged.reason, false));
    }
    state.completeness.check_call(&item.name)?;
    let checked = arguments::check(toolbox, session, &item, state).await?;
    let arguments = checked.arguments();
    if toolbox.wants_data() {
        state.arguments = Some(arguments.clone());
    }
    let judged = toolbox.parts.policy.judged(&item.name, &session.caller, arguments);
    let ask = match judged.verdict {
        Verdict::Allow => None,
        Verdict::Deny => {
            return Err(lookup::forbidden(&item.name, judged.reason, judged.by_arguments));
        }
        Verdict::Ask => Some(judged.reason.map_or_else(
            || format!("{} may run only with the approval of a person.", item.name),
            str::to_owned,
        )),
    };
    check_needs(&item.handler, session)?;
    check_slots(toolbox, &item, session)?;
    let canonical = canonical(arguments);
    let keys = CallKeys::new(session, &state.call_id, &item.name, item.digest, &canonical);
    state.key = Some(keys.key.clone());
    Ok(RunnableCall { item, checked, canonical, keys, ask })
}

/// Runs a prepared call, or returns the question to a person, and records it in the ledger.
pub(crate) fn proceed<'a>(
    toolbox: &'a Toolbox,
    session: &'a Session,
    prepared: PreparedCall<'a>,
) -> BoxFuture<'a, CallStatus> {
    Box::pin(async move {
        let PreparedCall { state, runnable } = prepared;
        let execution = match runnable {
            Ok(runnable) if runnable.ask.is_some() => {
                audit::waiting(toolbox, session, &state);
                return CallStatus::Waiting(question(session, &state, runnable));
            }
            Ok(runnable) => {
                let guard = audit::AbandonGuard { toolbox, session, state: &state };
                let execution = run(toolbox, session, &state, runnable).await;
                std::mem::forget(guard);
                execution
            }
            Err(error) => Execution::refused(error),
        };
        conclude(toolbox, session, state, execution)
    })
}

/// Looks into the cache, waits for permits and runs the tool.
async fn run(
    toolbox: &Toolbox,
    session: &Session,
    state: &CallState<'_>,
    runnable: RunnableCall,
) -> Execution {
    let RunnableCall { item, checked, canonical, keys: CallKeys { key, unversioned }, .. } =
        runnable;
    let mut deadline = end(state.start, item.handler.settings().deadline);
    if let Some(outer) = &state.outer {
        deadline = deadline.min(outer.deadline + outer.pauses.total());
    }
    let mut scope =
        Scope::new(session.clone(), item.name.clone(), state.call_id.clone(), key, deadline);
    let written = arguments::written(&item, checked.arguments(), &state.changes);
    scope.pauses = Pauses::new(state.outer.as_ref().map(|outer| &outer.pauses));
    let mut flight = None;
    if let Some(cache) = &item.cache {
        match cache.find(cache::key(&item.handler, session, &canonical), &scope).await {
            Ok(Lookup::Hit(output)) => {
                let (pieces, host) = (output.pieces.clone(), output.host.clone());
                let owner = session.owner();
                let store = toolbox.handles();
                return match outcome::success(&item.handler, pieces, &written, &owner, store).await
                {
                    Ok(content) => Execution::succeeded(ResultSource::Cached, content, host),
                    Err(error) => Execution::refused(error),
                };
            }
            Ok(Lookup::Miss(own)) => flight = Some(own),
            Err(error) => return Execution::refused(error),
        }
    }
    match acquire(toolbox, &item, &scope, state.outer.is_some()).await {
        Ok(permits) => {
            let (journal, handles) = (toolbox.journal().clone(), toolbox.parts.handles.clone());
            let active = ActiveCall::new(toolbox, &item, session, state);
            scope.active = Some(active.clone());
            scope.secrets = Arc::new(hidden::secrets(&item.handler.settings().fills));
            let mut arguments = checked.into_arguments();
            if let Err(error) = arguments::fill(toolbox, session, &item, &mut arguments).await {
                return Execution::refused(error);
            }
            let job = Job {
                item,
                scope,
                unversioned_key: unversioned,
                arguments,
                written,
                journal,
                handles,
                flight,
                active,
                permits,
            };
            execute::execute(job).await
        }
        Err(error) => Execution::refused(error),
    }
}

/// Waits until the ledger has capacity, then for a permit of the tool, then for one of the toolbox: a
/// call that waits for its tool does not block the other tools. A nested call runs under the toolbox
/// permit of its outer call.
async fn acquire(
    toolbox: &Toolbox,
    item: &Item,
    scope: &Scope,
    is_nested: bool,
) -> Result<[concurrency::Permit; 2], CallError> {
    if let Some(backpressure) = toolbox.ledger().and_then(Ledger::backpressure) {
        concurrency::wait(backpressure, scope).await?;
    }
    let unlimited = concurrency::Limit::default();
    let limit = if is_nested { &unlimited } else { &toolbox.parts.limit };
    Ok([item.limit.acquire(scope).await?, limit.acquire(scope).await?])
}

/// Ends a call without running its tool.
pub(crate) fn refuse(
    toolbox: &Toolbox,
    session: &Session,
    state: CallState<'_>,
    error: CallError,
) -> CallStatus {
    conclude(toolbox, session, state, Execution::refused(error))
}

/// Builds the result of a call and records it in the ledger.
fn conclude(
    toolbox: &Toolbox,
    session: &Session,
    mut state: CallState<'_>,
    execution: Execution,
) -> CallStatus {
    let content = match (execution.content, &execution.error, &state.item) {
        (Some(content), _, _) => content,
        (None, Some(error), Some(item)) => outcome::failure(&item.handler, error),
        (None, Some(error), None) => vec![Part::text(error.text.as_str())],
        (None, None, _) => Vec::new(),
    };
    let result = CallResult {
        outcome: Outcome {
            call_id: state.call.id.clone(),
            name: Some(state.call.name.clone()),
            content,
            error: Some(execution.error.is_some()),
        },
        error: execution.error,
        host: execution.host,
        changes: std::mem::take(&mut state.changes),
        attempts: execution.attempts,
        source: execution.source,
        duration: state.start.elapsed(),
        unrecorded: execution.unrecorded,
        output: execution.output,
    };
    audit::done(toolbox, session, &state, &result);
    CallStatus::Done(result)
}

/// Builds the question to a person.
pub(crate) fn question(
    session: &Session,
    state: &CallState<'_>,
    runnable: RunnableCall,
) -> Approval {
    let RunnableCall { item, checked, canonical, keys: CallKeys { key, .. }, ask } = runnable;
    let (turn, position) = (session.turn.to_string(), state.position.index.to_string());
    let id = key::digest(&[&session.run, &turn, &position, &key]).to_hex();
    Approval {
        id: id[..32].to_owned(),
        tenant: session.caller.tenant.clone(),
        run: session.run.clone(),
        turn: session.turn,
        call: state.call.clone(),
        arguments: audit::for_display(state, checked.arguments(), &state.changes),
        reason: ask.unwrap_or_default(),
        key,
        digest: approval::digest(item.digest, &canonical),
        position: state.position,
        completeness: state.completeness,
    }
}

/// The instant of the deadline.
fn end(start: Instant, deadline: Duration) -> Instant {
    const YEAR: Duration = Duration::from_hours(24 * 365);
    start.checked_add(deadline).unwrap_or_else(|| start + YEAR)
}

/// Refuses a call whose tool needs context that the session lacks. A run checks this when it is
/// built; this check serves callers without a run.
fn check_needs(handler: &Handler, session: &Session) -> Result<(), CallError> {
    if handler.needs().iter().all(|need| session.context.meets(need)) {
        return Ok(());
    }
    let text = format!(
        "{} cannot be used here: the context that it needs was not provided. It was not run, and \
         calling it again will not help. Continue without it.",
        handler.tool().name
    );
    Err(CallError::new(CallErrorKind::MissingContext, text))
}

/// Refuses a tool that uses slots if the toolbox stores no values or the session has no slots.
fn check_slots(toolbox: &Toolbox, item: &Item, session: &Session) -> Result<(), CallError> {
    let reason = if !item.uses_slots() {
        return Ok(());
    } else if toolbox.handles().is_none() {
        "no data is kept between calls here"
    } else if !session.has_slots {
        "it keeps data for its conversation, and the client does not say which one this is. The client must send \
         `toolwright-conversation`, as a header or in `_meta`"
    } else {
        return Ok(());
    };
    let text = format!(
        "{} cannot be used: {reason}. It was not run, and calling it again will not help.",
        item.name
    );
    Err(CallError::new(CallErrorKind::MissingContext, text))
}
