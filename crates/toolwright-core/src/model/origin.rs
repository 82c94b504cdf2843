//! The position of a canonical value in its source document.

use std::fmt;

use toolwright_json::Path;

/// A JSON Pointer into the source document, like a span in a compiler.
///
/// A [`Loss`](crate::loss::Loss) uses it for its path. It is not compared: values that differ only
/// in origin are equal.
#[must_use]
#[derive(Debug, Clone, Default)]
pub struct Origin(Option<String>);

impl Origin {
    /// The origin of a value that was not decoded.
    pub const NONE: Origin = Origin(None);

    /// Creates an origin from the current path of a decoder.
    pub fn at(path: &Path<'_>) -> Origin {
        Origin(Some(path.pointer()))
    }

    /// Prefixes the pointer, for a value nested in a larger document.
    pub fn prefix(&mut self, pointer: &str) {
        if let Some(own) = &mut self.0 {
            own.insert_str(0, pointer);
        }
    }

    /// Returns the list element that contains the value: `/tools/0` for `/tools/0/function`.
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

    /// Returns the outermost list element that contains the value: `/input/2` for
    /// `/input/2/content/0`.
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

    /// Returns the list that contains the value: `/messages/1/content` for `/messages/1/content/0`.
    pub fn list(&self) -> Origin {
        let element = self.element();
        match element.pointer().and_then(|pointer| pointer.rsplit_once('/')) {
            Some((list, _)) => Origin(Some(list.into())),
            None => element,
        }
    }

    /// Returns the pointer, if the value was decoded.
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
