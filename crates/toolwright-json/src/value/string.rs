//! A string of a document. A long one with escapes, such as a file that a tool returned, keeps its
//! serialized form, because most translations write it unchanged.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use super::parse;
use crate::scan;

/// Minimum size of a string that is kept with its escapes: a smaller one is unescaped as fast.
pub(crate) const MIN_ESCAPED: usize = 256;

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

/// Returns the number of escapes, which have two bytes in the form that is kept.
fn escapes(json: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        (count, at) = (count + 1, at + found + 2);
    }
    count
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
    pub(crate) fn escaped(json: &str) -> Text {
        Text(Form::Escaped(Box::new(Escaped { json: json.into(), text: OnceLock::new() })))
    }

    /// Returns its form in a document, with quotes, if it is kept.
    pub(crate) fn json(&self) -> Option<&str> {
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

    /// Returns the number of bytes of the string, without unescaping it.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Plain(text) => text.len(),
            Form::Escaped(own) => own.json.len() - 2 - escapes(&own.json),
        }
    }

    /// Returns the number of bytes of its form in a document, without quotes. A control character counts
    /// as two.
    pub(crate) fn written_len(&self) -> usize {
        match &self.0 {
            Form::Plain(text) => text.len() + scan::count(text.as_bytes()),
            Form::Escaped(own) => own.json.len() - 2,
        }
    }

    /// Whether the string is empty, without unescaping it.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Plain(text) => text.is_empty(),
            Form::Escaped(_) => false,
        }
    }

    /// Returns the string, owned.
    pub fn into_string(self) -> String {
        match self.0 {
            Form::Plain(text) => text,
            Form::Escaped(own) => own.text.into_inner().unwrap_or_else(|| unescaped(&own.json)),
        }
    }

    /// Changes the string. It is empty if the change panics.
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

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        text.as_str().into()
    }
}

impl From<Box<str>> for Text {
    fn from(text: Box<str>) -> Text {
        text.into_string().into()
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

/// Compares characters. Two serialized forms can be compared directly, because each string has only one.
impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        match (self.json(), other.json()) {
            (Some(own), Some(other)) => own == other,
            _ => self.len() == other.len() && self.as_str() == other.as_str(),
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.len() == other.len() && self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        *self == **other
    }
}

impl PartialEq<Text> for str {
    fn eq(&self, other: &Text) -> bool {
        other == self
    }
}

impl PartialEq<Text> for &str {
    fn eq(&self, other: &Text) -> bool {
        other == *self
    }
}

impl PartialEq<Text> for String {
    fn eq(&self, other: &Text) -> bool {
        other == self
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Json;
    use crate::value::hints::tests::HINTS;

    /// A text that is long enough to be kept.
    fn lines() -> String {
        "fn main() {\n\tprintln!(\"a \\\\ b\");\n}\r\n\u{8}\u{c} and 世界\n".repeat(10)
    }

    /// The same string, kept and not kept.
    fn pair(text: &str) -> [Text; 2] {
        ["content", "other"].map(|key| {
            let document = format!(r#"{{"{key}":{}}}"#, Json::from(text));
            match Json::parse_with(&document, &HINTS).unwrap().as_object_mut().unwrap().remove(key)
            {
                Some(Json::String(own)) => own,
                other => panic!("{other:?}"),
            }
        })
    }

    #[test]
    fn a_kept_string_is_the_string_that_its_form_says() {
        let lines = lines();
        let [kept, plain] = pair(&lines);
        assert_eq!((kept.json().is_some(), plain.json()), (true, None));
        assert_eq!((kept.len(), kept.as_str()), (lines.len(), &*lines));
        assert_eq!(kept, plain);
        assert_eq!(kept.clone().into_string(), lines);
        assert_eq!(format!("{kept} {kept:?}"), format!("{plain} {plain:?}"));
        assert_eq!(Json::from(kept.clone()).compact(), Json::from(plain).compact());
        assert_ne!(kept, pair(&lines.replace('\t', "  "))[0]);
        assert!(!kept.is_empty() && kept.json().is_some(), "reading changes nothing");
    }

    #[test]
    fn a_change_is_written() {
        let lines = lines();
        for mut text in pair(&lines) {
            text.edit(|text| text.push('\n'));
            assert_eq!(text, format!("{lines}\n"));
            assert_eq!(
                Json::from(text),
                Json::parse(&Json::from(format!("{lines}\n")).compact()).unwrap()
            );
        }
    }

    #[test]
    fn a_form_that_the_writer_would_write_otherwise_is_not_kept() {
        let filler = "x".repeat(MIN_ESCAPED);
        for other in ["\\/", "\\u00e9", "\\u000a", "\\u0001", "\\ud83d\\ude00"] {
            let document = format!(r#"{{"content":"{filler}{other}"}}"#);
            let parsed = Json::parse_with(&document, &HINTS).unwrap();
            let Some(Json::String(text)) = parsed.get("content") else { panic!() };
            assert_eq!(text.json(), None, "{other}");
            assert_eq!(Json::parse(&parsed.compact()), Ok(parsed));
        }
        for wrong in ["\\x", "\\u12", "\n", "\\"] {
            assert!(Json::parse(&format!(r#"{{"content":"{filler}{wrong}"}}"#)).is_err());
        }
    }
}
