//! The output of the parser: a tree, or its weight.

use std::borrow::Cow;
use std::ops::Range;

use super::parse::{Reader, Result};
use super::{Json, KnownKeys, Number, Object};

/// Initial capacity of an array or object.
pub(crate) const ROOM: usize = 4;

/// The characters of a string, as the parser builds it.
pub(crate) trait Characters<'t>: Sized {
    /// The text of a string with escapes so far
    type Unescaped;

    /// A string without escapes
    fn plain(document: &'t str, plain: Range<usize>) -> Self;
    /// The text before the first escape. `more` estimates the number of following bytes.
    fn begin(
        document: &'t str,
        plain: Range<usize>,
        more: impl FnOnce() -> usize,
    ) -> Self::Unescaped;
    /// An escape
    fn push(text: &mut Self::Unescaped, escaped: char);
    /// The text after an escape
    fn push_str(text: &mut Self::Unescaped, document: &'t str, plain: Range<usize>);
    /// A string with escapes
    fn end(text: Self::Unescaped) -> Self;
}

/// Copied only if there is an escape.
impl<'t> Characters<'t> for Cow<'t, str> {
    type Unescaped = String;

    fn plain(document: &'t str, plain: Range<usize>) -> Self {
        Cow::Borrowed(&document[plain])
    }

    fn begin(document: &'t str, plain: Range<usize>, more: impl FnOnce() -> usize) -> String {
        let mut text = String::with_capacity(plain.len() + more());
        text.push_str(&document[plain]);
        text
    }

    #[inline]
    fn push(text: &mut String, escaped: char) {
        text.push(escaped);
    }

    #[inline]
    fn push_str(text: &mut String, document: &'t str, plain: Range<usize>) {
        text.push_str(&document[plain]);
    }

    fn end(text: String) -> Self {
        Cow::Owned(text)
    }
}

/// Discards the text.
impl Characters<'_> for () {
    type Unescaped = ();

    fn plain(_: &str, _: Range<usize>) {}

    fn begin(_: &str, _: Range<usize>, _: impl FnOnce() -> usize) {}

    fn push((): &mut (), _: char) {}

    fn push_str((): &mut (), _: &str, _: Range<usize>) {}

    fn end((): ()) {}
}

/// A value, as the parser builds it.
pub(crate) trait Tree: Sized {
    /// A key or a string
    type Text<'t>: Characters<'t>;
    /// The items of an array so far
    type Items: Default;
    /// The members of an object so far
    type Members: Default;

    fn null() -> Self;
    fn boolean(value: bool) -> Self;
    fn number(digits: &str) -> Self;
    fn string(text: Self::Text<'_>) -> Self;
    /// Begins an array with items
    fn items() -> Self::Items;
    fn item(items: &mut Self::Items, value: Self);
    fn array(items: Self::Items) -> Self;
    /// Begins an object with members
    fn members() -> Self::Members;
    fn member(members: &mut Self::Members, known: &KnownKeys, key: &Self::Text<'_>, value: Self);
    fn object(members: Self::Members) -> Self;

    /// Parses the string that is the value of a key.
    fn string_of<'t>(reader: &mut Reader<'t>, _key: &Self::Text<'t>) -> Result<Self> {
        Ok(Self::string(reader.string()?))
    }

    /// Parses the object that is the value of a key.
    fn object_of<'t>(reader: &mut Reader<'t>, _key: &Self::Text<'t>, depth: usize) -> Result<Self> {
        reader.value(depth)
    }
}

impl Tree for Json {
    type Text<'t> = Cow<'t, str>;
    type Items = Vec<Json>;
    type Members = Object;

    fn null() -> Json {
        Json::Null
    }

    fn boolean(value: bool) -> Json {
        Json::Bool(value)
    }

    fn number(digits: &str) -> Json {
        Json::Number(Number::from_digits(digits))
    }

    fn string(text: Cow<'_, str>) -> Json {
        Json::String(text.into_owned().into())
    }

    fn items() -> Vec<Json> {
        Vec::with_capacity(ROOM)
    }

    fn item(items: &mut Vec<Json>, value: Json) {
        items.push(value);
    }

    fn array(items: Vec<Json>) -> Json {
        Json::Array(items)
    }

    fn members() -> Object {
        Object::with_capacity(ROOM)
    }

    fn member(members: &mut Object, known: &KnownKeys, key: &Cow<'_, str>, value: Json) {
        members.push(known.key(key), value);
    }

    fn object(members: Object) -> Json {
        Json::Object(members)
    }

    fn string_of<'t>(reader: &mut Reader<'t>, key: &Cow<'t, str>) -> Result<Json> {
        let is_kept = reader.hints.long_texts.contains(&key.as_ref());
        if is_kept { reader.text().map(Json::String) } else { Ok(Json::string(reader.string()?)) }
    }

    fn object_of<'t>(reader: &mut Reader<'t>, key: &Cow<'t, str>, depth: usize) -> Result<Json> {
        let key = key.as_ref();
        if reader.hints.outlines.contains(&key) {
            reader.raw_and_members(depth)
        } else if reader.hints.rarely_read.contains(&key) {
            reader.raw(depth)
        } else {
            reader.value(depth)
        }
    }
}
