//! The way of one call through all the steps, in their order.
//!
//! What needs no waiting comes first, for every call of a turn ([`prepare`]); what takes time comes
//! after it ([`proceed`]), for all of them at once.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use toolwright_core::args::Change;
use toolwright_core::json::Object;
use toolwright_core::part::Part;
use toolwright_core::{Call, Outcome};

use super::approve::{self, Approval};
use super::bind::{self, Place};
use super::cache::{self, Found};
use super::job::{Job, Ran};
use super::policy::Verdict;
use super::wholeness::Wholeness;
use super::{Called, Done, Source, canonical, execute, find, note, outcome, settle};
use crate::error::{CallError, CallErrorKind};
use crate::session::Session;
use crate::toolbox::Toolbox;
use crate::toolbox::item::Item;

/// A call on its way.
pub(crate) struct Prepared<'c> {
    pub(crate) call: &'c Call,
    pub(crate) place: Place,
    pub(crate) wholeness: Wholeness,
    /// The id by which it is known inside
    pub(crate) call_id: Arc<str>,
    pub(crate) time: SystemTime,
    pub(crate) start: Instant,
    pub(crate) item: Option<Arc<Item>>,
    pub(crate) changes: Vec<Change>,
    /// What it will run with, or why it will not
    pub(crate) ready: Result<Ready, CallError>,
}

/// Arguments that were checked and judged.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    pub(crate) arguments: Object,
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
    let mut prepared = Prepared {
        call,
        place,
        wholeness,
        call_id: place.id(session, call),
        time: SystemTime::now(),
        start: Instant::now(),
        item: toolbox.item(&call.name).cloned(),
        changes: Vec::new(),
        ready: Err(CallError::new(CallErrorKind::UnknownTool, "")),
    };
    prepared.ready = ready(toolbox, session, &mut prepared);
    prepared
}

fn ready(
    toolbox: &Toolbox,
    session: &Session,
    prepared: &mut Prepared<'_>,
) -> Result<Ready, CallError> {
    let Some(item) = &prepared.item else {
        let names: Vec<&str> =
            toolbox.visible(&session.caller).map(|item| item.name.as_ref()).collect();
        return Err(find::unknown(&prepared.call.name, &names));
    };
    if let Some(judged) = toolbox.policy().barred(&item.name, &session.caller) {
        return Err(find::forbidden(&item.name, judged.reason, false));
    }
    prepared.wholeness.admit(&item.name)?;
    let owner = session.owner();
    let handles = toolbox.handles().map(|store| (store, &owner));
    let settled = settle::settle(item, &prepared.call.arguments, prepared.wholeness, handles)?;
    prepared.changes = settled.changes;
    let arguments = settled.arguments;
    let judged = toolbox.policy().judged(&item.name, &session.caller, &arguments);
    let ask = match judged.verdict {
        Verdict::Allow => None,
        Verdict::Deny => {
            return Err(find::forbidden(&item.name, judged.reason, judged.by_arguments));
        }
        Verdict::Ask => Some(judged.reason.map_or_else(
            || format!("{} may run only if a person agrees.", item.name),
            str::to_owned,
        )),
    };
    bind::check_needs(&item.handler, session)?;
    let canonical = canonical::canonical(&arguments);
    let key = bind::key(session, &prepared.call_id, &item.name, &canonical);
    Ok(Ready { arguments, canonical, key, ask })
}

/// Takes a prepared call to its end: ask, or look into the cache, wait for leave, run; then note it
/// in the ledger.
pub(crate) async fn proceed(
    toolbox: &Toolbox,
    session: &Session,
    mut prepared: Prepared<'_>,
) -> Called {
    let (item, ready) = match (&prepared.item, &mut prepared.ready) {
        (Some(item), Ok(ready)) => (item.clone(), ready),
        (_, Ok(_)) => return refuse(toolbox, session, prepared, find::unknown("", &[])),
        (_, Err(error)) => {
            let error = error.clone();
            return refuse(toolbox, session, prepared, error);
        }
    };
    if let Some(reason) = ready.ask.take() {
        note::waiting(toolbox, session, &prepared);
        return Called::Waiting(question(session, prepared, reason));
    }
    let (key, canonical) = (ready.key.clone(), std::mem::take(&mut ready.canonical));
    let arguments = if toolbox.wants_data() {
        ready.arguments.clone()
    } else {
        std::mem::take(&mut ready.arguments)
    };
    let scope = bind::scope(
        session,
        item.name.clone(),
        prepared.call_id.clone(),
        key,
        end(prepared.start, item.handler.settings().deadline),
    );
    let ran = run(toolbox, session, &item, scope, arguments, &canonical).await;
    conclude(toolbox, session, prepared, ran)
}

