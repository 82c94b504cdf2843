//! Fields that a dialect sent and the canonical model has no name for.
//!
//! They travel beside the value they were found on, marked with the dialect they belong to, and
//! return to their place when the same dialect is written again. [`fit`](crate::fit) reports those
//! that the target cannot take.

use crate::json::{Json, Key, Object};
use crate::model::dialect::Dialect;
use crate::note::is_note;

/// The key under which fields beside a nested object travel with those inside it, so that the loss
/// of one is named by its own place.
pub(crate) const BESIDE: &str = "..";

/// The key of a field that stands for the place of its object among others.
pub(crate) const HERE: &str = ".";

/// Unnamed fields of one value, with the dialect that they were read in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra(Option<Box<Inner>>);

#[derive(Debug, Clone)]
struct Inner {
    dialect: Dialect,
    fields: Object,
}

impl PartialEq for Inner {
    /// The order of extra fields means nothing.
    fn eq(&self, other: &Inner) -> bool {
        self.dialect == other.dialect && self.fields.same(&other.fields)
    }
}

impl Eq for Inner {}

impl Extra {
    /// Nothing extra.
    pub const NONE: Extra = Extra(None);

    /// What is left of an object after the known fields were taken.
    pub fn new(dialect: Dialect, fields: Object) -> Extra {
        if fields.is_empty() {
            Extra(None)
        } else {
            Extra(Some(Box::new(Inner { dialect, fields })))
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The dialect that the fields belong to.
    pub fn dialect(&self) -> Option<Dialect> {
        self.0.as_ref().map(|inner| inner.dialect)
    }

    /// The fields, whoever they belong to.
    pub fn fields(&self) -> Option<&Object> {
        self.0.as_ref().map(|inner| &inner.fields)
    }

    /// The fields, if they can be written in a dialect: its own, or one that shares its wire format.
    pub fn for_dialect(&self, dialect: Dialect) -> Option<&Object> {
        self.0
            .as_ref()
            .filter(|inner| inner.dialect.shares_wire(dialect))
            .map(|inner| &inner.fields)
    }

    /// One field, if it can be written in a dialect.
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

    /// Takes away fields, other than notes, that are not wanted.
    pub fn take_unless(&mut self, is_wanted: impl Fn(&str, &Json) -> bool) -> Object {
        let Some(inner) = &mut self.0 else { return Object::new() };
        let is_kept =
            |key: &str, value: &Json| is_note(key) || key == HERE || is_wanted(key, value);
        let fields = std::mem::take(&mut inner.fields).into_iter();
        let (kept, taken): (Vec<_>, Vec<_>) = fields.partition(|(key, value)| is_kept(key, value));
        *self = Extra::new(inner.dialect, kept.into_iter().collect());
        taken.into_iter().collect()
    }

    /// Takes over every field that a later value of the same thing gives.
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

    /// Puts the fields back into an object that is about to be written.
    pub fn write_into(&self, dialect: Dialect, object: &mut Object) {
        if let Some(fields) = self.for_dialect(dialect) {
            object.merge(fields);
        }
    }
}
