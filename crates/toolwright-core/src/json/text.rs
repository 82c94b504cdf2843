//! A JSON document kept as the text that was sent.

use super::{Json, parse};

/// Text that is known to be one JSON document. It keeps white space, key order and digits, which
/// dialects that carry arguments as a string can return unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JsonText(Box<str>);

impl JsonText {
    /// Checks text; gives it back if it is not JSON.
    pub fn new(text: impl Into<String>) -> Result<JsonText, String> {
        let text = text.into();
        if parse::is_document(&text) { Ok(JsonText(text.into_boxed_str())) } else { Err(text) }
    }

    /// The compact text of a tree.
    pub fn of(value: &Json) -> JsonText {
        JsonText(value.compact().into_boxed_str())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tree.
    pub fn to_json(&self) -> Json {
        // The text was read once before, so this cannot fail; null keeps the function total.
        parse::raw_document(&self.0).unwrap_or_default()
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0.into_string()
    }
}
