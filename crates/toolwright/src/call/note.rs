//! The last step: every call is noted in the ledger, those that were refused and those that wait
//! as well.

use std::time::Duration;

use toolwright_core::args::Change;

use super::Done;
use super::journey::Made;
use crate::ledger::Entry;
use crate::session::Session;
use crate::toolbox::Toolbox;

/// Notes a call that has an outcome.
pub(crate) fn done(toolbox: &Toolbox, session: &Session, made: &Made<'_>, done: &Done) {
    let Some(ledger) = toolbox.ledger() else { return };
    ledger.record(Entry {
        error: done.error.as_ref().map(|error| error.kind),
        source: Some(done.source),
        attempts: done.attempts,
        duration: done.duration,
        changes: changes(toolbox, &done.changes),
        ..entry(session, made)
    });
}

/// Notes a call that waits for a person.
pub(crate) fn waiting(toolbox: &Toolbox, session: &Session, made: &Made<'_>) {
    let Some(ledger) = toolbox.ledger() else { return };
    ledger.record(Entry {
        duration: made.start.elapsed(),
        changes: changes(toolbox, &made.changes),
        ..entry(session, made)
    });
}

fn entry(session: &Session, made: &Made<'_>) -> Entry {
    Entry {
        time: made.time,
        run: session.run.clone(),
        caller: session.caller.clone(),
        call_id: made.call_id.clone(),
        tool: match &made.item {
            Some(item) => item.name.clone(),
            None => made.call.name.as_str().into(),
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

/// The changes, without the values unless the ledger wants data.
fn changes(toolbox: &Toolbox, changes: &[Change]) -> Vec<Change> {
    if toolbox.wants_data() {
        return changes.to_vec();
    }
    changes.iter().map(|change| Change::new(change.path.as_str(), change.op)).collect()
}
