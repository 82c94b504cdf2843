//! Reads typed values. Third step of reading.

use std::fs::Metadata;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;
use toolwright_core::json::{Number, Object};
use toolwright_core::{Json, duration};

use super::error::{ConfigError, Result};
use super::file::{File, kind};
use super::size;
use super::table::Table;

/// A value that is being read, with its dotted path and position.
pub struct Value<'t> {
    pub(crate) file: &'t File<'t>,
    key: String,
    offset: usize,
    inner: DeValue<'t>,
}

impl<'t> Value<'t> {
    /// Creates a value at a path and an offset.
    pub(crate) fn new(
        file: &'t File<'t>,
        key: String,
        offset: usize,
        inner: DeValue<'t>,
    ) -> Value<'t> {
        Value { file, key, offset, inner }
    }

    /// Creates an error about this value.
    pub(crate) fn error(&self, what: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.key, what).with_position(self.file.position(self.offset))
    }

    fn expected(&self, what: &str) -> ConfigError {
        self.error(format!("this must be {what}, not {}", kind(&self.inner)))
    }

    /// Whether it is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.inner.is_table()
    }

    /// Whether it is a string.
    pub(crate) fn is_text(&self) -> bool {
        self.inner.is_str()
    }

    /// Reads a string.
    pub(crate) fn text(&self) -> Result<&str> {
        match &self.inner {
            DeValue::String(text) => Ok(text),
            _ => Err(self.expected("a text in quotes")),
        }
    }

    /// Reads a string that is not empty.
    pub(crate) fn words(&self) -> Result<String> {
        match self.text()? {
            text if text.trim().is_empty() => Err(self.error("this is empty")),
            text => Ok(text.to_owned()),
        }
    }

    /// Reads a boolean.
    pub(crate) fn flag(&self) -> Result<bool> {
        match &self.inner {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.expected("true or false")),
        }
    }

    /// Reads an integer of at least `least`.
    pub(crate) fn number(&self, least: u64) -> Result<u64> {
        let DeValue::Integer(digits) = &self.inner else {
            return Err(self.expected("a whole number"));
        };
        let number = i64::from_str_radix(digits.as_str(), digits.radix()).ok();
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.filter(|number| *number >= least).ok_or_else(|| {
            self.error(format!("this must be a whole number from {least} to {}", i64::MAX))
        })
    }

    /// Reads a count of at least `least`.
    pub(crate) fn count(&self, least: u64) -> Result<usize> {
        usize::try_from(self.number(least)?).map_err(|_| self.error("this is too large"))
    }

    /// Reads a duration.
    pub(crate) fn duration(&self) -> Result<Duration> {
        const EXAMPLE: &str = "a length of time with its unit, such as \"10s\"";
        let DeValue::String(text) = &self.inner else { return Err(self.expected(EXAMPLE)) };
        duration::parse(text).ok_or_else(|| {
            self.error(format!("this must be {EXAMPLE}; units are {}", duration::UNITS))
        })
    }

    /// Reads a duration of more than zero.
    pub(crate) fn deadline(&self) -> Result<Duration> {
        match self.duration()? {
            Duration::ZERO => Err(self.error("this must be more than zero")),
            duration => Ok(duration),
        }
    }

    /// Reads a number of bytes, at least one: an integer, or a string with a unit.
    pub(crate) fn size(&self) -> Result<usize> {
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

    /// Reads the value of one of some words.
    pub(crate) fn one_of<T: Clone>(&self, words: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meant)| meant.clone()).ok_or_else(|| {
            let accepted: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let what = format!("this must be one of {}", accepted.join(", "));
            self.error(what).with_suggestion(text, accepted)
        })
    }

    /// Reads a path relative to the folder of the file.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        Ok(self.file.path(&self.words()?))
    }

    /// Reads the path of an existing file.
    pub(crate) fn existing_file(&self) -> Result<PathBuf> {
        self.existing("file", Metadata::is_file)
    }

    /// Reads the path of an existing folder.
    pub(crate) fn existing_folder(&self) -> Result<PathBuf> {
        self.existing("folder", Metadata::is_dir)
    }

    fn existing(&self, kind: &str, is_one: fn(&Metadata) -> bool) -> Result<PathBuf> {
        let path = self.path()?;
        match std::fs::metadata(&path) {
            Ok(found) if is_one(&found) => Ok(path),
            Ok(_) => Err(self.error(format!("{} is not a {kind}", path.display()))),
            Err(error) => Err(self
                .error(format!("{}: {error}", path.display()))
                .with_hint("paths start from the folder that the configuration is in")),
        }
    }

    /// Reads the elements of a list.
    pub(crate) fn elements(self) -> Result<Vec<Value<'t>>> {
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

    /// Reads a list of strings.
    pub(crate) fn texts(self) -> Result<Vec<String>> {
        self.elements()?.iter().map(Value::words).collect()
    }

    /// Reads any value as JSON.
    pub(crate) fn json(self) -> Result<Json> {
        let number = |text: &str| Number::parse(text.trim_start_matches('+')).map(Json::from);
        let scalar = match &self.inner {
            DeValue::String(text) => Some(Json::from(text.as_ref())),
            DeValue::Boolean(flag) => Some(Json::from(*flag)),
            DeValue::Integer(digits) => {
                i64::from_str_radix(digits.as_str(), digits.radix()).ok().map(Json::from)
            }
            DeValue::Float(digits) => number(digits.as_str()),
            DeValue::Array(_) => {
                let items = self.elements()?.into_iter().map(Value::json);
                return items.collect::<Result<Vec<_>, _>>().map(Json::Array);
            }
            DeValue::Table(_) => {
                let mut object = Object::new();
                for (key, value) in self.table()?.entries() {
                    object.push(key, value.json()?);
                }
                return Ok(Json::Object(object));
            }
            DeValue::Datetime(_) => None,
        };
        scalar.ok_or_else(|| self.error("this value has no form in JSON"))
    }

    /// Reads a table.
    pub(crate) fn table(self) -> Result<Table<'t>> {
        match self.inner {
            DeValue::Table(table) => Ok(Table::new(self.file, self.key, self.offset, table)),
            _ => Err(self.expected("a table")),
        }
    }
}
