//! A look at a few members of a document, and a change of one: for a body that passes on as bytes.
//!
//! The document is read to its end, by the rules of [`Json::parse_bytes`](super::Json::parse_bytes),
//! but nothing is grown from it.

use std::borrow::Cow;
use std::ops::Range;

use super::parse::{self, JsonError};
use super::tree::{Checked, Tree};
use super::weigh::Members;

/// Reads a document whose root is an object, and gives the member of each key, where there is one.
/// Of repeated keys it is the last.
///
/// ```
/// use toolwright_core::json::peek;
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
) -> Result<[Option<Member<'b>>; N], JsonError> {
    look(bytes, keys, |_, Checked| {})
}

/// Does in one pass what [`peek`] and [`weigh`](super::weigh) do.
pub fn peek_and_weigh<'b, const N: usize>(
    bytes: &'b [u8],
    keys: &[&str; N],
) -> Result<([Option<Member<'b>>; N], usize), JsonError> {
    let mut root = Members::default();
    let found = look(bytes, keys, |key, value| root.push(key, value))?;
    Ok((found, root.weight()))
}

/// Looks for some members, and gives every member to `each`.
fn look<'b, T: Tree, const N: usize>(
    bytes: &'b [u8],
    keys: &[&str; N],
    mut each: impl FnMut(&str, T),
) -> Result<[Option<Member<'b>>; N], JsonError> {
    let document = parse::utf8(bytes)?;
    let mut found = [const { None }; N];
    parse::members(document, |key, span, value| {
        for (own, place) in keys.iter().zip(&mut found) {
            if *own == key {
                let repeated = place.is_some();
                *place = Some(Member { document, span: span.clone(), repeated });
            }
        }
        each(key, value);
    })?;
    Ok(found)
}

/// A member of a document that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'b> {
    document: &'b str,
    span: Range<usize>,
    repeated: bool,
}

impl<'b> Member<'b> {
    /// The bytes of the document where its value stands.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Whether its key stands in the document more than once, so that readers may disagree on it.
    pub fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// The value as it is written.
    pub fn text(&self) -> &'b str {
        &self.document[self.span()]
    }

    /// The text of a string, copied only if it has escapes.
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

    /// The document with other JSON in place of the value; `None` if the key is repeated, for then
    /// one change does not do.
    pub fn replaced(&self, json: &str) -> Option<Vec<u8>> {
        let (before, after) = (&self.document[..self.span.start], &self.document[self.span.end..]);
        (!self.repeated).then(|| [before, json, after].concat().into_bytes())
    }
}
