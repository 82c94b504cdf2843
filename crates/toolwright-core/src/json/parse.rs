//! Text to [`Json`]: RFC 8259 to the letter, bounded in depth, linear in time.

use std::borrow::Cow;

use super::{Json, Key, Number, Object, scan};

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 128;

/// Room that an array or object starts with.
const ROOM: usize = 4;

/// Why a text is not a JSON document, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct JsonError {
    offset: usize,
    reason: &'static str,
}

impl JsonError {
    pub(super) fn not_utf8(offset: usize) -> JsonError {
        JsonError { offset, reason: "not UTF-8" }
    }

    /// The byte at which reading stopped.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the text ended before the document did.
    pub fn is_truncated(&self) -> bool {
        self.reason == TRUNCATED
    }
}

const TRUNCATED: &str = "unexpected end";

/// Reads a whole document, with nothing but white space after it.
pub(super) fn document(text: &str) -> Result<Json, JsonError> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < reader.bytes.len() {
        Err(reader.error("text after the document"))
    } else {
        Ok(value)
    }
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn error(&self, reason: &'static str) -> JsonError {
        let reason = if self.at >= self.bytes.len() { TRUNCATED } else { reason };
        JsonError { offset: self.at, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?.into_owned())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.error("expected a value")),
        }
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, JsonError> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.error("expected a value"));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn deeper(&self, depth: usize) -> Result<usize, JsonError> {
        if depth == MAX_DEPTH { Err(self.error("nested too deep")) } else { Ok(depth + 1) }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        let depth = self.deeper(depth)?;
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(Vec::new()));
        }
        let mut items = Vec::with_capacity(ROOM);
        loop {
            self.space();
            items.push(self.value(depth)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return Err(self.error("expected ',' or ']'")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        let depth = self.deeper(depth)?;
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Object::new()));
        }
        let mut object = Object::with_capacity(ROOM);
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key"));
            }
            let key = self.key()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected ':'"));
            }
            self.at += 1;
            self.space();
            object.push(key, self.value(depth)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(object));
                }
                _ => return Err(self.error("expected ',' or '}'")),
            }
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
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
        Ok(Json::Number(Number::from_digits(&self.text[start..self.at])))
    }

    /// Moves over bytes that need no attention and returns them.
    fn plain(&mut self) -> &'t str {
        let start = self.at;
        self.at += scan::plain(&self.bytes[start..]);
        &self.text[start..self.at]
    }

    fn key(&mut self) -> Result<Key, JsonError> {
        Ok(super::key(&self.string()?))
    }

    fn string(&mut self) -> Result<Cow<'t, str>, JsonError> {
        self.at += 1;
        let plain = self.plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.error("control character in a string")),
            }
            out.push_str(self.plain());
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(byte) = self.peek() else { return Err(self.error(TRUNCATED)) };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => {
                self.at -= 1;
                return Err(self.error("unknown escape"));
            }
        })
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.error("not a character"));
        }
        // A lone surrogate has no UTF-8 form; the replacement character stands for it.
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

    fn hex(&mut self) -> Result<u32, JsonError> {
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
