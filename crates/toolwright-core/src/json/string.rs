//! A string of a document. Long ones with escapes, such as a file that a tool returned, are kept in
//! the form in which the document has them: most translations write them as they are.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::OnceLock;

use super::parse;

/// The keys whose values are rarely read before they are written.
pub(super) const TEXT_KEYS: [&str; 3] = ["content", "text", "output"];

/// Minimum size of a string that is kept with its escapes: a smaller one is unescaped as fast.
pub(super) const MIN_ESCAPED: usize = 48;

/// A string, which can be used as a `str`.
#[derive(Clone)]
pub struct Text(Form);

#[derive(Clone)]
enum Form {
    Plain(String),
    Escaped(Box<Escaped>),
}

/// A string as the writer would write it, with quotes.
struct Escaped {
    json: Box<str>,
    /// The string itself, once it is read
    text: OnceLock<String>,
}

impl Escaped {
    fn text(&self) -> &String {
        self.text.get_or_init(|| unescaped(&self.json))
    }
}

/// The parser has validated the text, so this cannot fail.
fn unescaped(json: &str) -> String {
    parse::string(json).unwrap_or_default().into_owned()
}

/// Does not copy the string itself: most copies are only written.
impl Clone for Escaped {
    fn clone(&self) -> Escaped {
        Escaped { json: self.json.clone(), text: OnceLock::new() }
    }
}

impl Text {
    /// Creates a string from its form in a document, with quotes; it must be the one that the
    /// writer would write.
    pub(super) fn escaped(json: &str) -> Text {
        Text(Form::Escaped(Box::new(Escaped { json: json.into(), text: OnceLock::new() })))
    }

    /// Returns its form in a document, with quotes, if it is kept.
    pub(super) fn json(&self) -> Option<&str> {
        match &self.0 {
            Form::Plain(_) => None,
            Form::Escaped(own) => Some(&own.json),
        }
    }

    /// Returns the string.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Escaped(own) => own.text(),
        }
    }

    /// Whether the string is empty, without unescaping it.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Plain(text) => text.is_empty(),
            Form::Escaped(_) => false,
        }
    }

    /// Whether the string is empty or consists of white space.
    pub fn is_blank(&self) -> bool {
        match &self.0 {
            Form::Plain(text) => text.trim().is_empty(),
            // Most strings begin with a character that shows it.
            Form::Escaped(own) => match own.json.as_bytes() {
                [b'"', first, ..] if first.is_ascii_graphic() && *first != b'\\' => false,
                _ => own.text().trim().is_empty(),
            },
        }
    }

    /// Returns the string, owned.
    pub fn into_string(self) -> String {
        match self.0 {
            Form::Plain(text) => text,
            Form::Escaped(own) => own.text.into_inner().unwrap_or_else(|| unescaped(&own.json)),
        }
    }

    /// Changes the string.
    pub fn edit(&mut self, change: impl FnOnce(&mut String)) {
        let mut text = std::mem::take(self).into_string();
        change(&mut text);
        *self = text.into();
    }
}

impl Default for Text {
    fn default() -> Text {
        Text(Form::Plain(String::new()))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Form::Plain(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        text.to_owned().into()
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Text {
        text.into_owned().into()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.into_string()
    }
}

/// Strings are equal if their characters are. There is one form with escapes for each string.
impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        match (self.json(), other.json()) {
            (Some(own), Some(other)) => own == other,
            _ => self.as_str() == other.as_str(),
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), formatter)
    }
}
