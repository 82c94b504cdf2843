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

impl Path<'_> {
    /// The pointer. Decoders note one for every part, so this goes around the formatter.
    pub fn pointer(&self) -> String {
        self.grow(0)
    }

    /// The pointer to here, with room for more after it.
    fn grow(&self, room: usize) -> String {
        let Some(parent) = self.parent else { return String::with_capacity(room) };
        match self.step {
            Step::Root => parent.grow(room),
            Step::Key(key) => {
                let key = escape(key);
                let mut out = parent.grow(room + 1 + key.len());
                out.push('/');
                out.push_str(&key);
                out
            }
            Step::Index(index) => {
                let digits = index.checked_ilog10().unwrap_or(0);
                let mut out = parent.grow(room + 2 + digits as usize);
                out.push('/');
                for place in (0..=digits).rev() {
                    out.push(char::from(b"0123456789"[index / 10_usize.pow(place) % 10]));
                }
                out
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.pointer())
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
        here = match here {
            Json::Object(object) if segment.contains('~') => {
                object.get(&segment.replace("~1", "/").replace("~0", "~"))?
            }
            Json::Object(object) => object.get(segment)?,
            Json::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}
