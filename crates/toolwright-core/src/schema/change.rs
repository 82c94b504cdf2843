//! What lowering did to a schema, by the pointers of the original.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::loss::Severity;

/// One keyword that does not reach the target as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The keyword's JSON Pointer in the original schema, be it one that had to be added there
    pub pointer: String,
    /// What happened to it
    pub what: Cow<'static, str>,
    /// Why it could not be kept
    pub why: Cow<'static, str>,
    /// How much it matters
    pub severity: Severity,
}

/// Collects changes: one for each pointer, the gravest.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) list: Vec<SchemaChange>,
    seen: HashMap<String, usize>,
    /// Where a part of the settled root stood in the original, by its new pointer
    moved: HashMap<String, String>,
}

impl Changes {
    /// Notes a change at a pointer of the settled schema.
    pub(super) fn push(
        &mut self,
        pointer: &str,
        what: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
        severity: Severity,
    ) {
        let pointer = self.original(pointer);
        let change =
            SchemaChange { pointer: pointer.clone(), what: what.into(), why: why.into(), severity };
        match self.seen.get(&pointer).and_then(|index| self.list.get_mut(*index)) {
            Some(known) if known.severity < severity => *known = change,
            Some(_) => {}
            None => {
                self.seen.insert(pointer, self.list.len());
                self.list.push(change);
            }
        }
    }

    /// Remembers that what now stands at one pointer came from another.
    pub(super) fn moved(&mut self, new: String, old: String) {
        self.moved.insert(new, old);
    }

    /// The place in the original of a pointer in the settled schema.
    fn original(&self, pointer: &str) -> String {
        let mut end = pointer.len();
        while !self.moved.is_empty() {
            if let Some(old) = self.moved.get(&pointer[..end]) {
                return format!("{old}{}", &pointer[end..]);
            }
            match pointer[..end].rfind('/') {
                Some(slash) => end = slash,
                None => break,
            }
        }
        pointer.to_owned()
    }
}
