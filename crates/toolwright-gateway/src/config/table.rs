//! Tables, whose keys are taken one by one; a key that was not taken is an error. Second step of
//! reading.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{ConfigError, Result};
use super::file::File;
use super::value::Value;

type Entry<'t> = (Spanned<DeString<'t>>, Spanned<DeValue<'t>>);

/// A table that is being read.
pub struct Table<'t> {
    file: &'t File<'t>,
    key: String,
    offset: usize,
    left: Vec<Entry<'t>>,
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    /// Creates a table at a dotted path.
    pub(crate) fn new(
        file: &'t File<'t>,
        key: String,
        offset: usize,
        table: DeTable<'t>,
    ) -> Table<'t> {
        Table { file, key, offset, left: table.into_iter().collect(), known: Vec::new() }
    }

    /// Takes the value of a key, and marks the key as known.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        self.known.push(key);
        let index = self.left.iter().position(|(own, _)| own.get_ref() == key)?;
        let entry = self.left.swap_remove(index);
        Some(self.value(entry))
    }

    /// Reads the value of a key; returns the default if the key is absent.
    pub(crate) fn take_or<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Value<'t>) -> Result<T>,
    ) -> Result<T> {
        self.take(key).map_or(Ok(default), |value| read(&value))
    }

    /// Reads the value of a key, if it is present.
    pub(crate) fn take_some<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'t>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.take(key).map(|value| read(&value)).transpose()
    }

    /// Takes the elements of a list; none if the key is absent.
    pub(crate) fn list(&mut self, key: &'static str) -> Result<Vec<Value<'t>>> {
        self.take(key).map_or(Ok(Vec::new()), Value::elements)
    }

    /// Reads every entry of a table whose keys are names.
    pub(crate) fn read_all<T, C: FromIterator<(String, T)>>(
        self,
        read: impl Fn(Value<'t>) -> Result<T>,
    ) -> Result<C> {
        self.entries().into_iter().map(|(name, value)| Ok((name, read(value)?))).collect()
    }

    /// Takes the table of a key; an empty one if the key is absent.
    pub(crate) fn table(&mut self, key: &'static str) -> Result<Table<'t>> {
        match self.take(key) {
            Some(value) => value.table(),
            None => Ok(Table::new(self.file, self.below(key), self.offset, DeTable::new())),
        }
    }

    /// Returns all entries of a table whose keys are names, in the order of the file.
    pub(crate) fn entries(mut self) -> Vec<(String, Value<'t>)> {
        let mut left = std::mem::take(&mut self.left);
        left.sort_by_key(|(key, _)| key.span().start);
        let named = left.into_iter().map(|entry| (entry.0.get_ref().to_string(), entry));
        named.map(|(name, entry)| (name, self.value(entry))).collect()
    }

    /// Refuses unknown keys.
    pub(crate) fn finish(self) -> Result<()> {
        let Some((key, _)) = self.left.iter().min_by_key(|(key, _)| key.span().start) else {
            return Ok(());
        };
        let position = self.file.position(key.span().start);
        let name = key.get_ref().as_ref();
        let what = format!("there is no such key; accepted: {}", self.known.join(", "));
        let error = ConfigError::new(self.below(name), what).with_position(position);
        Err(error.with_suggestion(name, self.known.iter().copied()))
    }

    /// Creates an error about the table.
    pub(crate) fn error(&self, what: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.key, what).with_position(self.file.position(self.offset))
    }

    fn value(&self, (key, value): Entry<'t>) -> Value<'t> {
        let path = self.below(key.get_ref());
        let span = value.span();
        // The span of a table is its header; the key is the more useful position.
        let start = if value.get_ref().is_table() { key.span().start } else { span.start };
        Value::new(self.file, path, start, value.into_inner())
    }

    fn below(&self, key: &str) -> String {
        let key = super::name::quoted(key);
        if self.key.is_empty() { key } else { format!("{}.{key}", self.key) }
    }
}
