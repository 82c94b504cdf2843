//! Where a canonical value stood in the document it was read from.

use std::fmt;

use crate::json::Path;

/// A JSON Pointer into the source document, like a span in a compiler.
///
/// A [`Loss`](crate::loss::Loss) names its place by it. It is no part of a value: two values that
/// differ only in origin are equal.
#[derive(Debug, Clone, Default)]
pub struct Origin(Option<String>);

impl Origin {
    /// A value that was made, not read.
    pub const NONE: Origin = Origin(None);

    /// The place that a decoder is at.
    pub fn at(path: &Path<'_>) -> Origin {
        Origin(Some(path.pointer()))
    }

    /// Puts a pointer before this one, for a value that was read out of a larger document.
    pub fn prefix(&mut self, pointer: &str) {
        if let Some(own) = &mut self.0 {
            own.insert_str(0, pointer);
        }
    }

    /// The element of a list that holds the value: `/tools/0` for `/tools/0/function`.
    #[must_use]
    pub fn element(&self) -> Origin {
        let is_index = |step: &str| step.bytes().all(|byte| byte.is_ascii_digit());
        let Some(mut pointer) = self.pointer() else { return Origin::NONE };
        while let Some((rest, step)) = pointer.rsplit_once('/') {
            if is_index(step) {
                return Origin(Some(pointer.into()));
            }
            pointer = rest;
        }
        self.clone()
    }

    /// The outermost element of a list that holds the value: `/input/2` for `/input/2/content/0`.
    #[must_use]
    pub fn outermost(&self) -> Origin {
        let Some(pointer) = self.pointer() else { return Origin::NONE };
        let mut end = 0;
        for step in pointer.split('/').skip(1) {
            end += 1 + step.len();
            if step.bytes().all(|byte| byte.is_ascii_digit()) {
                return Origin(Some(pointer[..end].into()));
            }
        }
        self.clone()
    }

    /// The list that holds the value: `/messages/1/content` for `/messages/1/content/0`.
    #[must_use]
    pub fn list(&self) -> Origin {
        let element = self.element();
        match element.pointer().and_then(|pointer| pointer.rsplit_once('/')) {
            Some((list, _)) => Origin(Some(list.into())),
            None => element,
        }
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
