//! Values that several features read: those of hidden parameters, the forms of stored values, and addresses.

use toolwright_runtime::{Fill, SlotFill, ValueForm};
use toolwright_transport::AddressPolicy;

use super::error::Result;
use super::secret;
use super::value::Value;

/// Reads the value of a hidden parameter: `{ const = … }`, `{ secret = "env:…" }`, `{ caller = "id" }` or
/// `{ slot = "…", as = "…" }`.
pub(crate) fn fill(value: Value<'_>) -> Result<Fill> {
    let one = value.error(
        "this must have one of `const` (a value), `secret` (\"env:NAME\" or \"file:PATH\"), \
         `caller` (\"id\" or \"tenant\") and `slot` (the name of a slot)",
    );
    let mut table = value.table()?;
    let constant = table.take("const").map(Value::json).transpose()?;
    let secret = table.take_some("secret", secret::fetch)?;
    let callers = [("id", Fill::Caller), ("tenant", Fill::Tenant)];
    let caller = table.take_some("caller", |value| value.one_of(&callers))?;
    let slot = table.take_some("slot", Value::words)?;
    let form = table.take_some("as", form)?;
    table.finish()?;
    match (constant, secret, caller, slot) {
        (None, None, None, Some(slot)) => {
            Ok(Fill::Slot(SlotFill::new(slot).with_form(form.unwrap_or_default())))
        }
        (Some(constant), None, None, None) if form.is_none() => Ok(Fill::Constant(constant)),
        (None, Some(secret), None, None) if form.is_none() => Ok(Fill::Secret(secret)),
        (None, None, Some(caller), None) if form.is_none() => Ok(caller),
        _ => Err(one),
    }
}

/// Reads the form in which a parameter receives a stored value.
pub(crate) fn form(value: &Value<'_>) -> Result<ValueForm> {
    let (json, text, base64) = (ValueForm::Json, ValueForm::Text, ValueForm::Base64);
    value.one_of(&[("json", json), ("text", text), ("base64", base64)])
}

/// Reads addresses that are allowed besides public ones.
pub(crate) fn allowed(list: Vec<Value<'_>>) -> Result<Vec<String>> {
    let mut allowed = Vec::new();
    for entry in list {
        let text = entry.words()?;
        AddressPolicy::public()
            .with_allowed(&text)
            .map_err(|error| entry.error(error.to_string()))?;
        allowed.push(text);
    }
    Ok(allowed)
}
