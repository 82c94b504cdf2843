//! The way of one call through all the steps, in their order.
//!
//! What needs no waiting comes first, for every call of a turn ([`prepare`]); what takes time comes
//! after it ([`proceed`]), for all of them at once.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use toolwright_core::args::{Change, CheckedCall};
use toolwright_core::json::Object;
use toolwright_core::part::Part;
use toolwright_core::{Call, Outcome};

use super::cache::{self, Found};
use super::item::Item;
use super::job::{Job, Ran};
use super::{Toolbox, arguments, audit, concurrency, execute, lookup, outcome};
use crate::call::key::{self, Place};
use crate::call::{Approval, Called, Done, Verdict, Wholeness, approval, canonical};
use crate::error::{CallError, CallErrorKind};
use crate::handler::Handler;
use crate::ledger::{Ledger, ResultSource};
use crate::session::{Scope, Session};

/// A call that came so far without waiting.
pub(crate) struct Prepared<'c> {
    pub(crate) made: Made<'c>,
    /// What it will run with, or why it will not
    pub(crate) ready: Result<Ready, CallError>,
}

/// What is known of a call whatever comes of it.
pub(crate) struct Made<'c> {
    pub(crate) call: &'c Call,
    pub(crate) place: Place,
    pub(crate) wholeness: Wholeness,
    /// The id by which it is known inside
    pub(crate) call_id: Arc<str>,
    pub(crate) time: SystemTime,
    pub(crate) start: Instant,
    /// The tool, if it exists
    pub(crate) item: Option<Arc<Item>>,
    pub(crate) changes: Vec<Change>,
    /// The arguments, for a ledger that wants them
    pub(crate) arguments: Option<Object>,
    /// The idempotency key, once there is one
    pub(crate) key: Option<Arc<str>>,
}

/// What a call runs with: arguments that were checked and judged.
pub(crate) struct Ready {
    pub(crate) item: Arc<Item>,
    pub(crate) checked: CheckedCall,
    pub(crate) canonical: String,
    pub(crate) key: Arc<str>,
    /// Why a person must be asked, if one must
    pub(crate) ask: Option<String>,
}

/// Takes a call as far as it goes without waiting: find, parse, settle, judge, bind.
pub(crate) fn prepare<'c>(
    toolbox: &Toolbox,
    session: &Session,
    call: &'c Call,
    place: Place,
    wholeness: Wholeness,
) -> Prepared<'c> {
    let mut made = Made {
        call,
        place,
        wholeness,
        call_id: place.id(session, call),
        time: SystemTime::now(),
        start: Instant::now(),
        item: toolbox.item(&call.name).cloned(),
        changes: Vec::new(),
        arguments: None,
        key: None,
    };
    let ready = make_ready(toolbox, session, &mut made);
    Prepared { made, ready }
}

fn make_ready(
    toolbox: &Toolbox,
    session: &Session,
    made: &mut Made<'_>,
) -> Result<Ready, CallError> {
    let Some(item) = made.item.clone() else {
        let visible = toolbox.visible(&session.caller);
        let names: Vec<&str> = visible.map(|item| item.name.as_ref()).collect();
        return Err(lookup::unknown(&made.call.name, &names));
    };
    if let Some(judged) = toolbox.policy().barred(&item.name, &session.caller) {
        return Err(lookup::forbidden(&item.name, judged.reason, false));
    }
    made.wholeness.admit(&item.name)?;
    let checked = arguments::settle(toolbox, session, &item, made)?;
    let arguments = checked.arguments();
    if toolbox.wants_data() {
        made.arguments = Some(arguments.clone());
    }
    let judged = toolbox.policy().judged(&item.name, &session.caller, arguments);
    let ask = match judged.verdict {
        Verdict::Allow => None,
        Verdict::Deny => {
            return Err(lookup::forbidden(&item.name, judged.reason, judged.by_arguments));
        }
        Verdict::Ask => Some(judged.reason.map_or_else(
            || format!("{} may run only if a person agrees.", item.name),
            str::to_owned,
        )),
    };
    check_needs(&item.handler, session)?;
    let canonical = canonical(arguments);
    let key = key::key(session, &made.call_id, &item.name, &canonical);
    made.key = Some(key.clone());
    Ok(Ready { item, checked, canonical, key, ask })
}

/// Takes a prepared call to its end: ask, or look into the cache, wait for leave, run; then note it
/// in the ledger.
pub(crate) async fn proceed(
    toolbox: &Toolbox,
    session: &Session,
    prepared: Prepared<'_>,
) -> Called {
    let Prepared { made, ready } = prepared;
    let ran = match ready {
        Ok(ready) if ready.ask.is_some() => {
            audit::waiting(toolbox, session, &made);
            return Called::Waiting(question(session, &made, ready));
        }
        Ok(ready) => {
            let witness = audit::Witness::new(toolbox, session, &made);
            let ran = run(toolbox, session, &made, ready).await;
            witness.leave();
            ran
        }
        Err(error) => Ran::refused(error),
    };
    conclude(toolbox, session, made, ran)
}

