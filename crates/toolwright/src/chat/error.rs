//! Why a document is no message or answer.

/// A place in a document where something else was expected. It names no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", if path.is_empty() { "the document" } else { path })]
pub struct ChatError {
    /// JSON Pointer to the place
    pub path: String,
    /// What is expected there
    pub message: String,
}

impl ChatError {
    /// An error at a place.
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> ChatError {
        ChatError { path: path.into(), message: message.into() }
    }

    /// The same, in a larger document.
    pub(crate) fn within(mut self, pointer: &str) -> ChatError {
        self.path.insert_str(0, pointer);
        self
    }
}
