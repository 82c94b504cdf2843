//! One value and what can be read from it. Third step of reading: from TOML's kinds to ours.

use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::error::ConfigError;
use super::file::{File, kind};
use super::table::Table;
use super::{duration, size};

/// A value that is being read, with its dotted path and place.
pub(super) struct Value<'t> {
    pub(super) file: &'t File<'t>,
    key: String,
    offset: usize,
    inner: DeValue<'t>,
}

impl<'t> Value<'t> {
    /// A value at a path and an offset.
    pub(super) fn new(
        file: &'t File<'t>,
        key: String,
        offset: usize,
        inner: DeValue<'t>,
    ) -> Value<'t> {
        Value { file, key, offset, inner }
    }

    /// A refusal of this value.
    pub(super) fn error(&self, what: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.key, what).with_place(self.file.place(self.offset))
    }

    fn expected(&self, what: &str) -> ConfigError {
        self.error(format!("this must be {what}, not {}", kind(&self.inner)))
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.inner.is_table()
    }

    /// Whether it is a text.
    pub(super) fn is_text(&self) -> bool {
        self.inner.is_str()
    }

    /// The text that it is.
    pub(super) fn text(&self) -> Result<&str, ConfigError> {
        match &self.inner {
            DeValue::String(text) => Ok(text),
            _ => Err(self.expected("a text in quotes")),
        }
    }

    /// The text that it is, which has something in it.
    pub(super) fn words(&self) -> Result<String, ConfigError> {
        match self.text()? {
            text if text.trim().is_empty() => Err(self.error("this is empty")),
            text => Ok(text.to_owned()),
        }
    }

    /// The switch that it is.
    pub(super) fn flag(&self) -> Result<bool, ConfigError> {
        match &self.inner {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.expected("true or false")),
        }
    }

    /// The whole number that it is, not below `least`.
    pub(super) fn number(&self, least: u64) -> Result<u64, ConfigError> {
        let DeValue::Integer(digits) = &self.inner else {
            return Err(self.expected("a whole number"));
        };
        let number = i64::from_str_radix(digits.as_str(), digits.radix()).ok();
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.filter(|number| *number >= least).ok_or_else(|| {
            self.error(format!("this must be a whole number from {least} to {}", i64::MAX))
        })
    }

    /// The number of things that it is, not below `least`.
    pub(super) fn count(&self, least: u64) -> Result<usize, ConfigError> {
        usize::try_from(self.number(least)?).map_err(|_| self.error("this is too large"))
    }

    /// The length of time that it is.
    pub(super) fn duration(&self) -> Result<Duration, ConfigError> {
        const EXAMPLE: &str = "a length of time with its unit, such as \"10s\"";
        let DeValue::String(text) = &self.inner else { return Err(self.expected(EXAMPLE)) };
        duration::parse(text).ok_or_else(|| {
            self.error(format!("this must be {EXAMPLE}; units are {}", duration::UNITS))
        })
    }

    /// The length of time that it is, which is some time.
    pub(super) fn deadline(&self) -> Result<Duration, ConfigError> {
        match self.duration()? {
            Duration::ZERO => Err(self.error("this must be longer than nothing")),
            duration => Ok(duration),
        }
    }

    /// The number of bytes that it is: a number, or a text with a unit. It is at least one.
    pub(super) fn size(&self) -> Result<usize, ConfigError> {
        const EXAMPLE: &str = "a size, such as \"32MB\"";
        let bytes = match &self.inner {
            DeValue::String(text) => size::parse(text),
            DeValue::Integer(_) => Some(self.number(1)?),
            _ => return Err(self.expected(EXAMPLE)),
        };
        let bytes = bytes.filter(|bytes| *bytes > 0);
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| {
            let units = size::UNITS;
            self.error(format!("this must be {EXAMPLE}, of one byte or more; units are {units}"))
        })
    }

    /// The path that it is, seen from the folder of the file.
    pub(super) fn path(&self) -> Result<PathBuf, ConfigError> {
        Ok(self.file.path(&self.words()?))
    }

    /// The path of a file that is there.
    pub(super) fn existing_file(&self) -> Result<PathBuf, ConfigError> {
        let path = self.path()?;
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => Ok(path),
            Ok(_) => Err(self.error(format!("{} is not a file", path.display()))),
            Err(error) => Err(self
                .error(format!("{}: {error}", path.display()))
                .with_hint("paths start from the folder that the configuration is in")),
        }
    }

    /// The path of a folder that is there.
    pub(super) fn existing_folder(&self) -> Result<PathBuf, ConfigError> {
        let path = self.path()?;
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Ok(path),
            Ok(_) => Err(self.error(format!("{} is not a folder", path.display()))),
            Err(error) => Err(self
                .error(format!("{}: {error}", path.display()))
                .with_hint("paths start from the folder that the configuration is in")),
        }
    }

    /// The elements of the list that it is.
    pub(super) fn elements(self) -> Result<Vec<Value<'t>>, ConfigError> {
        let DeValue::Array(array) = self.inner else {
            return Err(self.expected("a list in brackets"));
        };
        let elements = array.into_iter().enumerate();
        Ok(elements
            .map(|(index, element)| {
                let key = format!("{}[{index}]", self.key);
                let start = element.span().start;
                Value::new(self.file, key, start, element.into_inner())
            })
            .collect())
    }

    /// The texts of the list that it is.
    pub(super) fn texts(self) -> Result<Vec<String>, ConfigError> {
        self.elements()?.iter().map(Value::words).collect()
    }

    /// The table that it is.
    pub(super) fn table(self) -> Result<Table<'t>, ConfigError> {
        match self.inner {
            DeValue::Table(table) => Ok(Table::new(self.file, self.key, self.offset, table)),
            _ => Err(self.expected("a table")),
        }
    }
}
