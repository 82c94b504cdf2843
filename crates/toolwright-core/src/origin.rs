//! Where a canonical value stood in the document it was read from.

use std::fmt;

use crate::json::Path;

/// A JSON Pointer into the source document, like a span in a compiler.
///
/// A [`Loss`](crate::fit::Loss) names its place by it. It is no part of a value: two values that
/// differ only in origin are equal.
#[derive(Debug, Clone, Default)]
pub struct Origin(Option<Box<str>>);

impl Origin {
    /// A value that was made, not read.
    pub const NONE: Origin = Origin(None);

    /// The place that a decoder is at.
    pub fn at(path: &Path<'_>) -> Origin {
        Origin(Some(path.to_string().into_boxed_str()))
    }

    /// The pointer, if the value was read.
    pub fn pointer(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.pointer().unwrap_or_default())
    }
}
