//! JSON Pointers (RFC 6901): built on the stack while decoding, written out only when needed.

use std::fmt;

use super::Json;

/// A place in a document, linked to the place around it.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The document itself.
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// A member of this place.
    #[must_use]
    pub fn key(&'p self, key: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// An item of this place.
    #[must_use]
    pub fn index(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Index(index) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) => write!(formatter, "/{}", escape(key)),
            Step::Index(index) => write!(formatter, "/{index}"),
        }
    }
}

/// One pointer segment, with `~` and `/` escaped.
pub fn escape(segment: &str) -> std::borrow::Cow<'_, str> {
    if segment.contains(['~', '/']) {
        segment.replace('~', "~0").replace('/', "~1").into()
    } else {
        segment.into()
    }
}

/// The value at a pointer.
pub(super) fn follow<'j>(value: &'j Json, pointer: &str) -> Option<&'j Json> {
    if pointer.is_empty() {
        return Some(value);
    }
    let mut here = value;
    for segment in pointer.strip_prefix('/')?.split('/') {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        here = match here {
            Json::Object(object) => object.get(&segment)?,
            Json::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}
