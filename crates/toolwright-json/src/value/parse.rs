//! Parses text to [`Json`]: strict RFC 8259, bounded in depth, linear in time.

mod skip;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::build::{Characters, Tree};
use super::object::Object;
use super::raw::{MIN_RAW, Raw};
use super::schema_cache::SchemaCache;
use super::string::{MIN_ESCAPED, Text};
use super::{Hints, Json, KnownKeys};
use crate::scan;

/// Maximum depth of nested arrays and objects in a document, unless its reader says otherwise.
pub const MAX_DEPTH: usize = 128;

/// Why a text is not a JSON document, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct JsonError {
    offset: usize,
    reason: &'static str,
}

pub(crate) type Result<T, E = JsonError> = std::result::Result<T, E>;

impl JsonError {
    /// Whether the text ended before the document.
    pub fn is_truncated(&self) -> bool {
        self.reason == TRUNCATED
    }
}

/// The values of single-byte escapes; zero for other bytes.
static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let pairs = *b"\"\"\\\\//b\x08f\x0cn\nr\rt\t";
    let mut at = 0;
    while at < pairs.len() {
        table[pairs[at] as usize] = pairs[at + 1];
        at += 2;
    }
    table
};

const TRUNCATED: &str = "unexpected end";
const VALUE: &str = "expected a value";
const ITEM_END: &str = "expected ',' or ']'";
const MEMBER_END: &str = "expected ',' or '}'";

/// Converts bytes to text.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    let reason = "not UTF-8";
    std::str::from_utf8(bytes).map_err(|error| JsonError { offset: error.valid_up_to(), reason })
}

/// Parses a document, followed only by white space.
pub(crate) fn document(text: &str, hints: &Hints) -> Result<Json> {
    Reader::with(text, hints).document(|reader| reader.value(0))
}

/// Parses the members of an object that was kept as text, without keeping anything within as text.
pub(crate) fn raw_members(text: &str, keys: &'static KnownKeys) -> Result<Json> {
    document(text, &Hints { keys, ..Hints::NONE })
}

/// Parses a document that may be nested deeper than others. Nothing of it is kept as text, which is parsed again with
/// the usual limit.
pub(crate) fn deep_document(text: &str, max_depth: usize) -> Result<Json> {
    let mut reader = Reader { max_depth, ..Reader::new(text) };
    reader.document(|reader| reader.value(0))
}

/// Checks that a text is a document, without building a tree. Returns whether the text is known to
/// be compact.
pub(crate) fn check(text: &str) -> Result<bool> {
    let mut reader = Reader::new(text);
    reader.document(|reader| reader.skip(0))?;
    Ok(reader.compact)
}

/// Parses a document into any tree type.
pub(crate) fn read<T: Tree>(text: &str) -> Result<T> {
    Reader::new(text).document(|reader| reader.value(0))
}

/// Returns the text of a document that is a string without surrounding space.
pub(crate) fn string(text: &str) -> Option<Cow<'_, str>> {
    if text.starts_with('"') { Reader::new(text).string().ok() } else { None }
}

/// Parses a document that is an object; `each` parses the value of every key.
pub(crate) fn members<'t>(
    text: &'t str,
    each: impl FnMut(&mut Reader<'t>, Cow<'t, str>, usize) -> Result<()>,
) -> Result<()> {
    Reader::new(text).document(|reader| {
        if reader.peek() != Some(b'{') {
            return Err(reader.error("expected an object"));
        }
        reader.members(0, each)
    })
}

