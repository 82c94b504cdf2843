//! Turns the text of a model into arguments that the tool's schema accepts, or into feedback.

use toolwright_core::Json;
use toolwright_core::args::{self, CheckedCall, Parsed};
use toolwright_core::json::Object;

use super::Toolbox;
use super::item::Item;
use super::pipeline::CallState;
use crate::error::{CallError, CallErrorKind};
use crate::handle::{self, HandleFailure};
use crate::session::Session;
use crate::settings::Fill;

/// Parses, resolves handles, coerces, completes and checks; exact arguments are not coerced or completed.
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
    let mut index = 0;
    while let Some(reading) = parsed.readings.get_mut(index) {
        match handle::resolve(&mut reading.value, schema, &owner, store).await {
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
pub(crate) fn fill(fills: &[(String, Fill)], session: &Session, arguments: &mut Object) {
    for (name, fill) in fills {
        let value = match fill {
            Fill::Constant(value) => value.clone(),
            Fill::Secret(secret) => Json::from(secret.expose().as_str()),
            Fill::Caller => Json::from(&*session.caller.id),
            Fill::Tenant => Json::from(&*session.caller.tenant),
        };
        arguments.insert(name.clone(), value);
    }
}
