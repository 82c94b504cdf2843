//! Why a wire value could not be decoded.

use toolwright_core::Dialect;
use toolwright_json::{JsonError, Path};

/// The dialect, path and kind of a decoding error. It never contains the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{dialect}: {}: {kind}", if .pointer.is_empty() { "/" } else { .pointer })]
#[non_exhaustive]
pub struct DecodeError {
    /// The dialect
    pub dialect: Dialect,
    /// The JSON Pointer
    pub pointer: String,
    /// The problem
    pub kind: DecodeErrorKind,
}

/// A decoded value.
pub type Result<T, E = DecodeError> = std::result::Result<T, E>;

/// The problem with a wire value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// It is not JSON
    #[error("not JSON: {0}")]
    NotJson(#[from] JsonError),
    /// Another type or value than accepted; the text says what is accepted
    #[error("expected {0}")]
    Expected(&'static str),
    /// A required field is missing
    #[error("missing field '{0}'")]
    Missing(&'static str),
    /// The vendor supports it, but it is not supported here
    #[error("unsupported: {0}")]
    Unsupported(&'static str),
    /// A limit was exceeded
    #[error("larger than {0} bytes")]
    TooLarge(usize),
    /// The frames of a stream are damaged or in an invalid order
    #[error("broken stream: {0}")]
    BrokenStream(&'static str),
}

impl DecodeError {
    /// Creates an error at a path.
    pub fn new(dialect: Dialect, path: &Path<'_>, kind: impl Into<DecodeErrorKind>) -> DecodeError {
        DecodeError { dialect, pointer: path.pointer(), kind: kind.into() }
    }

    /// Prefixes the pointer, for a value nested in a larger document.
    #[must_use]
    pub fn below(mut self, pointer: &str) -> DecodeError {
        self.pointer.insert_str(0, pointer);
        self
    }

    /// Creates an error for an unexpected value at a path.
    pub fn expected(dialect: Dialect, path: &Path<'_>, what: &'static str) -> DecodeError {
        DecodeError::new(dialect, path, DecodeErrorKind::Expected(what))
    }
}