/// Cache, limits, execution.
async fn run(
    toolbox: &Toolbox,
    session: &Session,
    item: &Arc<Item>,
    scope: crate::session::Scope,
    arguments: Object,
    canonical: &str,
) -> Ran {
    let mut flight = None;
    if let Some(cache) = &item.cache {
        match cache.find(cache::key(&item.handler, session, canonical), &scope).await {
            Some(Found::Kept(output)) => {
                let (content, host) = (output.content.clone(), output.host.clone());
                let owner = session.owner();
                let content = outcome::success(&item.handler, content, &owner, toolbox.handles());
                return Ran::succeeded(Source::Cached, content, host);
            }
            Some(Found::Nothing(leave)) => flight = Some(leave),
            None => return Ran::refused(super::limit::too_late(&scope)),
        }
    }
    let own = match item.limit.enter(&scope).await {
        Ok(permit) => permit,
        Err(error) => return Ran::refused(error),
    };
    let all = match toolbox.limit().enter(&scope).await {
        Ok(permit) => permit,
        Err(error) => return Ran::refused(error),
    };
    let job = Job {
        item: item.clone(),
        scope,
        arguments,
        journal: toolbox.journal().clone(),
        handles: toolbox.shared_handles(),
        flight,
        permits: [own, all],
    };
    execute::execute(job).await
}

/// A call that ends before its tool.
pub(crate) fn refuse(
    toolbox: &Toolbox,
    session: &Session,
    prepared: Prepared<'_>,
    error: CallError,
) -> Called {
    conclude(toolbox, session, prepared, Ran::refused(error))
}

/// The outcome of a call, noted in the ledger.
fn conclude(toolbox: &Toolbox, session: &Session, mut prepared: Prepared<'_>, ran: Ran) -> Called {
    let content = match (ran.content, &ran.error, &prepared.item) {
        (Some(content), _, _) => content,
        (None, Some(error), Some(item)) => outcome::failure(&item.handler, error),
        (None, Some(error), None) => vec![Part::text(error.text.as_str())],
        (None, None, _) => Vec::new(),
    };
    let done = Done {
        outcome: Outcome {
            call_id: prepared.call.id.clone(),
            name: Some(prepared.call.name.clone()),
            content,
            error: Some(ran.error.is_some()),
        },
        error: ran.error,
        host: ran.host,
        changes: std::mem::take(&mut prepared.changes),
        attempts: ran.attempts,
        source: ran.source,
        duration: prepared.start.elapsed(),
        unrecorded: ran.unrecorded,
    };
    note::done(toolbox, session, &prepared, &done);
    Called::Done(done)
}

/// The question to a person.
pub(crate) fn question(session: &Session, prepared: Prepared<'_>, reason: String) -> Approval {
    let (arguments, key, digest) = match prepared.ready {
        Ok(ready) => (ready.arguments, ready.key, approve::digest(&ready.canonical)),
        Err(_) => (Object::new(), "".into(), String::new()),
    };
    let (turn, position) = (session.turn.to_string(), prepared.place.position.to_string());
    let id = bind::digest(&[&session.run, &turn, &position, &key]).to_hex();
    Approval {
        id: id[..32].to_owned(),
        run: session.run.clone(),
        turn: session.turn,
        call: prepared.call.clone(),
        arguments,
        reason,
        key,
        digest,
        place: prepared.place,
        wholeness: prepared.wholeness,
    }
}

/// When a call that begins now is given up.
fn end(start: Instant, deadline: Duration) -> Instant {
    const FAR: Duration = Duration::from_hours(24 * 365);
    start.checked_add(deadline).unwrap_or_else(|| start + FAR)
}
