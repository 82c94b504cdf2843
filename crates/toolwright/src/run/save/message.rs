//! A message: `{"role", "parts", "extra"}`.

use toolwright_core::json::Object;
use toolwright_core::{Dialect, Extra, Json, Message, Role, object};

use super::field::{Bad, Fields};
use super::part;

const ROLES: [(&str, Role); 5] = [
    ("system", Role::System),
    ("developer", Role::Developer),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
];

pub(super) fn write(message: &Message) -> Object {
    let role = ROLES.iter().find(|row| row.1 == message.role).map(|row| row.0);
    let parts: Vec<Object> = message.parts.iter().map(part::write).collect();
    let mut out = object! {"role": role, "parts": parts};
    out.insert_some("extra", write_extra(&message.extra));
    out
}

pub(super) fn read(document: &Json) -> Result<Message, Bad> {
    let fields = Fields::of(document)?;
    let word = fields.text("role")?;
    let role = ROLES.iter().find(|row| row.0 == word);
    let role = role.ok_or_else(|| Bad::new("a role").within("role"))?.1;
    let extra = read_extra(fields)?;
    Ok(Message { extra, ..Message::new(role, fields.list("parts", part::read)?) })
}

/// Extra fields with the dialect they belong to.
pub(super) fn write_extra(extra: &Extra) -> Option<Object> {
    let (dialect, fields) = (extra.dialect()?, extra.fields()?);
    Some(object! {"dialect": dialect.id(), "fields": fields.clone()})
}

pub(super) fn read_extra(fields: Fields<'_>) -> Result<Extra, Bad> {
    let extra = fields.optional("extra", |extra| {
        let extra = Fields::of(extra)?;
        let object = extra.required("fields", |value| {
            value.as_object().cloned().ok_or_else(|| Bad::new("an object"))
        })?;
        Ok(Extra::new(read_dialect(extra, "dialect")?, object))
    })?;
    Ok(extra.unwrap_or_default())
}

pub(super) fn read_dialect(fields: Fields<'_>, key: &str) -> Result<Dialect, Bad> {
    fields.text(key)?.parse().map_err(|()| Bad::new("a dialect").within(key))
}
