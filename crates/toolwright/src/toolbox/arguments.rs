//! A model's words become arguments that the tool's schema accepts, or a list of what is wrong.

use toolwright_core::Json;
use toolwright_core::args::{self, CheckedCall, Parsed};
use toolwright_core::json::Object;

use super::Toolbox;
use super::item::Item;
use super::pipeline::Made;
use crate::error::{CallError, CallErrorKind};
use crate::handle::{self, HandleFailure};
use crate::session::Session;
use crate::settings::Fill;

/// Parses, puts in what handles stand for, coerces, completes and checks. What cannot be understood
/// is refused: it never becomes `{}`.
pub(crate) fn settle(
    toolbox: &Toolbox,
    session: &Session,
    item: &Item,
    made: &mut Made<'_>,
) -> Result<CheckedCall, CallError> {
    let mut parsed = args::parse(&made.call.arguments);
    resolve(toolbox, session, item, &mut parsed)
        .map_err(|failure| CallError::new(CallErrorKind::BadHandle, failure.text))?;
    let mut settled = item.parameters.settle(parsed, &item.handler.settings().coercions);
    made.changes = settled.changes().to_vec();
    made.wholeness.admit_changes(&item.name, &made.changes)?;
    // A value that came from a handle stays unknown to the model even where it is wrong.
    handle::conceal(settled.errors_mut(), &made.changes);
    CheckedCall::new(made.call, settled).map_err(|settled| {
        let kind = if settled.is_understood() {
            CallErrorKind::InvalidArguments
        } else {
            CallErrorKind::InvalidJson
        };
        CallError::new(kind, settled.feedback().unwrap_or_default())
    })
}

/// Puts the values in the place of handles, in each way to understand the arguments. What fails in
/// the most likely one is wrong; one that is less likely is then none.
fn resolve(
    toolbox: &Toolbox,
    session: &Session,
    item: &Item,
    parsed: &mut Parsed,
) -> Result<(), HandleFailure> {
    let Some(store) = toolbox.handles() else { return Ok(()) };
    let (schema, owner) = (item.parameters.check().schema(), session.owner());
    let mut first = true;
    let mut failure = None;
    parsed.readings.retain_mut(|reading| {
        let resolved = handle::resolve(&mut reading.value, schema, &owner, store);
        let is_first = std::mem::replace(&mut first, false);
        match resolved {
            Ok(changes) => {
                reading.changes.extend(changes);
                true
            }
            Err(why) => {
                if is_first {
                    failure = Some(why);
                }
                false
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

/// Puts the values in. Whatever stands in their place is not the model's, and goes.
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
