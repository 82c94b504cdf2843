//! Why a wire value could not be read, for whoever sent it.

use crate::json::{JsonError, Path};
use crate::model::dialect::Dialect;

/// Dialect, place and kind of a failure to decode. It never repeats what was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{dialect}: {}: {kind}", if .pointer.is_empty() { "/" } else { .pointer })]
pub struct DecodeError {
    /// In which dialect it was read
    pub dialect: Dialect,
    /// Where, as a JSON Pointer
    pub pointer: String,
    /// What was wrong
    pub kind: DecodeErrorKind,
}

/// What was wrong with a wire value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// It is not JSON
    #[error("not JSON: {0}")]
    NotJson(#[from] JsonError),
    /// It is JSON of another type or value; the text says what is accepted
    #[error("expected {0}")]
    Expected(&'static str),
    /// A field that must be there is not
    #[error("missing field '{0}'")]
    Missing(&'static str),
    /// It is known to the vendor but has no place here; the text says what
    #[error("unsupported: {0}")]
    Unsupported(&'static str),
    /// A bound was passed
    #[error("larger than {0} bytes")]
    TooLarge(usize),
    /// The frames of a stream are damaged or in an impossible order
    #[error("broken stream: {0}")]
    BrokenStream(&'static str),
}

impl DecodeError {
    /// A failure at a place.
    pub fn new(dialect: Dialect, path: &Path<'_>, kind: impl Into<DecodeErrorKind>) -> DecodeError {
        DecodeError { dialect, pointer: path.pointer(), kind: kind.into() }
    }

    /// The same failure, of a value that stands at a place in a larger document.
    #[must_use]
    pub fn below(mut self, pointer: &str) -> DecodeError {
        self.pointer.insert_str(0, pointer);
        self
    }

    /// Something else was expected at a place.
    pub fn expected(dialect: Dialect, path: &Path<'_>, what: &'static str) -> DecodeError {
        DecodeError::new(dialect, path, DecodeErrorKind::Expected(what))
    }
}
