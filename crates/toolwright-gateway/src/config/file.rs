//! Parses the file as TOML, and maps bytes to positions. First step of reading.

use std::path::Path;

use toml::de::{DeTable, DeValue};
use toolwright_runtime::upstream::Environment;

use super::error::{ConfigError, FilePosition, Result};
use super::table::Table;

/// Looks up environment variables.
pub type Env<'e> = Environment<'e>;

/// A file that is being read.
pub struct File<'f> {
    text: &'f str,
    /// The folder that relative paths start at
    folder: &'f Path,
    /// Looks up environment variables
    pub(crate) env: Env<'f>,
}

impl<'f> File<'f> {
    /// Creates a file with a text, in a folder.
    pub(crate) fn new(text: &'f str, folder: &'f Path, env: Env<'f>) -> File<'f> {
        File { text, folder, env }
    }

    /// Parses the file and returns its root table.
    pub(crate) fn root(&self) -> Result<Table<'_>> {
        let root = DeTable::parse(self.text).map_err(|error| {
            // Only the message: the error would quote the line, which may contain a secret.
            let refused = ConfigError::new("", format!("this is not TOML: {}", error.message()));
            match error.span() {
                Some(span) => refused.with_position(self.position(span.start)),
                None => refused,
            }
        })?;
        let start = root.span().start;
        Ok(Table::new(self, String::new(), start, root.into_inner()))
    }

    /// Returns the position of a byte.
    pub(crate) fn position(&self, offset: usize) -> FilePosition {
        let offset = self.text.floor_char_boundary(offset);
        let before = &self.text[..offset];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        FilePosition {
            line: before.matches('\n').count() + 1,
            column: before[line..].chars().count() + 1,
        }
    }

    /// Resolves a path relative to the folder of the file.
    pub(crate) fn path(&self, written: &str) -> std::path::PathBuf {
        self.folder.join(written)
    }
}

/// Returns the name of a value's type.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
