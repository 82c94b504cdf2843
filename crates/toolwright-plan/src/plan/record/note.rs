//! What a recorded plan does not repeat, for the person who reads it.

use std::fmt;

use toolwright_json::Object;
use toolwright_json::object;

toolwright_json::words! {
    /// The kinds of notes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum RecordNoteKind: as_str {
        /// Several results have the value of an argument
        Ambiguous = "ambiguous",
        /// The value of an argument is a part of a text in a result
        PartOfText = "part_of_text",
        /// The only result that has the value cannot feed the parameter
        Refused = "refused",
        /// No call returned the data behind a handle
        UnknownHandle = "unknown_handle",
        /// A call is not in the plan
        LeftOut = "left_out",
        /// The results are too large to find all parts of their texts, or the prompt is too large to look for all
        /// values in it
        NotSearched = "not_searched",
    }
}

/// A difference between a recorded plan and the calls that it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordNote {
    /// The kind
    pub kind: RecordNoteKind,
    /// JSON Pointer into the plan; empty for a call that is not in it, and for a note about the whole
    pub path: String,
    /// What the plan has, and why
    pub message: String,
    /// References that could be in the place, as in `$from`
    pub candidates: Vec<String>,
}

impl RecordNote {
    pub(super) fn new(kind: RecordNoteKind, path: String, message: String) -> RecordNote {
        RecordNote { kind, path, message, candidates: Vec::new() }
    }

    /// Returns the JSON form: `{kind, path, message, candidates}`.
    pub fn to_json(&self) -> Object {
        let candidates: Vec<&str> = self.candidates.iter().map(String::as_str).collect();
        object! {
            "kind": self.kind.as_str(),
            "path": self.path.as_str(),
            "message": self.message.as_str(),
            "candidates": candidates,
        }
    }
}

impl fmt::Display for RecordNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)?;
        if self.kind == RecordNoteKind::Ambiguous {
            write!(formatter, ": {}", self.candidates.join(", "))?;
        }
        Ok(())
    }
}
