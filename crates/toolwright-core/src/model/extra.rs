//! Fields of a dialect without a canonical counterpart.
//!
//! They are stored with the value on which they were found, together with their dialect, and are
//! written back when the same dialect is encoded. `fit` reports those that the target
//! cannot express.

use toolwright_json::{Json, Key, Object};

use crate::model::dialect::Dialect;
use crate::note::{self, is_note};

/// The key of fields beside a nested object, so that their losses have the right path.
pub const BESIDE: &str = "..";

/// The key of a field that represents the position of its object in a list.
pub const HERE: &str = ".";

/// Extra fields of one value, with their dialect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra(Option<Box<Inner>>);

#[derive(Debug, Clone)]
struct Inner {
    dialect: Dialect,
    fields: Object,
}

impl PartialEq for Inner {
    /// The order of extra fields is irrelevant.
    fn eq(&self, other: &Inner) -> bool {
        self.dialect == other.dialect && self.fields.same(&other.fields)
    }
}

impl Eq for Inner {}

impl Extra {
    /// No extra fields.
    pub const NONE: Extra = Extra(None);

    /// Creates extra fields from the remaining members of an object.
    pub fn new(dialect: Dialect, fields: Object) -> Extra {
        if fields.is_empty() {
            Extra(None)
        } else {
            Extra(Some(Box::new(Inner { dialect, fields })))
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the dialect of the fields.
    pub fn dialect(&self) -> Option<Dialect> {
        self.0.as_ref().map(|inner| inner.dialect)
    }

    /// Returns the fields of any dialect.
    pub fn fields(&self) -> Option<&Object> {
        self.0.as_ref().map(|inner| &inner.fields)
    }

    /// Returns the fields, if they can be written in a dialect: the same one, or one that shares
    /// its wire format.
    pub fn for_dialect(&self, dialect: Dialect) -> Option<&Object> {
        self.0
            .as_ref()
            .filter(|inner| inner.dialect.shares_wire(dialect))
            .map(|inner| &inner.fields)
    }

    /// Returns one field, if it can be written in a dialect.
    pub fn get(&self, dialect: Dialect, key: &str) -> Option<&Json> {
        self.for_dialect(dialect).and_then(|fields| fields.get(key))
    }

    /// Adds a field; fields of another dialect are replaced.
    pub fn insert(&mut self, dialect: Dialect, key: impl Into<Key>, value: impl Into<Json>) {
        match &mut self.0 {
            Some(inner) if inner.dialect == dialect => inner.fields.insert(key, value),
            place => {
                let fields = Object::from_iter([(key.into(), value.into())]);
                *place = Some(Box::new(Inner { dialect, fields }));
            }
        }
    }

    /// Removes fields that are not accepted, except notes.
    pub fn take_unless(&mut self, is_wanted: impl Fn(&str, &Json) -> bool) -> Object {
        let Some(inner) = &mut self.0 else { return Object::new() };
        let is_kept =
            |key: &str, value: &Json| is_note(key) || key == HERE || is_wanted(key, value);
        let fields = std::mem::take(&mut inner.fields).into_iter();
        let (kept, taken): (Vec<_>, Vec<_>) = fields.partition(|(key, value)| is_kept(key, value));
        *self = Extra::new(inner.dialect, kept.into_iter().collect());
        taken.into_iter().collect()
    }

    /// Replaces fields by those of a later value.
    pub fn update(&mut self, later: Extra) {
        let Some(later) = later.0 else { return };
        match &mut self.0 {
            Some(inner) if inner.dialect == later.dialect => {
                for (key, value) in later.fields {
                    inner.fields.insert(key, value);
                }
            }
            place => *place = Some(later),
        }
    }

    /// Adds the fields to an object that is being encoded.
    pub fn write_into(&self, dialect: Dialect, object: &mut Object) {
        if let Some(fields) = self.for_dialect(dialect) {
            note::merge(object, fields);
        }
    }
}
