//! An object whose known fields are taken one by one; what remains is [`Extra`].

use super::{DecodeError, DecodeErrorKind};
use crate::json::{Json, Key, Number, Object, Path};
use crate::model::dialect::Dialect;
use crate::model::extra::{BESIDE, Extra, HERE};
use crate::model::origin::Origin;
use crate::note::is_note;

/// An object being decoded. A known field that is `null` counts as absent; of a repeated key the
/// last counts, as every reader takes it, and the others are gone.
#[derive(Debug)]
pub struct Fields<'p> {
    object: Object,
    path: Path<'p>,
    dialect: Dialect,
}

impl<'p> Fields<'p> {
    /// Opens a value that must be an object.
    pub fn new(value: Json, path: Path<'p>, dialect: Dialect) -> Result<Fields<'p>, DecodeError> {
        match value {
            Json::Object(object) if object.keys().any(is_reserved) => {
                Err(DecodeError::expected(dialect, &path, "other keys than `.` and `..`"))
            }
            Json::Object(mut object) => {
                object.settle();
                Ok(Fields { object, path, dialect })
            }
            _ => Err(DecodeError::expected(dialect, &path, "an object")),
        }
    }

    /// Where this object stands.
    pub fn path(&self) -> Path<'p> {
        self.path
    }

    /// Where this object stands, to be kept.
    pub fn origin(&self) -> Origin {
        Origin::at(&self.path)
    }

    /// A look at a field without taking it.
    pub fn peek(&self, key: &str) -> Option<&Json> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// A look at a string field without taking it: the tag of a union.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.peek(key).and_then(Json::as_str)
    }

    /// Takes a field of any type.
    pub fn take(&mut self, key: &str) -> Option<Json> {
        self.object.take(key).filter(|value| !value.is_null())
    }

    /// Takes a field that must be there.
    pub fn need(&mut self, key: &'static str) -> Result<Json, DecodeError> {
        self.take(key).ok_or_else(|| self.missing(key))
    }

    /// Checks that this is the body of a reply, which has at least one of these fields. A server
    /// that answers 200 may still say that there is no such path, or that it failed.
    pub fn require_reply(&self, keys: &[&str]) -> Result<(), DecodeError> {
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
    pub fn string(&mut self, key: &str) -> Result<Option<String>, DecodeError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.expected(key, "a string")),
        }
    }

    /// Takes a string that must be there.
    pub fn need_string(&mut self, key: &'static str) -> Result<String, DecodeError> {
        self.string(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a string in which an empty one says nothing, as where the format requires an id of
    /// somebody who has none.
    pub fn filled(&mut self, key: &str) -> Result<Option<String>, DecodeError> {
        Ok(self.string(key)?.filter(|text| !text.is_empty()))
    }

    /// Takes a number.
    pub fn number(&mut self, key: &str) -> Result<Option<Number>, DecodeError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Number(number)) => Ok(Some(number)),
            Some(_) => Err(self.expected(key, "a number")),
        }
    }

    /// Takes a whole number; one that is too large is the largest there is.
    pub fn u64(&mut self, key: &str) -> Result<Option<u64>, DecodeError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let count = if let Json::Number(number) = &value { number.as_count() } else { None };
        count.map(Some).ok_or_else(|| self.expected(key, "a whole number"))
    }

    /// Takes a boolean.
    pub fn boolean(&mut self, key: &str) -> Result<Option<bool>, DecodeError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(self.expected(key, "true or false")),
        }
    }

    /// Takes an array; an absent one is empty.
    pub fn array(&mut self, key: &str) -> Result<Vec<Json>, DecodeError> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Json::Array(items)) => Ok(items),
            Some(_) => Err(self.expected(key, "an array")),
        }
    }

    /// Takes an array of strings, or one string that stands for itself; an absent one is empty.
    pub fn strings(&mut self, key: &str) -> Result<Vec<String>, DecodeError> {
        let items = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Json::String(text)) => return Ok(vec![text]),
            Some(Json::Array(items)) => items,
            Some(_) => return Err(self.expected(key, "an array of strings")),
        };
        items
            .into_iter()
            .map(|item| match item {
                Json::String(text) => Ok(text),
                _ => Err(self.expected(key, "an array of strings")),
            })
            .collect()
    }

    /// Takes an object.
    pub fn object(&mut self, key: &str) -> Result<Option<Object>, DecodeError> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(object)),
            Some(_) => Err(self.expected(key, "an object")),
        }
    }

    /// Whether a field is all that is left.
    pub fn is_sole(&self, key: &str) -> bool {
        self.object.len() == 1 && self.object.contains_key(key)
    }

    /// Puts back what was taken, because only this dialect understands it.
    pub fn put_back(&mut self, key: impl Into<Key>, value: impl Into<Json>) {
        self.object.insert(key, value);
    }

    /// An error: a field is not what it should be.
    pub fn expected(&self, key: &str, what: &'static str) -> DecodeError {
        DecodeError::expected(self.dialect, &self.path.key(key), what)
    }

    /// An error: a field is not there.
    pub fn missing(&self, key: &'static str) -> DecodeError {
        DecodeError::new(self.dialect, &self.path, DecodeErrorKind::Missing(key))
    }

    /// What was not taken.
    pub fn rest(self) -> Extra {
        Extra::new(self.dialect, self.object)
    }

    /// What was not taken, as an object.
    pub fn into_object(self) -> Object {
        self.object
    }
}

/// Whether a key has a meaning among extra fields: a note, what stood beside the object, its place. No
/// vendor has such a key; one that came over a wire would be taken for ours.
fn is_reserved(key: &str) -> bool {
    is_note(key) || key == BESIDE || key == HERE
}

/// Decodes each element of an array, with its place.
pub fn elements<T>(
    items: Vec<Json>,
    path: &Path<'_>,
    mut decode: impl FnMut(Json, Path<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    items.into_iter().enumerate().map(|(index, item)| decode(item, path.index(index))).collect()
}
