//! The JSON form of a message: `{"role", "parts", "extra"}`.

use toolwright_core::{Json, Message, Role, object};
use toolwright_json::Object;

use toolwright_core::document::{
    DocumentError, ObjectReader, read_extra, read_part, write_extra, write_part,
};

const ROLES: [(&str, Role); 5] = [
    ("system", Role::System),
    ("developer", Role::Developer),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
];

pub(super) fn write(message: &Message) -> Object {
    let role = ROLES.iter().find(|row| row.1 == message.role).map(|row| row.0);
    let parts: Vec<Object> = message.parts.iter().map(write_part).collect();
    let mut out = object! {"role": role, "parts": parts};
    out.insert_some("extra", write_extra(&message.extra));
    out
}

pub(super) fn read(document: &Json) -> Result<Message, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let role = fields
        .word("role", "a role", |word| ROLES.iter().find(|row| row.0 == word).map(|row| row.1))?;
    let extra = read_extra(fields)?;
    Ok(Message { extra, ..Message::new(role, fields.list("parts", read_part)?) })
}
