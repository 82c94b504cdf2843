//! The outcome of a call.

use toolwright_json::Text;

use crate::model::part::{Body, Part};

/// The result of one call, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The call's id, as the dialect sent it
    pub call_id: Option<String>,
    /// The name of the tool, if the dialect sends it
    pub name: Option<String>,
    /// Text, JSON and media, in order
    pub content: Vec<Part>,
    /// Whether the call failed; `None` if the dialect does not say
    pub error: Option<bool>,
}

impl Outcome {
    /// Creates a plain-text result.
    pub fn text(call_id: impl Into<String>, text: impl Into<Text>) -> Outcome {
        Outcome {
            call_id: Some(call_id.into()),
            content: vec![Part::text(text)],
            ..Outcome::default()
        }
    }

    /// Returns the text for a model: texts, and JSON in compact form, one per line.
    pub fn words(&self) -> String {
        let lines: Vec<String> = self
            .content
            .iter()
            .filter_map(|part| match &part.body {
                Body::Text(text) => Some(text.as_str().to_owned()),
                Body::Json(value) => Some(value.compact()),
                _ => None,
            })
            .collect();
        lines.join("\n")
    }

    /// Whether the call is known to have failed.
    pub fn is_error(&self) -> bool {
        self.error == Some(true)
    }
}
