//! Why a measurement could not be made or found a wrong answer, in words for a person.

use std::fmt;

/// What happened.
#[derive(Debug, Clone)]
pub(crate) struct Failure(pub(crate) String);

/// What everything here gives back.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Says what was being done when it happened.
    pub(crate) fn within(self, what: &str) -> Failure {
        Failure(format!("{what}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure(error.to_string())
    }
}

impl From<hyper::Error> for Failure {
    fn from(error: hyper::Error) -> Failure {
        Failure(error.to_string())
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure(error.to_string())
    }
}
