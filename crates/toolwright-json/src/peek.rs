//! Reads a few members of a document and replaces one, for bodies that are passed on as bytes.
//!
//! The document is read to its end, by the rules of [`Json::parse_bytes`].

use std::borrow::Cow;
use std::ops::Range;

use crate::value::build::Tree;
use crate::value::parse::{self, Reader, Result};
use crate::value::schema_cache::SchemaCache;
use crate::value::{Hints, Json};

/// Parses a document whose root is an object, and returns the members with these keys. Of repeated
/// keys it is the last.
///
/// ```
/// use toolwright_json::peek;
///
/// let body = br#"{"model": "fast", "stream": true, "messages": []}"#;
/// let [model, stream] = peek(body, &["model", "stream"]).unwrap();
/// assert_eq!(model.as_ref().and_then(|own| own.as_str()).as_deref(), Some("fast"));
/// assert_eq!(stream.and_then(|own| own.as_bool()), Some(true));
/// let changed = model.and_then(|own| own.replaced("\"slow\"")).unwrap();
/// assert_eq!(changed, br#"{"model": "slow", "stream": true, "messages": []}"#);
/// ```
pub fn peek<'b, const N: usize>(
    bytes: &'b [u8],
    keys: &[&str; N],
) -> Result<[Option<Member<'b>>; N]> {
    look(bytes, keys, |reader, _, depth| reader.skip(depth))
}

/// Parses a document whose root is an object, and calls `each` for every member.
pub fn each_member<'b>(bytes: &'b [u8], mut each: impl FnMut(&str, Member<'b>)) -> Result<()> {
    let document = parse::utf8(bytes)?;
    parse::members(document, |reader, key, depth| {
        let start = reader.at;
        reader.skip(depth)?;
        each(&key, Member { document, span: start..reader.at, repeated: false });
        Ok(())
    })
}

/// Combines [`peek`] and [`Json::parse_bytes_with`] in one pass. [Outlines](Hints::outlines) that are in the cache are
/// not parsed again.
pub fn peek_and_parse<'b, const N: usize>(
    bytes: &'b [u8],
    keys: &[&str; N],
    hints: &'b Hints,
    schema_cache: &'b SchemaCache,
) -> Result<([Option<Member<'b>>; N], Json)> {
    let mut root = Json::members();
    let found = look(bytes, keys, |reader, key, depth| {
        reader.hints = hints;
        reader.schema_cache = hints.repeated.contains(&key).then_some(schema_cache);
        root.push(hints.keys.key(key), reader.value::<Json>(depth)?);
        Ok(())
    })?;
    Ok((found, Json::Object(root)))
}

/// Guesses the value of a root member that is a string, without parsing: the first string that
/// follows the key anywhere in the bytes. It may belong to a nested object, so only the cost of the
/// next step may depend on it.
///
/// ```
/// use toolwright_json::guess_string;
///
/// assert_eq!(guess_string(br#"{"n": 1, "model": "fast"}"#, "model"), Some("fast"));
/// assert_eq!(guess_string(br#"{"model": {"type": "string"}}"#, "model"), None);
/// ```
pub fn guess_string<'b>(bytes: &'b [u8], key: &str) -> Option<&'b str> {
    let key = format!("\"{key}\"");
    memchr::memmem::find_iter(bytes, &key).find_map(|at| {
        let value = bytes[at + key.len()..].trim_ascii_start().strip_prefix(b":")?;
        let text = value.trim_ascii_start().strip_prefix(b"\"")?;
        std::str::from_utf8(&text[..memchr::memchr(b'"', text)?]).ok()
    })
}

/// Looks for some members; `each` parses the value of every key.
fn look<'b, const N: usize>(
    bytes: &'b [u8],
    keys: &[&str; N],
    mut each: impl FnMut(&mut Reader<'b>, &str, usize) -> Result<()>,
) -> Result<[Option<Member<'b>>; N]> {
    let document = parse::utf8(bytes)?;
    let mut found = [const { None }; N];
    parse::members(document, |reader, key, depth| {
        let start = reader.at;
        each(reader, &key, depth)?;
        for (own, place) in keys.iter().zip(&mut found) {
            if *own == key {
                let repeated = place.is_some();
                *place = Some(Member { document, span: start..reader.at, repeated });
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// A member of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'b> {
    document: &'b str,
    span: Range<usize>,
    repeated: bool,
}

impl<'b> Member<'b> {
    /// Returns the byte range of its value.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Whether its key is repeated, so that parsers may disagree on it.
    pub fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// Returns the value as text.
    pub fn text(&self) -> &'b str {
        &self.document[self.span()]
    }

    /// Returns the text of a string, copied only if it has escapes.
    pub fn as_str(&self) -> Option<Cow<'b, str>> {
        parse::string(self.text())
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns the document with another value; `None` if the key is repeated.
    pub fn replaced(&self, json: &str) -> Option<Vec<u8>> {
        let (before, after) = (&self.document[..self.span.start], &self.document[self.span.end..]);
        (!self.repeated).then(|| [before, json, after].concat().into_bytes())
    }
}
