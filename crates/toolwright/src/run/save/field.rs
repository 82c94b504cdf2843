//! Reads the fields of a saved document and remembers where they stood.

use toolwright_core::Json;
use toolwright_core::json::Object;

/// A place where something else was expected.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) path: String,
    pub(super) message: &'static str,
}

impl Bad {
    pub(super) fn new(message: &'static str) -> Bad {
        Bad { path: String::new(), message }
    }

    /// The same, in the value of a field.
    pub(super) fn within(mut self, key: &str) -> Bad {
        self.path = format!("/{key}{}", self.path);
        self
    }
}

/// The fields of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    object: &'a Object,
}

impl<'a> Fields<'a> {
    pub(super) fn of(document: &'a Json) -> Result<Fields<'a>, Bad> {
        let object = document.as_object().ok_or_else(|| Bad::new("an object"))?;
        Ok(Fields { object })
    }

    /// A field that may be absent or null.
    pub(super) fn optional<T>(
        self,
        key: &str,
        read: impl FnOnce(&'a Json) -> Result<T, Bad>,
    ) -> Result<Option<T>, Bad> {
        let value = self.object.get(key).filter(|value| !value.is_null());
        value.map(read).transpose().map_err(|bad| bad.within(key))
    }

    /// A field that must be there.
    pub(super) fn required<T>(
        self,
        key: &str,
        read: impl FnOnce(&'a Json) -> Result<T, Bad>,
    ) -> Result<T, Bad> {
        let value = self.object.get(key).ok_or_else(|| Bad::new("a value").within(key))?;
        read(value).map_err(|bad| bad.within(key))
    }

    pub(super) fn object(self, key: &str) -> Result<Fields<'a>, Bad> {
        self.required(key, Fields::of)
    }

    pub(super) fn list<T>(
        self,
        key: &str,
        read: impl Fn(&'a Json) -> Result<T, Bad>,
    ) -> Result<Vec<T>, Bad> {
        self.required(key, |value| {
            let items = value.as_array().ok_or_else(|| Bad::new("a list"))?;
            let one = |(at, item)| read(item).map_err(|bad| bad.within(&format!("{at}")));
            items.iter().enumerate().map(one).collect()
        })
    }

    pub(super) fn text(self, key: &str) -> Result<&'a str, Bad> {
        self.required(key, text)
    }

    pub(super) fn optional_text(self, key: &str) -> Result<Option<&'a str>, Bad> {
        self.optional(key, text)
    }

    pub(super) fn owned(self, key: &str) -> Result<Option<String>, Bad> {
        Ok(self.optional_text(key)?.map(str::to_owned))
    }

    pub(super) fn flag(self, key: &str) -> Result<Option<bool>, Bad> {
        self.optional(key, |value| value.as_bool().ok_or_else(|| Bad::new("true or false")))
    }

    pub(super) fn count(self, key: &str) -> Result<u64, Bad> {
        self.required(key, count)
    }

    pub(super) fn optional_count(self, key: &str) -> Result<Option<u64>, Bad> {
        self.optional(key, count)
    }

    pub(super) fn small(self, key: &str) -> Result<u32, Bad> {
        let read = |value| u32::try_from(count(value)?).map_err(|_| Bad::new("a smaller number"));
        self.required(key, read)
    }
}

fn text(value: &Json) -> Result<&str, Bad> {
    value.as_str().ok_or_else(|| Bad::new("text"))
}

fn count(value: &Json) -> Result<u64, Bad> {
    value.as_u64().ok_or_else(|| Bad::new("a whole number"))
}
