//! Redacts secrets before values are written to ledgers, approval requests and logs.
//!
//! A value is a secret by its type (its schema has `writeOnly: true` or `format: "password"`, as
//! that of [`Secret`](toolwright_transport::secret::Secret) does), by its name (`password`, `api_key`, `令牌`), or
//! by its pattern (`sk-…`, a token, a private key), also within text. False positives are preferred
//! to leaks.

pub mod excerpt;
pub mod known;
mod look;
mod name;
mod subschemas;
mod text;

use std::borrow::Cow;

use toolwright_core::Json;
use toolwright_core::args::Change;
use toolwright_json::{Object, pointer};

use subschemas::Subschemas;
pub use text::text;
pub use toolwright_transport::secret::MARK;

/// Returns a value with its secrets redacted by its schema. The schema `true` means that the type
/// is unknown.
pub fn redact(value: &Json, schema: &Json) -> Json {
    Redactor::new(schema).json(value)
}

/// Redacts values of a schema.
#[derive(Debug, Clone, Copy)]
pub struct Redactor<'a> {
    schema: &'a Json,
}

impl<'a> Redactor<'a> {
    /// Creates a redactor for values of a schema.
    pub fn new(schema: &'a Json) -> Redactor<'a> {
        Redactor { schema }
    }

    /// Redacts a value.
    pub fn json(&self, value: &Json) -> Json {
        covered(value, &Subschemas::root(self.schema))
    }

    /// Redacts an object.
    pub fn object(&self, object: &Object) -> Object {
        members(object, &Subschemas::root(self.schema))
    }

    /// Redacts the JSON text of a value. Text that is not JSON is redacted as a whole if the schema
    /// has secrets, because their position in it is unknown.
    pub fn text(&self, own: &str) -> String {
        let place = Subschemas::root(self.schema);
        let unknown = || {
            if subschemas::has_secrets(self.schema) {
                MARK.to_owned()
            } else {
                text::at(own, &place)
            }
        };
        text::inner(own, &place).unwrap_or_else(unknown)
    }

    /// Redacts the secrets in a change of such a value.
    pub fn change(&self, change: &Change) -> Change {
        let mut place = Subschemas::root(self.schema);
        let mut secret = place.is_secret();
        for step in pointer::segments(&change.path) {
            secret |= name::is_secret(&step);
            place = match step.parse() {
                Ok(index) => place.item(index).or(place.member(&step)),
                Err(_) => place.member(&step),
            };
            secret |= place.is_secret();
        }
        let value = |value: &Json| match value {
            value if secret => mark(value),
            // The change replaces the whole text of the arguments.
            Json::String(own) if change.path.is_empty() => Json::from(self.text(own)),
            value => covered(value, &place),
        };
        Change {
            path: change.path.clone(),
            op: change.op,
            from: change.from.as_ref().map(value),
            to: change.to.as_ref().map(value),
            cost: change.cost,
        }
    }
}

/// Whether a text contains a key, a token or another credential with a recognizable form.
pub fn has_credential(text: &str) -> bool {
    matches!(look::covered(text), Cow::Owned(_))
}

/// Whether a name is that of a secret, such as `api_key`.
pub fn is_secret_name(name: &str) -> bool {
    name::is_secret(name)
}

/// Returns the mark for a secret. That a value is absent may be shown.
fn mark(value: &Json) -> Json {
    if value.is_null() { Json::Null } else { Json::from(MARK) }
}

fn covered(value: &Json, place: &Subschemas<'_>) -> Json {
    if place.is_secret() {
        return mark(value);
    }
    match value {
        Json::String(own) => Json::from(text::at(own, place)),
        Json::Array(items) => {
            let item = |(index, item)| covered(item, &place.item(index));
            Json::Array(items.iter().enumerate().map(item).collect())
        }
        Json::Object(object) => Json::Object(members(object, place)),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn members(object: &Object, place: &Subschemas<'_>) -> Object {
    let mut out = Object::with_capacity(object.len());
    for (key, value) in object.iter() {
        // A boolean or null is never a secret.
        let plain = matches!(value, Json::Null | Json::Bool(_));
        let value = if !plain && name::is_secret(key) {
            mark(value)
        } else {
            covered(value, &place.member(key))
        };
        out.push(look::covered(key).into_owned(), value);
    }
    out
}
