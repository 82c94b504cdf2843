//! A model's words become arguments that the tool's schema accepts, or a list of what is wrong.

use toolwright_core::Json;
use toolwright_core::args;
use toolwright_core::json::Object;

use super::journey::Made;
use crate::error::{CallError, CallErrorKind};
use crate::handle;
use crate::session::Session;
use crate::toolbox::Toolbox;
use crate::toolbox::item::Item;

/// Parses, puts in what handles stand for, coerces, completes and checks. What cannot be understood
/// is refused: it never becomes `{}`.
pub(crate) fn settle(
    toolbox: &Toolbox,
    session: &Session,
    item: &Item,
    made: &mut Made<'_>,
) -> Result<Object, CallError> {
    let Some(mut reading) = args::parse(&made.call.arguments).readings.into_iter().next() else {
        return Err(unreadable(&item.name));
    };
    made.wholeness.admit_changes(&item.name, &reading.changes)?;
    if let (Some(store), Some(schema)) = (toolbox.handles(), item.handler.tool().parameters()) {
        match handle::resolve(&mut reading.value, schema, &session.owner(), store) {
            Ok(changes) => reading.changes.extend(changes),
            Err(failure) => return Err(CallError::new(CallErrorKind::BadHandle, failure.text)),
        }
    }
    made.changes = reading.changes;
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
    match value {
        Json::Object(arguments) => Ok(arguments),
        _ => Err(unreadable(&item.name)),
    }
}

fn unreadable(tool: &str) -> CallError {
    let text = format!(
        "Invalid JSON input for tool {tool}: the arguments must be one JSON object. Nothing was \
         done. Send the call again."
    );
    CallError::new(CallErrorKind::InvalidJson, text)
}
