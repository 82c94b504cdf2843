//! A JSON document that is kept as the text that was received.

use std::hash::{Hash, Hasher};

use crate::value::{Hints, Json, Object, parse, raw};

/// Text that is known to be a JSON document. It keeps white space, key order and digits, so that
/// dialects with arguments as a string return it unchanged.
#[derive(Debug, Clone)]
pub struct JsonText {
    text: Box<str>,
    /// Whether the text is known to be compact
    compact: bool,
}

impl PartialEq for JsonText {
    fn eq(&self, other: &JsonText) -> bool {
        self.text == other.text
    }
}

impl Eq for JsonText {}

impl Hash for JsonText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl JsonText {
    /// Validates text; returns it if it is not JSON.
    pub fn new(text: impl Into<String>) -> Result<JsonText, String> {
        let text = text.into();
        match parse::check(&text) {
            Ok(compact) => Ok(JsonText { text: text.into_boxed_str(), compact }),
            Err(_) => Err(text),
        }
    }

    /// Creates the compact text of a tree.
    pub fn of(value: &Json) -> JsonText {
        JsonText { text: value.compact().into_boxed_str(), compact: true }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Parses the text.
    pub fn to_json(&self) -> Json {
        if self.compact && self.text.starts_with('{') && self.text.len() >= raw::MIN_RAW {
            return Json::Object(Object::from_raw(raw::Raw::new(&self.text, Hints::NONE.keys)));
        }
        // The text was validated, so this cannot fail; null keeps the function total.
        parse::document(&self.text, &Hints::NONE).unwrap_or_default()
    }

    /// Returns the owned text.
    pub fn into_string(self) -> String {
        self.text.into_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_written_equals_the_same_text_that_was_checked() {
        let written = JsonText::of(&Json::from("\u{0}"));
        assert_eq!(written.as_str(), "\"\\u0000\"");
        assert_eq!(JsonText::new(written.as_str()), Ok(written));
    }
}
