//! The file as text, and where in it something is. First step of reading: TOML to a tree that knows
//! its places.

use std::path::Path;

use toml::de::{DeTable, DeValue};
use toolwright::upstream::Environment;

use super::error::{ConfigError, Place};
use super::table::Table;

/// Where variables of the environment are looked up.
pub type Env<'e> = Environment<'e>;

/// A file that is being read.
pub(super) struct File<'f> {
    text: &'f str,
    /// The folder that relative paths start from
    folder: &'f Path,
    /// Where variables are looked up
    pub(super) env: Env<'f>,
}

impl<'f> File<'f> {
    /// A file of this text, in this folder.
    pub(super) fn new(text: &'f str, folder: &'f Path, env: Env<'f>) -> File<'f> {
        File { text, folder, env }
    }

    /// The table that the whole file is.
    pub(super) fn root(&self) -> Result<Table<'_>, ConfigError> {
        let root = DeTable::parse(self.text).map_err(|error| {
            // Only the message: the error itself would quote the line, which may hold a secret.
            let refused = ConfigError::new("", format!("this is not TOML: {}", error.message()));
            match error.span() {
                Some(span) => refused.with_place(self.place(span.start)),
                None => refused,
            }
        })?;
        let start = root.span().start;
        Ok(Table::new(self, String::new(), start, root.into_inner()))
    }

    /// The place of a byte.
    pub(super) fn place(&self, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset);
        let before = &self.text[..offset];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        Place { line: before.matches('\n').count() + 1, column: before[line..].chars().count() + 1 }
    }

    /// A path as the file means it: relative to the folder that the file is in.
    pub(super) fn path(&self, written: &str) -> std::path::PathBuf {
        self.folder.join(written)
    }
}

/// What a value is, in words.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
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
