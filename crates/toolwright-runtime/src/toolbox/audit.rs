//! Records every call in the ledger, also refused and waiting ones. If the ledger records data, secrets
//! are redacted by the tool's schemas, and the values behind handles are left out.

use toolwright_core::args::Change;
use toolwright_core::{Body, Json, Part, object};
use toolwright_json::Object;

use super::item::Item;
use super::pipeline::CallState;
use super::{Toolbox, lookup};
use crate::call::CallResult;
use crate::error::CallErrorKind;
use crate::handle;
use crate::ledger::{CallEntry, Ledger, ResultSource};
use crate::redact::{Redactor, excerpt};
use crate::session::Session;

/// The schema that accepts any value.
const ANY: &Json = &Json::Bool(true);

/// Records a call that has its result.
pub(crate) fn done(
    toolbox: &Toolbox,
    session: &Session,
    state: &CallState<'_>,
    result: &CallResult,
) {
    let Some(ledger) = toolbox.ledger() else { return };
    let mut data = data(state, &result.changes);
    if let Some(data) = &mut data {
        let output = state.item.as_ref().and_then(|item| item.handler.tool().output.as_ref());
        let redactor = Redactor::new(output.unwrap_or(ANY));
        let content: Vec<Json> =
            result.outcome.content.iter().map(|part| redacted(part, redactor)).collect();
        data.insert("outcome", content);
    }
    let entry = CallEntry {
        error: result.error.as_ref().map(|error| error.kind),
        source: Some(result.source),
        attempts: result.attempts,
        duration: result.duration,
        changes: changes(ledger, state, &result.changes),
        data: data.map(Json::Object),
        ..entry(ledger, session, state)
    };
    ledger.record(entry.into());
}

/// Records a call that waits for approval.
pub(crate) fn waiting(toolbox: &Toolbox, session: &Session, state: &CallState<'_>) {
    if let Some(ledger) = toolbox.ledger() {
        ledger.record(entry(ledger, session, state).into());
    }
}

/// Records a call as cancelled if its future is dropped before it has a result.
pub(crate) struct AbandonGuard<'w> {
    pub(crate) toolbox: &'w Toolbox,
    pub(crate) session: &'w Session,
    pub(crate) state: &'w CallState<'w>,
}

impl Drop for AbandonGuard<'_> {
    fn drop(&mut self) {
        let Some(ledger) = self.toolbox.ledger() else { return };
        let entry = CallEntry {
            error: Some(CallErrorKind::Cancelled),
            source: Some(ResultSource::Executed),
            ..entry(ledger, self.session, self.state)
        };
        ledger.record(entry.into());
    }
}

/// The entry of a call without a result.
fn entry(ledger: &dyn Ledger, session: &Session, state: &CallState<'_>) -> CallEntry {
    CallEntry {
        time: state.time,
        run: session.run.clone(),
        caller: session.caller.clone(),
        call_id: state.call_id.clone(),
        parent: state.outer.as_ref().map(|outer| outer.call_id.clone()),
        tool: match &state.item {
            Some(item) => item.name.clone(),
            None => lookup::shortened(&state.call.name).into(),
        },
        key: state.key.clone(),
        error: None,
        source: None,
        attempts: 0,
        duration: state.start.elapsed(),
        changes: changes(ledger, state, &state.changes),
        losses: Vec::new(),
        data: data(state, &state.changes).map(Json::Object),
    }
}

/// The changes of the arguments. Values are left out unless the ledger records data, and always where
/// they come from handles.
fn changes(ledger: &dyn Ledger, state: &CallState<'_>, changes: &[Change]) -> Vec<Change> {
    let redactor = Redactor::new(schema(state.item.as_deref()));
    let wants_data = ledger.wants_data();
    let recorded = |change: &Change| {
        if wants_data && !handle::shows(change, changes) {
            return redactor.change(change);
        }
        let mut bare = change.clone();
        (bare.from, bare.to) = (None, None);
        bare
    };
    changes.iter().map(recorded).collect()
}

/// The arguments, if the ledger records data.
fn data(state: &CallState<'_>, changes: &[Change]) -> Option<Object> {
    let arguments = state.arguments.as_ref()?;
    Some(object! {"arguments": for_display(state, arguments, changes)})
}

/// Maximum number of bytes of arguments and of outcomes that a person or a ledger sees.
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// The beginning of the arguments for a person or a ledger: secrets redacted, handles in place of their values.
pub(crate) fn for_display(state: &CallState<'_>, arguments: &Object, changes: &[Change]) -> Object {
    let redactor = Redactor::new(schema(state.item.as_deref()));
    if handle::handles(changes).next().is_some() && handle::has_moved(changes) {
        // The text that the model wrote contains the handles.
        let written = state.call.arguments.as_str();
        return object! {"written": excerpt::text_excerpt(redactor, written, MAX_SHOWN_BYTES)};
    }
    let mut value = Json::Object(excerpt::members_before_excerpt(arguments, MAX_SHOWN_BYTES));
    for change in handle::handles(changes) {
        // What was cut is not shown.
        if let (Some(place), Some(handle)) = (value.pointer_mut(&change.path), &change.from) {
            place.clone_from(handle);
        }
    }
    match excerpt::excerpt(redactor, &value, MAX_SHOWN_BYTES) {
        Json::Object(arguments) => arguments,
        other => object! {"arguments": other},
    }
}

fn schema(item: Option<&Item>) -> &Json {
    item.and_then(|item| item.handler.tool().parameters()).unwrap_or(ANY)
}

/// A part of an outcome, redacted; only the type of media.
fn redacted(part: &Part, redactor: Redactor<'_>) -> Json {
    match &part.body {
        Body::Text(text) => Json::from(excerpt::text_excerpt(redactor, text, MAX_SHOWN_BYTES)),
        Body::Json(value) => excerpt::excerpt(redactor, value, MAX_SHOWN_BYTES),
        Body::Media(media) => object! {"media": media.mime.as_deref()}.into(),
        _ => Json::Null,
    }
}
