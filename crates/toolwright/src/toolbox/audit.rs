//! The last step: every call is noted in the ledger, those that were refused and those that wait
//! as well. Where the ledger wants data, secrets are taken out of it by the tool's schemas, and what
//! a handle stands for stays where it is.

use std::time::Duration;

use toolwright_core::args::Change;
use toolwright_core::json::Object;
use toolwright_core::part::{Body, Part};
use toolwright_core::{Json, object};

use super::item::Item;
use super::pipeline::Made;
use super::{Toolbox, lookup};
use crate::call::Done;
use crate::error::CallErrorKind;
use crate::handle;
use crate::ledger::{CallEntry, Ledger, ResultSource};
use crate::redact::Redactor;
use crate::session::Session;

/// Nothing is known of the values.
const ANY: &Json = &Json::Bool(true);

/// Notes a call that has an outcome.
pub(crate) fn done(toolbox: &Toolbox, session: &Session, made: &Made<'_>, done: &Done) {
    let Some(ledger) = toolbox.ledger() else { return };
    let mut data = data(made, &done.changes);
    if let Some(data) = &mut data {
        let output = made.item.as_ref().and_then(|item| item.handler.tool().output.as_ref());
        let redactor = Redactor::new(output.unwrap_or(ANY));
        let content: Vec<Json> =
            done.outcome.content.iter().map(|part| shown(part, redactor)).collect();
        data.insert("outcome", content);
    }
    let entry = CallEntry {
        error: done.error.as_ref().map(|error| error.kind),
        source: Some(done.source),
        attempts: done.attempts,
        duration: done.duration,
        changes: changes(ledger, made, &done.changes),
        data: data.map(Json::Object),
        ..entry(session, made)
    };
    ledger.record(entry.into());
}

/// Notes a call that waits for a person.
pub(crate) fn waiting(toolbox: &Toolbox, session: &Session, made: &Made<'_>) {
    let Some(ledger) = toolbox.ledger() else { return };
    let entry = CallEntry {
        duration: made.start.elapsed(),
        changes: changes(ledger, made, &made.changes),
        data: data(made, &made.changes).map(Json::Object),
        ..entry(session, made)
    };
    ledger.record(entry.into());
}

/// Sees to it that a call which nobody waits for any more is noted all the same.
pub(crate) struct Witness<'w> {
    toolbox: &'w Toolbox,
    session: &'w Session,
    made: &'w Made<'w>,
    left: bool,
}

impl<'w> Witness<'w> {
    pub(crate) fn new(toolbox: &'w Toolbox, session: &'w Session, made: &'w Made<'w>) -> Self {
        Witness { toolbox, session, made, left: false }
    }

    /// The call has an outcome, which will be noted.
    pub(crate) fn leave(mut self) {
        self.left = true;
    }
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        let (false, Some(ledger)) = (self.left, self.toolbox.ledger()) else { return };
        let entry = CallEntry {
            error: Some(CallErrorKind::Cancelled),
            source: Some(ResultSource::Executed),
            duration: self.made.start.elapsed(),
            changes: changes(ledger, self.made, &self.made.changes),
            data: data(self.made, &self.made.changes).map(Json::Object),
            ..entry(self.session, self.made)
        };
        ledger.record(entry.into());
    }
}

fn entry(session: &Session, made: &Made<'_>) -> CallEntry {
    CallEntry {
        time: made.time,
        run: session.run.clone(),
        caller: session.caller.clone(),
        call_id: made.call_id.clone(),
        tool: match &made.item {
            Some(item) => item.name.clone(),
            None => lookup::shortened(&made.call.name).into(),
        },
        key: made.key.clone(),
        error: None,
        source: None,
        attempts: 0,
        duration: Duration::ZERO,
        changes: Vec::new(),
        losses: Vec::new(),
        data: None,
    }
}

/// The changes, without the values unless the ledger wants data; those of handles it never has.
fn changes(ledger: &dyn Ledger, made: &Made<'_>, changes: &[Change]) -> Vec<Change> {
    let redactor = Redactor::new(schema(made.item.as_deref()));
    let wants_data = ledger.wants_data();
    let shown = |change: &Change| {
        if wants_data && !handle::shows(change, changes) {
            return redactor.change(change);
        }
        let mut bare = change.clone();
        (bare.from, bare.to) = (None, None);
        bare
    };
    changes.iter().map(shown).collect()
}

/// The arguments for a ledger that wants them.
fn data(made: &Made<'_>, changes: &[Change]) -> Option<Object> {
    let arguments = made.arguments.as_ref()?;
    Some(object! {"arguments": presentable(made, arguments, changes)})
}

/// Arguments as people may see them: handles in place of what they stand for, no secrets.
pub(crate) fn presentable(made: &Made<'_>, arguments: &Object, changes: &[Change]) -> Object {
    let redactor = Redactor::new(schema(made.item.as_deref()));
    let Some(value) = with_handles(arguments, changes) else {
        // What the model wrote has the handles for certain.
        return object! {"written": redactor.text(made.call.arguments.as_str())};
    };
    match redactor.json(&value) {
        Json::Object(arguments) => arguments,
        other => object! {"arguments": other},
    }
}

/// Arguments with handles in place of what they stand for, unless values were moved since.
fn with_handles(arguments: &Object, changes: &[Change]) -> Option<Json> {
    let mut value = Json::Object(arguments.clone());
    if handle::handles(changes).next().is_some() && handle::has_moved(changes) {
        return None;
    }
    for change in handle::handles(changes) {
        *value.pointer_mut(&change.path)? = change.from.clone()?;
    }
    Some(value)
}

fn schema(item: Option<&Item>) -> &Json {
    item.and_then(|item| item.handler.tool().parameters()).unwrap_or(ANY)
}

/// A piece of an outcome; of media only what it is.
fn shown(part: &Part, redactor: Redactor<'_>) -> Json {
    match &part.body {
        Body::Text(text) => Json::String(redactor.text(text)),
        Body::Json(value) => redactor.json(value),
        Body::Media(media) => object! {"media": media.mime.as_deref()}.into(),
        _ => Json::Null,
    }
}
