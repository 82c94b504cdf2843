//! Reads the fields of a JSON object one by one; the remaining ones become [`Extra`].

use toolwright_core::extra::{BESIDE, HERE};
use toolwright_core::note::is_note;
use toolwright_core::{Dialect, Extra, Origin, wire_json};
use toolwright_json::{Json, Key, Number, Object, Path, Text};

use super::{DecodeError, DecodeErrorKind, Result};
use crate::frame::Frame;

/// An object being decoded. A known field that is `null` counts as absent. Of a repeated key the last
/// value counts, as in other JSON readers; the others are dropped.
#[derive(Debug)]
pub struct Fields<'p> {
    object: Object,
    path: Path<'p>,
    dialect: Dialect,
}

impl<'p> Fields<'p> {
    /// Opens a value that must be an object.
    pub fn new(value: Json, path: Path<'p>, dialect: Dialect) -> Result<Fields<'p>> {
        match value {
            Json::Object(object) if object.keys().any(is_reserved) => {
                Err(DecodeError::expected(dialect, &path, "other keys than `.` and `..`"))
            }
            Json::Object(mut object) => {
                object.remove_repeated_keys();
                Ok(Fields { object, path, dialect })
            }
            _ => Err(DecodeError::expected(dialect, &path, "an object")),
        }
    }

    /// The path of this object.
    pub fn path(&self) -> Path<'p> {
        self.path
    }

    /// The path of this object, as an origin.
    pub fn origin(&self) -> Origin {
        Origin::at(&self.path)
    }

    /// Returns a field without taking it.
    pub fn peek(&self, key: &str) -> Option<&Json> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Returns a string field without taking it, such as the tag of a union.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.peek(key).and_then(Json::as_str)
    }

    /// Takes a field of any type.
    pub fn take(&mut self, key: &str) -> Option<Json> {
        self.object.take(key).filter(|value| !value.is_null())
    }

    /// Takes a field that must be there.
    pub fn need(&mut self, key: &'static str) -> Result<Json> {
        self.take(key).ok_or_else(|| self.missing(key))
    }

    /// Checks that this is the body of a reply, which has at least one of these fields. The body of a
    /// reply with status 200 may still be an error.
    pub fn require_reply(&self, keys: &[&str]) -> Result<()> {
        if keys.iter().any(|key| self.peek(key).is_some()) {
            return Ok(());
        }
        if self.peek("error").is_some() {
            return Err(self.expected("error", "a reply, but this is an error"));
        }
        let what = "a reply, but the document has none of its fields";
        Err(DecodeError::expected(self.dialect, &self.path, what))
    }

    /// Takes a string.
    pub fn string(&mut self, key: &str) -> Result<Option<String>> {
        Ok(self.text(key)?.map(Text::into_string))
    }

    /// Takes a string that is usually passed on unread.
    pub fn text(&mut self, key: &str) -> Result<Option<Text>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.expected(key, "a string")),
        }
    }

    /// Takes a string that must be there.
    pub fn need_string(&mut self, key: &'static str) -> Result<String> {
        self.string(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a string that must be there and is usually passed on unread.
    pub fn need_text(&mut self, key: &'static str) -> Result<Text> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a string; an empty one counts as absent, for formats that require an id even if there is
    /// none.
    pub fn filled(&mut self, key: &str) -> Result<Option<String>> {
        Ok(self.string(key)?.filter(|text| !text.is_empty()))
    }

    /// Takes a number.
    pub fn number(&mut self, key: &str) -> Result<Option<Number>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Number(number)) => Ok(Some(number)),
            Some(_) => Err(self.expected(key, "a number")),
        }
    }

    /// Takes an unsigned integer, saturating.
    pub fn u64(&mut self, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let count = if let Json::Number(number) = &value { number.as_count() } else { None };
        count.map(Some).ok_or_else(|| self.expected(key, "a whole number"))
    }

    /// Takes a boolean.
    pub fn boolean(&mut self, key: &str) -> Result<Option<bool>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(self.expected(key, "true or false")),
        }
    }

    /// Takes an array; an absent one is empty.
    pub fn array(&mut self, key: &str) -> Result<Vec<Json>> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Json::Array(items)) => Ok(items),
            Some(_) => Err(self.expected(key, "an array")),
        }
    }

    /// Takes an array of strings, or one string; an absent one is empty.
    pub fn strings(&mut self, key: &str) -> Result<Vec<String>> {
        let items = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Json::String(text)) => return Ok(vec![text.into_string()]),
            Some(Json::Array(items)) => items,
            Some(_) => return Err(self.expected(key, "an array of strings")),
        };
        items
            .into_iter()
            .map(|item| match item {
                Json::String(text) => Ok(text.into_string()),
                _ => Err(self.expected(key, "an array of strings")),
            })
            .collect()
    }

    /// Takes an object.
    pub fn object(&mut self, key: &str) -> Result<Option<Object>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(object)),
            Some(_) => Err(self.expected(key, "an object")),
        }
    }

    /// Whether a field is the only remaining one.
    pub fn is_sole(&self, key: &str) -> bool {
        self.object.len() == 1 && self.object.contains_key(key)
    }

    /// Puts back what was taken, because only this dialect understands it.
    pub fn put_back(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        self.object.insert(key, value);
    }

    /// Puts back what is left of a nested object, if there is anything, so that it stays extra.
    pub fn put_back_rest(&mut self, key: impl Into<Key>, rest: Object) {
        if !rest.is_empty() {
            self.put_back(key, rest);
        }
    }

    /// The error for a field of another type or value.
    pub fn expected(&self, key: &str, what: &'static str) -> DecodeError {
        DecodeError::expected(self.dialect, &self.path.key(key), what)
    }

    /// The error for a missing field.
    pub fn missing(&self, key: &'static str) -> DecodeError {
        DecodeError::new(self.dialect, &self.path, DecodeErrorKind::Missing(key))
    }

    /// The remaining fields as [`Extra`].
    pub fn into_extra(self) -> Extra {
        Extra::new(self.dialect, self.object)
    }

    /// The remaining fields as an object.
    pub fn into_object(self) -> Object {
        self.object
    }
}

/// Whether a key is reserved among extra fields. No vendor has such a key; one from a wire would be
/// mistaken for ours.
fn is_reserved(key: &str) -> bool {
    is_note(key) || key == BESIDE || key == HERE
}

/// Parses the data of a frame of a stream.
pub fn parse_frame(frame: &Frame, dialect: Dialect) -> Result<Json> {
    wire_json::parse(&frame.data).map_err(|error| DecodeError::new(dialect, &Path::ROOT, error))
}

/// Decodes each element of an array, with its path.
pub fn elements<T>(
    items: Vec<Json>,
    path: &Path<'_>,
    mut decode: impl FnMut(Json, Path<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut decoded = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        decoded.push(decode(item, path.index(index))?);
    }
    Ok(decoded)
}
