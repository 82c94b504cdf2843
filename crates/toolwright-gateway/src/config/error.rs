//! Configuration errors: position, problem, accepted values, remedy.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a configuration was refused.
///
/// It is displayed on one line: file, line and column if there are any, the key, the problem. It
/// contains no value that could be a secret.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<PathBuf>,
    position: Option<FilePosition>,
    key: String,
    what: String,
    hint: Option<String>,
}

/// What was read from a configuration.
pub type Result<T, E = ConfigError> = std::result::Result<T, E>;

/// A position in a file, counted from one; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// The line
    pub line: usize,
    /// The column
    pub column: usize,
}

impl ConfigError {
    /// Creates an error about a key; the key of the root is empty.
    pub fn new(key: impl Into<String>, what: impl Into<String>) -> ConfigError {
        ConfigError { file: None, position: None, key: key.into(), what: what.into(), hint: None }
    }

    /// Sets the file.
    pub fn with_file(mut self, file: &Path) -> ConfigError {
        self.file = Some(file.to_owned());
        self
    }

    /// Sets the position in the file.
    pub fn with_position(mut self, position: FilePosition) -> ConfigError {
        self.position = Some(position);
        self
    }

    /// Replaces the description of the problem.
    pub(crate) fn with_what(mut self, what: String) -> ConfigError {
        self.what = what;
        self
    }

    /// Sets a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> ConfigError {
        self.hint = Some(hint.into());
        self
    }

    /// Sets a hint with the most similar name, if there is one.
    pub(crate) fn with_suggestion<'n>(
        self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> ConfigError {
        match toolwright_core::suggest(name, names) {
            Some(other) => self.with_hint(format!("did you mean `{other}`?")),
            None => self,
        }
    }

    /// Returns the problem, without its position.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns the hint.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the key, as a dotted path.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the position in the file.
    pub fn position(&self) -> Option<FilePosition> {
        self.position
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.position) {
            (Some(file), Some(FilePosition { line, column })) => {
                write!(formatter, "{}:{line}:{column}: ", file.display())?;
            }
            (Some(file), None) => write!(formatter, "{}: ", file.display())?,
            (None, Some(FilePosition { line, column })) => {
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
