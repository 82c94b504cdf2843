//! JSON Pointers (RFC 6901): escaping, lookup, and [`Path`], which is built on the stack while
//! decoding and formatted only when needed.

use std::borrow::Cow;
use std::fmt;

use super::Json;

/// Capacity for most pointers.
const TYPICAL_LENGTH: usize = 32;

/// A path in a document, linked to its parent.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    /// A place whose pointer is known
    At(&'p str),
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The root of the document.
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// Returns the path of a place whose pointer is known.
    pub fn at(pointer: &'p str) -> Path<'p> {
        Path { parent: None, step: Step::At(pointer) }
    }

    /// Returns the path of a member.
    #[must_use]
    pub fn key(&'p self, key: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// Returns the path of an item.
    #[must_use]
    pub fn index(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Index(index) }
    }
}

impl Path<'_> {
    /// Returns the pointer. Decoders create one for every part, so this avoids the formatter.
    pub fn pointer(&self) -> String {
        let mut out = String::with_capacity(TYPICAL_LENGTH);
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_to(out);
        }
        match self.step {
            Step::Root => {}
            Step::At(pointer) => out.push_str(pointer),
            Step::Key(key) => {
                out.push('/');
                out.push_str(&escape(key));
            }
            Step::Index(index) => {
                out.push('/');
                push_digits(index, out);
            }
        }
    }
}

fn push_digits(number: usize, out: &mut String) {
    if number >= 10 {
        push_digits(number / 10, out);
    }
    out.push(char::from(b"0123456789"[number % 10]));
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.pointer())
    }
}

/// Escapes one segment of a pointer: `~` becomes `~0`, `/` becomes `~1`.
pub fn escape(segment: &str) -> Cow<'_, str> {
    if segment.bytes().any(|byte| byte == b'~' || byte == b'/') {
        segment.replace('~', "~0").replace('/', "~1").into()
    } else {
        segment.into()
    }
}

/// Reverses [`escape`].
pub fn unescape(segment: &str) -> Cow<'_, str> {
    if segment.contains('~') {
        segment.replace("~1", "/").replace("~0", "~").into()
    } else {
        segment.into()
    }
}

/// Returns the unescaped keys and indexes of a pointer.
pub fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// Returns the pointer to the enclosing value, and the last key or index, unescaped.
pub fn split_last(pointer: &str) -> Option<(&str, Cow<'_, str>)> {
    let (parent, last) = pointer.rsplit_once('/')?;
    Some((parent, unescape(last)))
}

/// Looks up the value at a pointer.
pub(crate) fn find<'j>(value: &'j Json, pointer: &str) -> Option<&'j Json> {
    is_absolute(pointer).then_some(())?;
    segments(pointer).try_fold(value, |here, segment| match here {
        Json::Object(object) => object.get(&segment),
        Json::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Looks up the value at a pointer for modification.
pub(crate) fn find_mut<'j>(value: &'j mut Json, pointer: &str) -> Option<&'j mut Json> {
    is_absolute(pointer).then_some(())?;
    segments(pointer).try_fold(value, |here, segment| match here {
        Json::Object(object) => object.get_mut(&segment),
        Json::Array(items) => items.get_mut(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

fn is_absolute(pointer: &str) -> bool {
    pointer.is_empty() || pointer.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"a/b":[{"~c":1},2],"":{"":3},"~1":4}"#;

    #[test]
    fn every_path_leads_to_its_value_and_back() {
        let mut document = Json::parse(DOCUMENT).unwrap();
        let list = Path::ROOT.key("a/b");
        for (path, number) in [
            (list.index(0).key("~c"), 1_u64),
            (list.index(1), 2),
            (Path::ROOT.key("").key(""), 3),
            (Path::ROOT.key("~1"), 4),
        ] {
            let pointer = path.pointer();
            assert_eq!(document.pointer(&pointer), Some(&Json::from(number)), "{pointer}");
            assert_eq!(document.pointer_mut(&pointer), Some(&mut Json::from(number)), "{pointer}");
        }
        assert_eq!(document.pointer("").map(Json::compact).as_deref(), Some(DOCUMENT));
    }

    #[test]
    fn pointers_to_nothing_find_nothing() {
        let mut document = Json::parse(DOCUMENT).unwrap();
        for pointer in ["a~1b", "/a", "/a~1b/2", "/a~1b/x", "/~01/x", "/a~1b/-1"] {
            assert_eq!(document.pointer(pointer), None, "{pointer}");
            assert_eq!(document.pointer_mut(pointer), None, "{pointer}");
        }
    }

    #[test]
    fn segments_are_unescaped() {
        assert_eq!(segments("/a~1b/~01/").collect::<Vec<_>>(), ["a/b", "~1", ""]);
        assert_eq!(segments("").count(), 0);
        assert_eq!(split_last("/x/a~1b"), Some(("/x", "a/b".into())));
        assert_eq!(split_last(""), None);
    }
}
