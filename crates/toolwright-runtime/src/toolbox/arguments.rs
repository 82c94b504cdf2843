//! Turns the text of a model into arguments that the tool's schema accepts, or into feedback.

use toolwright_core::Json;
use toolwright_core::args::{self, Change, CheckedCall, Parsed};
use toolwright_json::Object;
use toolwright_json::pointer::segments;

use super::Toolbox;
use super::item::Item;
use super::pipeline::CallState;
use crate::error::{CallError, CallErrorKind};
use crate::handle::{self, HandleError, HandleFailure};
use crate::session::Session;
use crate::settings::{Fill, SlotFill};

/// Parses, resolves handles, coerces, completes and checks; exact arguments are not coerced.
/// Text that is not understood is refused: it never becomes `{}`.
pub(crate) async fn check(
    toolbox: &Toolbox,
    session: &Session,
    item: &Item,
    state: &mut CallState<'_>,
) -> Result<CheckedCall, CallError> {
    let mut parsed = if session.exact_arguments {
        args::parse_exact(&state.call.arguments)
    } else {
        args::parse(&state.call.arguments)
    };
    resolve_handles(toolbox, session, item, &mut parsed)
        .await
        .map_err(|failure| CallError::new(CallErrorKind::BadHandle, failure.text))?;
    let mut resolved = if session.exact_arguments {
        item.parameters.resolve_exact(parsed)
    } else {
        item.parameters.resolve(parsed, &item.handler.settings().coercions)
    };
    state.changes = resolved.changes().to_vec();
    state.completeness.check_changes(&item.name, &state.changes)?;
    // Feedback must not show the model a value that came from a handle.
    handle::conceal(resolved.errors_mut(), &state.changes);
    CheckedCall::new(state.call, resolved).map_err(|resolved| {
        let kind = if resolved.is_understood() {
            CallErrorKind::InvalidArguments
        } else {
            CallErrorKind::InvalidJson
        };
        CallError::new(kind, resolved.feedback().unwrap_or_default())
    })
}

/// Replaces handles by their values, in each reading of the arguments. A failure in the most likely
/// reading is an error; a less likely reading that fails is dropped.
async fn resolve_handles(
    toolbox: &Toolbox,
    session: &Session,
    item: &Item,
    parsed: &mut Parsed,
) -> Result<(), HandleFailure> {
    let Some(store) = toolbox.handles() else { return Ok(()) };
    let (schema, owner) = (item.parameters.check().schema(), session.owner());
    let forms = &item.handler.settings().forms;
    let mut index = 0;
    while let Some(reading) = parsed.readings.get_mut(index) {
        match handle::resolve_as(&mut reading.value, schema, forms, &owner, store).await {
            Ok(changes) => {
                reading.changes.extend(changes);
                index += 1;
            }
            Err(failure) if index == 0 => return Err(failure),
            Err(_) => drop(parsed.readings.remove(index)),
        }
    }
    Ok(())
}

/// Fills hidden parameters with values of the host, and replaces what the model wrote there. This runs
/// last, so that no message, question, ledger entry or key contains the values.
pub(crate) async fn fill(
    toolbox: &Toolbox,
    session: &Session,
    item: &Item,
    arguments: &mut Object,
) -> Result<(), CallError> {
    for (name, fill) in &item.handler.settings().fills {
        let value = match fill {
            Fill::Constant(value) => value.clone(),
            Fill::Secret(secret) => Json::from(secret.expose().as_str()),
            Fill::Caller => Json::from(&*session.caller.id),
            Fill::Tenant => Json::from(&*session.caller.tenant),
            Fill::Slot(fill) => match toolbox.handles() {
                Some(store) => handle::find_slot(fill, &session.owner(), store)
                    .await
                    .map_err(|error| empty_slot(toolbox, &item.name, fill, error))?,
                None => return Err(empty_slot(toolbox, &item.name, fill, HandleError::Unknown)),
            },
        };
        arguments.insert(name.clone(), value);
    }
    Ok(())
}

/// The error about a slot whose value cannot be used. It names tools that the toolbox has.
fn empty_slot(toolbox: &Toolbox, tool: &str, fill: &SlotFill, error: HandleError) -> CallError {
    let fillers = fill.filled_by.iter().filter(|name| toolbox.contains(name));
    let fillers: Vec<&str> = fillers.map(String::as_str).collect();
    let problem = match error {
        HandleError::Expired => "the data that an earlier call stored for it is no longer kept",
        HandleError::Unavailable => {
            "the data that an earlier call stored for it cannot be read now"
        }
        HandleError::TooLarge => "the data that an earlier call stored for it is too large",
        HandleError::NotText => "the data that an earlier call stored for it is not text",
        _ => "the data that it works on, which another tool stores, is not stored yet",
    };
    let remedy = match fillers.as_slice() {
        [] => "No tool that you have stores it. Continue without it.".to_owned(),
        [one] => format!("Call {one} first, and then {tool} again."),
        several => format!("Call one of {} first, and then {tool} again.", several.join(", ")),
    };
    CallError::new(CallErrorKind::EmptySlot, format!("{tool} was not run: {problem}. {remedy}"))
}

/// The arguments as the model wrote them, with handles in place of their values, for the reply of a tool that stores
/// its output in a slot.
pub(crate) fn written(item: &Item, arguments: &Object, changes: &[Change]) -> Object {
    if item.handler.settings().slot.is_none() {
        return Object::new();
    }
    if handle::has_moved(changes) && handle::handles(changes).next().is_some() {
        return Object::new();
    }
    let mut written = arguments.clone();
    for change in handle::handles(changes) {
        let Some(parameter) = segments(&change.path).next() else { continue };
        let is_whole = segments(&change.path).count() == 1;
        let shown = change.from.clone().filter(|_| is_whole).unwrap_or_else(|| "…".into());
        written.insert(parameter.into_owned(), shown);
    }
    written
}
