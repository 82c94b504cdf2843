//! A model's words become arguments that the tool's schema accepts, or a list of what is wrong.

use toolwright_core::args::{self, Change};
use toolwright_core::json::Object;
use toolwright_core::{Arguments, Json};

use super::wholeness::Wholeness;
use crate::error::{CallError, CallErrorKind};
use crate::handle::{self, HandleStore, Owner};
use crate::toolbox::item::Item;

/// Arguments that were checked, and what was changed on the way.
pub(crate) struct Settled {
    pub(crate) arguments: Object,
    pub(crate) changes: Vec<Change>,
}

/// Parses, coerces, completes and checks. What cannot be understood is refused: it never becomes
/// `{}`.
pub(crate) fn settle(
    item: &Item,
    arguments: &Arguments,
    wholeness: Wholeness,
    handles: Option<(&dyn HandleStore, &Owner)>,
) -> Result<Settled, CallError> {
    let Some(mut reading) = args::parse(arguments).readings.into_iter().next() else {
        return Err(unreadable(&item.name));
    };
    wholeness.admit_changes(&item.name, &reading.changes)?;
    if let (Some((store, owner)), Some(schema)) = (handles, item.handler.tool().parameters()) {
        match handle::resolve(&mut reading.value, schema, owner, store) {
            Ok(changes) => reading.changes.extend(changes),
            Err(failure) => return Err(CallError::new(CallErrorKind::BadHandle, failure.text)),
        }
    }
    let Json::Object(mut arguments) = reading.value else {
        return Err(unreadable(&item.name));
    };
    arguments.settle();
    let value = Json::Object(arguments);
    if let Some(check) = &item.check
        && !check.accepts(&value)
    {
        let found: Vec<String> = check
            .violations(&value)
            .iter()
            .map(|violation| format!("- at '{}': {}", violation.path, violation.message))
            .collect();
        let text = format!("The arguments of {} were refused:\n{}", item.name, found.join("\n"));
        return Err(CallError::new(CallErrorKind::InvalidArguments, text));
    }
    let Json::Object(arguments) = value else { return Err(unreadable(&item.name)) };
    Ok(Settled { arguments, changes: reading.changes })
}

fn unreadable(tool: &str) -> CallError {
    let text = format!(
        "Invalid JSON input for tool {tool}: the arguments must be one JSON object. Nothing was \
         done. Send the call again."
    );
    CallError::new(CallErrorKind::InvalidJson, text)
}
