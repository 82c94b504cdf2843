//! Walks through a document and parses only the requested values.
//!
//! The document is validated to its end, by the rules of
//! [`Json::parse_bytes`](crate::value::Json::parse_bytes), but nothing is built for skipped values.

use std::borrow::Cow;

use crate::value::Json;
use crate::value::parse::{self, Reader, Result};

/// Walks through the members of a document whose root is an object.
///
/// ```
/// use toolwright_json::skim;
///
/// let mut names = Vec::new();
/// skim(br#"{"calls": [{"name": "add", "input": {"a": 1}}]}"#, |key, value| match key {
///     "calls" => value.items(|call| {
///         call.members(|key, value| {
///             names.extend(if key == "name" { value.text()? } else { None });
///             Ok(())
///         })
///     }),
///     _ => Ok(()),
/// })
/// .unwrap();
/// assert_eq!(names, ["add"]);
/// ```
pub fn skim<'t>(
    bytes: &'t [u8],
    each: impl FnMut(&str, &mut Value<'_, 't>) -> Result<()>,
) -> Result<()> {
    Reader::new(parse::utf8(bytes)?).document(|reader| {
        if reader.peek() != Some(b'{') {
            return Err(reader.error("expected an object"));
        }
        members(reader, 0, each)
    })
}

/// A value during the walk. It can be read once; otherwise it is skipped.
pub struct Value<'r, 't> {
    reader: &'r mut Reader<'t>,
    depth: usize,
    start: usize,
}

impl<'t> Value<'_, 't> {
    /// Returns the text of a string, copied only if it has escapes; `None` for another type.
    pub fn text(&mut self) -> Result<Option<Cow<'t, str>>> {
        if self.is_text() { self.reader.string().map(Some) } else { Ok(None) }
    }

    /// Returns the value as a tree.
    pub fn json(&mut self) -> Result<Json> {
        if self.is_read() { Ok(Json::Null) } else { self.reader.value(self.depth) }
    }

    /// Walks through the members of an object; does nothing for another type.
    pub fn members(
        &mut self,
        each: impl FnMut(&str, &mut Value<'_, 't>) -> Result<()>,
    ) -> Result<()> {
        if self.begins_with(b'{') { members(self.reader, self.depth, each) } else { Ok(()) }
    }

    /// Walks through the items of an array; does nothing for another type.
    pub fn items(&mut self, mut each: impl FnMut(&mut Value<'_, 't>) -> Result<()>) -> Result<()> {
        if !self.begins_with(b'[') {
            return Ok(());
        }
        self.reader.items(self.depth, |reader, depth| visit(reader, depth, &mut each))
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.begins_with(b'n')
    }

    /// Whether it is a string.
    pub fn is_text(&self) -> bool {
        self.begins_with(b'"')
    }

    fn is_read(&self) -> bool {
        self.reader.at > self.start
    }

    /// The first byte of a value determines its type.
    fn begins_with(&self, byte: u8) -> bool {
        !self.is_read() && self.reader.peek() == Some(byte)
    }
}

fn members<'t>(
    reader: &mut Reader<'t>,
    depth: usize,
    mut each: impl FnMut(&str, &mut Value<'_, 't>) -> Result<()>,
) -> Result<()> {
    reader.members(depth, |reader, key: Cow<'_, str>, depth| {
        visit(reader, depth, &mut |value: &mut Value<'_, 't>| each(&key, value))
    })
}

/// Visits a value, and skips it if it is not read.
fn visit<'t>(
    reader: &mut Reader<'t>,
    depth: usize,
    each: &mut impl FnMut(&mut Value<'_, 't>) -> Result<()>,
) -> Result<()> {
    let start = reader.at;
    each(&mut Value { reader, depth, start })?;
    if reader.at == start {
        reader.skip(depth)?;
    }
    Ok(())
}
