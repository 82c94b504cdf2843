//! Why a configuration was refused, for the operator: where, what, what is accepted, what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a configuration was refused.
///
/// It is shown on one line: file, line and column where there are such, the key, what is wrong.
/// No value that could be a secret is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<PathBuf>,
    place: Option<Place>,
    key: String,
    what: String,
    hint: Option<String>,
}

/// A place in a file, counted from one; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line
    pub line: usize,
    /// The column
    pub column: usize,
}

impl ConfigError {
    /// A refusal of what a key says; the root's key is empty.
    pub fn new(key: impl Into<String>, what: impl Into<String>) -> ConfigError {
        ConfigError { file: None, place: None, key: key.into(), what: what.into(), hint: None }
    }

    /// With the file that it was read from.
    #[must_use]
    pub fn with_file(mut self, file: &Path) -> ConfigError {
        self.file = Some(file.to_owned());
        self
    }

    /// With its place in the file.
    #[must_use]
    pub fn with_place(mut self, place: Place) -> ConfigError {
        self.place = Some(place);
        self
    }

    /// The same place with other words.
    #[must_use]
    pub(super) fn with_what(mut self, what: String) -> ConfigError {
        self.what = what;
        self
    }

    /// With a hint on what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> ConfigError {
        self.hint = Some(hint.into());
        self
    }

    /// With the name that was probably meant, if one is similar, as the hint.
    #[must_use]
    pub(super) fn with_suggestion<'n>(
        self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> ConfigError {
        match toolwright_core::suggest(name, names) {
            Some(other) => self.with_hint(format!("did you mean `{other}`?")),
            None => self,
        }
    }

    /// What is wrong, without where.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The key at fault, as a dotted path.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Where in the file it is.
    pub fn place(&self) -> Option<Place> {
        self.place
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.place) {
            (Some(file), Some(Place { line, column })) => {
                write!(formatter, "{}:{line}:{column}: ", file.display())?;
            }
            (Some(file), None) => write!(formatter, "{}: ", file.display())?,
            (None, Some(Place { line, column })) => {
                write!(formatter, "line {line}, column {column}: ")?;
            }
            (None, None) => {}
        }
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for ConfigError {}