/// Cache, limits, execution.
async fn run(toolbox: &Toolbox, session: &Session, made: &Made<'_>, ready: Ready) -> Ran {
    let Ready { item, checked, canonical, key, .. } = ready;
    let deadline = end(made.start, item.handler.settings().deadline);
    let scope = scope(session, item.name.clone(), made.call_id.clone(), key, deadline);
    let mut flight = None;
    if let Some(cache) = &item.cache {
        match cache.find(cache::key(&item.handler, session, &canonical), &scope).await {
            Ok(Found::Kept(output)) => {
                let (content, host) = (output.content.clone(), output.host.clone());
                let owner = session.owner();
                let content = outcome::success(&item.handler, content, &owner, toolbox.handles());
                return Ran::succeeded(ResultSource::Cached, content, host);
            }
            Ok(Found::Nothing(leave)) => flight = Some(leave),
            Err(error) => return Ran::refused(error),
        }
    }
    match enter(toolbox, &item, &scope).await {
        Ok(permits) => {
            let (journal, handles) = (toolbox.journal().clone(), toolbox.shared_handles());
            let attempts = Arc::default();
            let mut arguments = checked.into_arguments();
            arguments::fill(&item.handler.settings().fills, session, &mut arguments);
            let job = Job { item, scope, arguments, journal, handles, flight, attempts, permits };
            execute::execute(job).await
        }
        Err(error) => Ran::refused(error),
    }
}

/// Waits for leave to run: until the ledger has room to note it, then of the tool, so that what waits
/// for that keeps nobody else waiting, then of the box.
async fn enter(
    toolbox: &Toolbox,
    item: &Item,
    scope: &Scope,
) -> Result<[concurrency::Permit; 2], CallError> {
    if let Some(room) = toolbox.ledger().and_then(Ledger::room) {
        concurrency::wait(room, scope).await?;
    }
    Ok([item.limit.enter(scope).await?, toolbox.limit().enter(scope).await?])
}

/// A call that ends before its tool.
pub(crate) fn refuse(
    toolbox: &Toolbox,
    session: &Session,
    made: Made<'_>,
    error: CallError,
) -> Called {
    conclude(toolbox, session, made, Ran::refused(error))
}

/// The outcome of a call, noted in the ledger.
fn conclude(toolbox: &Toolbox, session: &Session, mut made: Made<'_>, ran: Ran) -> Called {
    let content = match (ran.content, &ran.error, &made.item) {
        (Some(content), _, _) => content,
        (None, Some(error), Some(item)) => outcome::failure(&item.handler, error),
        (None, Some(error), None) => vec![Part::text(error.text.as_str())],
        (None, None, _) => Vec::new(),
    };
    let done = Done {
        outcome: Outcome {
            call_id: made.call.id.clone(),
            name: Some(made.call.name.clone()),
            content,
            error: Some(ran.error.is_some()),
        },
        error: ran.error,
        host: ran.host,
        changes: std::mem::take(&mut made.changes),
        attempts: ran.attempts,
        source: ran.source,
        duration: made.start.elapsed(),
        unrecorded: ran.unrecorded,
    };
    audit::done(toolbox, session, &made, &done);
    Called::Done(done)
}

/// The question to a person.
pub(crate) fn question(session: &Session, made: &Made<'_>, ready: Ready) -> Approval {
    let Ready { checked, canonical, key, ask, .. } = ready;
    let (turn, position) = (session.turn.to_string(), made.place.position.to_string());
    let id = key::digest(&[&session.run, &turn, &position, &key]).to_hex();
    Approval {
        id: id[..32].to_owned(),
        tenant: session.caller.tenant.clone(),
        run: session.run.clone(),
        turn: session.turn,
        call: made.call.clone(),
        arguments: audit::presentable(made, checked.arguments(), &made.changes),
        reason: ask.unwrap_or_default(),
        key,
        digest: approval::digest(&canonical),
        place: made.place,
        wholeness: made.wholeness,
    }
}

/// When a call is given up.
fn end(start: Instant, deadline: Duration) -> Instant {
    const FAR: Duration = Duration::from_hours(24 * 365);
    start.checked_add(deadline).unwrap_or_else(|| start + FAR)
}

/// Refuses a call whose tool needs context that the session lacks. A run is checked when it is
/// built; this is for those who call without one.
fn check_needs(handler: &Handler, session: &Session) -> Result<(), CallError> {
    if handler.needs().iter().all(|need| session.context.meets(need)) {
        return Ok(());
    }
    let text = format!(
        "{} cannot be used here: something that it works with was not provided. It was not run, \
         and calling it again will not help. Go on without it.",
        handler.tool().name
    );
    Err(CallError::new(CallErrorKind::MissingContext, text))
}

/// What the tool will know of the call.
fn scope(
    session: &Session,
    tool: Arc<str>,
    call_id: Arc<str>,
    key: Arc<str>,
    deadline: Instant,
) -> Scope {
    let cancel = session.cancel.child_token();
    Scope { session: session.clone(), tool, call_id, key, attempt: 1, deadline, cancel }
}