/// The state of a parser.
pub(crate) struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pub(crate) at: usize,
    /// Whether the text so far is compact: no white space, no unnecessary escapes
    compact: bool,
    /// What is known of the document
    pub(crate) hints: &'t Hints,
    /// Schemas that need not be parsed again
    pub(crate) schema_cache: Option<&'t SchemaCache>,
    max_depth: usize,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Reader<'t> {
        Reader::with(text, &Hints::NONE)
    }

    pub(crate) fn with(text: &'t str, hints: &'t Hints) -> Reader<'t> {
        Reader {
            text,
            bytes: text.as_bytes(),
            at: 0,
            compact: true,
            hints,
            schema_cache: None,
            max_depth: MAX_DEPTH,
        }
    }

    /// Parses one value, with only white space around it.
    pub(crate) fn document<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.space();
        let value = read(self)?;
        self.space();
        if self.at < self.bytes.len() {
            Err(self.error("text after the document"))
        } else {
            Ok(value)
        }
    }

    pub(crate) fn error(&self, reason: &'static str) -> JsonError {
        let reason = if self.at >= self.bytes.len() { TRUNCATED } else { reason };
        JsonError { offset: self.at, reason }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.skip_space();
        }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.compact = false;
            self.at += 1;
        }
    }

    pub(crate) fn value<T: Tree>(&mut self, depth: usize) -> Result<T> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(T::string(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(T::number(self.number()?)),
            Some(b't') => self.word("true").map(|()| T::boolean(true)),
            Some(b'f') => self.word("false").map(|()| T::boolean(false)),
            Some(b'n') => self.word("null").map(|()| T::null()),
            _ => Err(self.error(VALUE)),
        }
    }

    fn word(&mut self, word: &'static str) -> Result<()> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.error(VALUE));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn deeper(&self, depth: usize) -> Result<usize> {
        if depth == self.max_depth { Err(self.error("nested too deep")) } else { Ok(depth + 1) }
    }

    fn array<T: Tree>(&mut self, depth: usize) -> Result<T> {
        let mut items = None;
        self.items(depth, |reader, depth| {
            T::item(items.get_or_insert_with(T::items), reader.value(depth)?);
            Ok(())
        })?;
        Ok(T::array(items.unwrap_or_default()))
    }

    /// Parses an array; `each` parses every item.
    #[inline]
    pub(crate) fn items(
        &mut self,
        depth: usize,
        mut each: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let depth = self.deeper(depth)?;
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            each(self, depth)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error(ITEM_END)),
            }
        }
    }

    fn object<T: Tree>(&mut self, depth: usize) -> Result<T> {
        let mut members = None;
        self.members(depth, |reader, key: T::Text<'t>, depth| {
            let value = match reader.peek() {
                Some(b'{') => T::object_of(reader, &key, depth)?,
                Some(b'"') => T::string_of(reader, &key)?,
                _ => reader.value(depth)?,
            };
            T::member(members.get_or_insert_with(T::members), reader.hints.keys, &key, value);
            Ok(())
        })?;
        Ok(T::object(members.unwrap_or_default()))
    }

    /// Parses an object, and keeps it as text if it is compact.
    pub(crate) fn raw(&mut self, depth: usize) -> Result<Json> {
        let (start, compact) = (self.at, std::mem::replace(&mut self.compact, true));
        self.skip(depth)?;
        let text = &self.text[start..self.at];
        if self.compact && text.len() >= MIN_RAW {
            self.compact = compact;
            return Ok(Json::Object(Object::from_raw(Raw::new(text, self.hints.keys))));
        }
        self.compact &= compact;
        self.at = start;
        self.value(depth)
    }

    /// Parses the members of an object, and keeps it and its direct child objects as text if they
    /// are compact.
    pub(crate) fn raw_and_members(&mut self, depth: usize) -> Result<Json> {
        let start = self.at;
        if let Some(schema) =
            self.schema_cache.and_then(|cache| cache.find(self.text, start, depth))
        {
            self.at += schema.text().map_or(0, str::len);
            return Ok(Json::Object(Object::from_raw(schema)));
        }
        let compact = std::mem::replace(&mut self.compact, true);
        let mut object = Object::new();
        self.members(depth, |reader, key: Cow<'t, str>, depth| {
            let value = match reader.peek() {
                Some(b'{') => reader.raw(depth)?,
                _ => reader.value(depth)?,
            };
            object.push(reader.hints.keys.key(&key), value);
            Ok(())
        })?;
        let text = &self.text[start..self.at];
        if self.compact && text.len() >= MIN_RAW {
            let schema = Arc::new(Raw::new(text, self.hints.keys).with_members(object));
            if let Some(cache) = self.schema_cache {
                cache.keep(self.text, start, depth, &schema);
            }
            object = Object::from_raw(schema);
        }
        self.compact &= compact;
        Ok(Json::Object(object))
    }

    /// Parses an object; `each` parses the value of every key.
    #[inline]
    pub(crate) fn members<K: Characters<'t>>(
        &mut self,
        depth: usize,
        mut each: impl FnMut(&mut Self, K, usize) -> Result<()>,
    ) -> Result<()> {
        let depth = self.deeper(depth)?;
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            let key = self.key()?;
            each(self, key, depth)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error(MEMBER_END)),
            }
        }
    }

    /// Parses a key and the colon after it.
    #[inline]
    fn key<K: Characters<'t>>(&mut self) -> Result<K> {
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a key"));
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.error("expected ':'"));
        }
        self.at += 1;
        self.space();
        Ok(key)
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<&'t str> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Parses a string.
    #[inline]
    pub(crate) fn string<S: Characters<'t>>(&mut self) -> Result<S> {
        let plain = self.plain(self.at + 1);
        if self.peek() == Some(b'"') {
            self.at += 1;
            Ok(S::plain(self.text, plain))
        } else {
            self.string_with_escapes(plain)
        }
    }

    /// Parses a string, and keeps its form if it is long, has escapes and is compact.
    pub(crate) fn text(&mut self) -> Result<Text> {
        let (start, compact) = (self.at, std::mem::replace(&mut self.compact, true));
        let plain = self.plain(start + 1);
        if self.peek() == Some(b'"') {
            (self.at, self.compact) = (self.at + 1, compact);
            return Ok(self.text[plain].into());
        }
        while self.compact && self.peek() == Some(b'\\') {
            self.at += 1;
            self.escape()?;
            self.plain(self.at);
        }
        if self.compact && self.peek() == Some(b'"') && self.at - start > MIN_ESCAPED {
            (self.at, self.compact) = (self.at + 1, compact);
            return Ok(Text::escaped(&self.text[start..self.at]));
        }
        (self.at, self.compact) = (start, compact);
        self.string::<Cow<'t, str>>().map(Text::from)
    }

    /// Skips bytes without special meaning, and returns their range.
    #[inline]
    fn plain(&mut self, start: usize) -> Range<usize> {
        self.at = scan::special_from(self.bytes, start);
        start..self.at
    }

    /// Parses the remainder of a string from its first escape.
    fn string_with_escapes<S: Characters<'t>>(&mut self, plain: Range<usize>) -> Result<S> {
        let mut text = S::begin(self.text, plain, || self.rest_of_string());
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(S::end(text));
                }
                Some(b'\\') => {
                    self.at += 1;
                    S::push(&mut text, self.escape()?);
                }
                _ => return Err(self.error("control character in a string")),
            }
            let plain = self.plain(self.at);
            S::push_str(&mut text, self.text, plain);
        }
    }

    /// Estimates the remaining length of a string: up to a quote without a preceding backslash.
    fn rest_of_string(&self) -> usize {
        let rest = &self.bytes[self.at..];
        let ends = |at: &usize| *at > 0 && rest[at - 1] != b'\\';
        memchr::memchr_iter(b'"', rest).find(ends).unwrap_or_default()
    }

    #[inline]
    fn escape(&mut self) -> Result<char> {
        let Some(byte) = self.peek() else { return Err(self.error(TRUNCATED)) };
        let escaped = ESCAPED[usize::from(byte)];
        if escaped == 0 && byte != b'u' {
            return Err(self.error("unknown escape"));
        }
        self.at += 1;
        if escaped == 0 || escaped == b'/' {
            self.compact = false;
        }
        if escaped == 0 { self.unicode() } else { Ok(char::from(escaped)) }
    }

    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.error("not a character"));
        }
        // A lone surrogate has no UTF-8 form and becomes the replacement character.
        if first >= 0xdc00 || !self.bytes[self.at..].starts_with(b"\\u") {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let before = self.at;
        self.at += 2;
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            self.at = before;
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| self.error("not a character"))
    }

    fn hex(&mut self) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.error("expected a hexadecimal digit"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}
