//! Changes of a lowered schema, by the pointers of the original.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::loss::Severity;

/// A keyword that does not reach the target unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaChange {
    /// The keyword's JSON Pointer in the original schema, also of a keyword that was added
    pub pointer: String,
    /// What happened to it
    pub what: Cow<'static, str>,
    /// Why it could not be kept
    pub why: Cow<'static, str>,
    /// Its severity
    pub severity: Severity,
}

/// Collects changes: one for each pointer, the most severe.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) list: Vec<SchemaChange>,
    seen: HashMap<String, usize>,
    /// The original pointer of moved parts of the normalized root, by the new pointer
    moved: HashMap<String, String>,
}

impl Changes {
    /// Records a change at a pointer of the normalized schema.
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

    /// Records that a value was moved.
    pub(super) fn moved(&mut self, new: String, old: String) {
        self.moved.insert(new, old);
    }

    /// Returns the original pointer of a pointer in the normalized schema.
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
