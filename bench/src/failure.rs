//! Errors of a measurement, as messages for the user.

use std::fmt;

/// An error message.
#[derive(Debug, Clone)]
pub(crate) struct Failure(pub(crate) String);

/// The result type of this crate.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Adds the operation that failed.
    pub(crate) fn within(self, what: &str) -> Failure {
        Failure(format!("{what}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}
