//! Tables, whose keys are taken one by one; what nobody took is an error. Second step of reading.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::ConfigError;
use super::file::File;
use super::value::Value;

type Entry<'t> = (Spanned<DeString<'t>>, Spanned<DeValue<'t>>);

/// A table that is being read.
pub(super) struct Table<'t> {
    file: &'t File<'t>,
    key: String,
    offset: usize,
    left: Vec<Entry<'t>>,
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    /// A table at a dotted path.
    pub(super) fn new(
        file: &'t File<'t>,
        key: String,
        offset: usize,
        table: DeTable<'t>,
    ) -> Table<'t> {
        Table { file, key, offset, left: table.into_iter().collect(), known: Vec::new() }
    }

    /// The value of a key. Asking for a key makes it known.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        self.known.push(key);
        let index = self.left.iter().position(|(own, _)| own.get_ref() == key)?;
        let entry = self.left.swap_remove(index);
        Some(self.value(entry))
    }

    /// The value of a key, as a reader makes it; the default if the key is absent.
    pub(super) fn take_or<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Value<'t>) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        self.take(key).map_or(Ok(default), |value| read(&value))
    }

    /// The value of a key, as a reader makes it, if the key is there.
    pub(super) fn take_some<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'t>) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.take(key).map(|value| read(&value)).transpose()
    }

    /// The table of a key; an empty one if the key is absent.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Table<'t>, ConfigError> {
        match self.take(key) {
            Some(value) => value.table(),
            None => Ok(Table::new(self.file, self.below(key), self.offset, DeTable::new())),
        }
    }

    /// All entries of a table whose keys are names that the operator chose, in the file's order.
    pub(super) fn entries(mut self) -> Vec<(String, Value<'t>)> {
        let mut left = std::mem::take(&mut self.left);
        left.sort_by_key(|(key, _)| key.span().start);
        let named = left.into_iter().map(|entry| (entry.0.get_ref().to_string(), entry));
        named.map(|(name, entry)| (name, self.value(entry))).collect()
    }

    /// Refuses keys that mean nothing yet, in words of their own.
    pub(super) fn refuse_reserved(&self, reserved: &[&str]) -> Result<(), ConfigError> {
        let reserved = |key: &Spanned<DeString<'_>>| reserved.contains(&key.get_ref().as_ref());
        let Some((key, _)) = self.left.iter().find(|(key, _)| reserved(key)) else {
            return Ok(());
        };
        let what = "this table is reserved, and this version of toolwright does not support it";
        Err(ConfigError::new(self.below(key.get_ref()), what)
            .with_place(self.file.place(key.span().start))
            .with_hint("remove it"))
    }

    /// Refuses keys that nobody asked for.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let Some((key, _)) = self.left.iter().min_by_key(|(key, _)| key.span().start) else {
            return Ok(());
        };
        let place = self.file.place(key.span().start);
        let name = key.get_ref().as_ref();
        let what = format!("there is no such key; accepted: {}", self.known.join(", "));
        let error = ConfigError::new(self.below(name), what).with_place(place);
        Err(error.with_suggestion(name, self.known.iter().copied()))
    }

    /// A refusal of the table as a whole.
    pub(super) fn error(&self, what: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.key, what).with_place(self.file.place(self.offset))
    }

    fn value(&self, (key, value): Entry<'t>) -> Value<'t> {
        let path = self.below(key.get_ref());
        let span = value.span();
        // A table's own span is its header; a key in it is where a person looks.
        let start = if value.get_ref().is_table() { key.span().start } else { span.start };
        Value::new(self.file, path, start, value.into_inner())
    }

    fn below(&self, key: &str) -> String {
        let key = super::name::quoted(key);
        if self.key.is_empty() { key } else { format!("{}.{key}", self.key) }
    }
}
