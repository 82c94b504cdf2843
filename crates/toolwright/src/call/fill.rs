//! Hidden parameters get what the host has for them, when the call is about to run: after it was
//! checked, judged and named, so that no message, question, ledger or key has their values.

use toolwright_core::Json;
use toolwright_core::json::Object;

use crate::session::Session;
use crate::settings::Fill;

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
