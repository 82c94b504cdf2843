//! Reads the members of an object, with errors that have a path.

use std::borrow::Cow;

use toolwright_json::pointer::escape;
use toolwright_json::{Json, Object};

/// An unexpected value in a document. It does not contain the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: expected {expected}", if path.is_empty() { "the document" } else { path })]
#[non_exhaustive]
pub struct DocumentError {
    /// JSON Pointer to the value
    pub path: String,
    /// What is expected
    pub expected: Cow<'static, str>,
}

/// What was read from a document.
pub(super) type Result<T, E = DocumentError> = std::result::Result<T, E>;

impl DocumentError {
    /// Creates an error at the top of a document.
    pub fn new(expected: impl Into<Cow<'static, str>>) -> DocumentError {
        DocumentError { path: String::new(), expected: expected.into() }
    }

    /// Prefixes the path with a member of an enclosing document.
    #[must_use]
    pub fn within(mut self, key: &str) -> DocumentError {
        self.path = format!("/{}{}", escape(key), self.path);
        self
    }
}

/// Reads the members of an object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectReader<'a>(&'a Object);

impl<'a> ObjectReader<'a> {
    /// Opens a value that must be an object.
    pub fn of(document: &'a Json) -> Result<ObjectReader<'a>> {
        document.as_object().map(ObjectReader).ok_or_else(|| DocumentError::new("an object"))
    }

    /// Opens a value that must be an object without unknown or repeated members.
    pub fn only(document: &'a Json, known: &[&str]) -> Result<ObjectReader<'a>> {
        let fields = ObjectReader::of(document)?;
        let keys: Vec<&str> = fields.0.keys().collect();
        let is_fine = |(at, key): (usize, &&str)| known.contains(key) && !keys[..at].contains(key);
        if keys.iter().enumerate().all(is_fine) {
            return Ok(fields);
        }
        let expected = format!("no other fields than {}, each at most once", known.join(", "));
        Err(DocumentError::new(expected))
    }

    /// Returns the object.
    pub fn as_object(self) -> &'a Object {
        self.0
    }

    /// Reads a required member.
    pub fn required<T>(self, key: &str, read: impl FnOnce(&'a Json) -> Result<T>) -> Result<T> {
        let value = self.0.get(key).ok_or_else(|| DocumentError::new("a value"));
        value.and_then(read).map_err(|error| error.within(key))
    }

    /// Reads an optional member, which must not be null unless null is a valid value.
    pub fn present<T>(
        self,
        key: &str,
        read: impl FnOnce(&'a Json) -> Result<T>,
    ) -> Result<Option<T>> {
        self.0.get(key).map(read).transpose().map_err(|error| error.within(key))
    }

    /// Reads an optional or null member.
    pub fn optional<T>(
        self,
        key: &str,
        read: impl FnOnce(&'a Json) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.0.get(key).is_some_and(Json::is_null) { Ok(None) } else { self.present(key, read) }
    }

    /// Reads an object.
    pub fn object(self, key: &str) -> Result<ObjectReader<'a>> {
        self.required(key, ObjectReader::of)
    }

    /// Reads a list.
    pub fn list<T>(self, key: &str, read: impl Fn(&'a Json) -> Result<T>) -> Result<Vec<T>> {
        self.required(key, |value| items(value, read))
    }

    /// Reads a list; an absent one is empty.
    pub fn optional_list<T>(
        self,
        key: &str,
        read: impl Fn(&'a Json) -> Result<T>,
    ) -> Result<Vec<T>> {
        Ok(self.present(key, |value| items(value, read))?.unwrap_or_default())
    }

    /// Reads a string.
    pub fn text(self, key: &str) -> Result<&'a str> {
        self.required(key, text)
    }

    /// Reads an optional or null string.
    pub fn optional_text(self, key: &str) -> Result<Option<&'a str>> {
        self.optional(key, text)
    }

    /// Reads an optional or null string and converts it.
    pub fn owned<T: From<&'a str>>(self, key: &str) -> Result<Option<T>> {
        Ok(self.optional_text(key)?.map(T::from))
    }

    /// Reads one of some words.
    pub fn word<T>(
        self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T> {
        self.required(key, |value| word(value, expected, read))
    }

    /// Reads one of some words, if it is present.
    pub fn optional_word<T>(
        self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        self.optional(key, |value| word(value, expected, read))
    }

    /// Reads a boolean.
    pub fn flag(self, key: &str) -> Result<bool> {
        self.required(key, flag)
    }

    /// Reads an optional or null boolean.
    pub fn optional_flag(self, key: &str) -> Result<Option<bool>> {
        self.optional(key, flag)
    }

    /// Reads an integer that fits the type.
    pub fn count<N: TryFrom<u64>>(self, key: &str) -> Result<N> {
        self.required(key, count)
    }

    /// Reads an optional or null integer that fits the type.
    pub fn optional_count<N: TryFrom<u64>>(self, key: &str) -> Result<Option<N>> {
        self.optional(key, count)
    }
}

/// Reads every item of a list.
pub fn items<'a, T>(value: &'a Json, read: impl Fn(&'a Json) -> Result<T>) -> Result<Vec<T>> {
    let items = value.as_array().ok_or_else(|| DocumentError::new("a list"))?;
    let one = |(at, item)| read(item).map_err(|error| error.within(&format!("{at}")));
    items.iter().enumerate().map(one).collect()
}

/// Reads a text.
pub fn text(value: &Json) -> Result<&str> {
    value.as_str().ok_or_else(|| DocumentError::new("text"))
}

fn word<T>(
    value: &Json,
    expected: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T> {
    value.as_str().and_then(read).ok_or_else(|| DocumentError::new(expected))
}

fn flag(value: &Json) -> Result<bool> {
    value.as_bool().ok_or_else(|| DocumentError::new("true or false"))
}

fn count<N: TryFrom<u64>>(value: &Json) -> Result<N> {
    let number = value.as_u64().ok_or_else(|| DocumentError::new("a whole number"))?;
    N::try_from(number).map_err(|_| DocumentError::new("a smaller number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_members_are_named_by_their_place() {
        let document =
            Json::parse(r#"{"a/b":{"n":300,"t":1,"none":null},"list":["x",2]}"#).unwrap();
        let fields = ObjectReader::of(&document).unwrap();
        let inner = fields.object("a/b").unwrap();
        let path = |error: DocumentError| error.within("a/b").to_string();
        assert_eq!(inner.count::<u16>("n"), Ok(300));
        assert_eq!(path(inner.count::<u8>("n").unwrap_err()), "/a~1b/n: expected a smaller number");
        assert_eq!(path(inner.text("t").unwrap_err()), "/a~1b/t: expected text");
        assert_eq!(path(inner.text("u").unwrap_err()), "/a~1b/u: expected a value");
        assert_eq!((inner.optional_text("none"), inner.optional_text("u")), (Ok(None), Ok(None)));
        assert!(inner.present("none", text).is_err());
        assert_eq!(fields.list("list", text).unwrap_err().path, "/list/1");
        assert_eq!(
            ObjectReader::of(&Json::Null).unwrap_err().to_string(),
            "the document: expected an object"
        );
    }

    #[test]
    fn unknown_and_repeated_members_are_refused() {
        for (document, is_fine) in
            [(r#"{"a":1}"#, true), (r#"{"a":1,"c":2}"#, false), (r#"{"a":1,"a":1}"#, false)]
        {
            let document = Json::parse(document).unwrap();
            assert_eq!(ObjectReader::only(&document, &["a", "b"]).is_ok(), is_fine, "{document}");
        }
    }
}
