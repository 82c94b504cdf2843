//! The memory that a document would take as a tree, computed without building one: a few bytes of
//! text can become hundreds in memory.

use std::ops::Range;

use super::build::{Characters, ROOM, Tree};
use super::parse::{self, Result};
use super::{Json, Key, KnownKeys, Object};
use crate::scan;

/// Returns the number of bytes that a document takes as a [`Json`](super::Json), by the rules by
/// which [`Json::parse_bytes`](super::Json::parse_bytes) builds it.
///
/// ```
/// use toolwright_json::weigh;
///
/// assert!(weigh(br#"{"text": "a few words"}"#).unwrap() < 400);
/// let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
/// assert!(weigh(deep.as_bytes()).unwrap() > 50 * deep.len());
/// ```
pub fn weigh(bytes: &[u8]) -> Result<usize> {
    let Weight(below) = parse::read(parse::utf8(bytes)?)?;
    Ok(size_of::<Json>() + below)
}

/// Returns an upper bound of [`weigh`], for a fraction of its cost: it counts the bytes that can
/// begin a value, also those within strings. For typical documents it is two to four times the
/// weight.
pub fn weigh_at_most(bytes: &[u8]) -> usize {
    let (mut containers, mut values) = (0, 1);
    // Counts in bytes, which the compiler vectorizes, and which do not overflow within a chunk.
    for chunk in bytes.chunks(192) {
        let count = |is_counted: fn(u8) -> bool| {
            chunk.iter().fold(0, |count: u8, byte| count + u8::from(is_counted(*byte)))
        };
        let opened = usize::from(count(|byte| byte == b'[' || byte == b'{'));
        containers += opened;
        values += opened + usize::from(count(|byte| byte == b','));
    }
    // A value may have a key and be a string: both are rounded up to whole blocks. A list has at
    // least its initial capacity, and at most twice as many slots as values.
    let texts = bytes.len() + 2 * values * BLOCK;
    size_of::<Json>() + texts + (ROOM * containers + 2 * values) * size_of::<(Key, Json)>()
}

impl Json {
    /// Returns the number of bytes that it takes, as [`weigh`] counts them for its text.
    pub fn weight(&self) -> usize {
        size_of::<Json>() + below(self)
    }
}

impl Object {
    /// Returns the number of bytes that it takes, as [`weigh`] counts them for its text.
    pub fn weight(&self) -> usize {
        if let Some(text) = self.raw_text() {
            return parse::read(text).map_or(0, |Weight(below)| below);
        }
        let mut members = List::default();
        for (key, value) in self.iter() {
            let key = Length(key.len() + scan::count(key.as_bytes()));
            members.push(key.weight() + below(value));
        }
        members.weight(size_of::<(Key, Json)>()).0
    }
}

/// Returns the heap memory of a value.
fn below(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 0,
        Json::Number(number) => Weight::number(number.as_str()).0,
        Json::String(text) => Length(text.written_len()).weight(),
        Json::Array(values) => {
            let mut items = List::default();
            for value in values {
                items.push(below(value));
            }
            items.weight(size_of::<Json>()).0
        }
        Json::Object(object) => object.weight(),
    }
}

/// The heap memory of a value.
pub(crate) struct Weight(usize);

/// The number of slots in a list, and the memory below them.
#[derive(Default)]
pub(crate) struct List {
    len: usize,
    below: usize,
}

impl List {
    fn push(&mut self, below: usize) {
        self.len += 1;
        self.below += below;
    }

    /// Lists have an initial capacity and grow by doubling.
    fn weight(&self, place: usize) -> Weight {
        let room = if self.len == 0 { 0 } else { self.len.next_power_of_two().max(ROOM) };
        Weight(self.below + room * place)
    }
}

/// The length of a text in bytes; with its escapes, as it may be kept with them.
pub(crate) struct Length(usize);

impl Length {
    fn weight(&self) -> usize {
        self.0.next_multiple_of(BLOCK)
    }
}

/// The block size of the allocator.
const BLOCK: usize = 16;

impl Characters<'_> for Length {
    type Unescaped = Length;

    fn plain(_: &str, plain: Range<usize>) -> Length {
        Length(plain.len())
    }

    fn begin(_: &str, plain: Range<usize>, _: impl FnOnce() -> usize) -> Length {
        Length(plain.len())
    }

    fn push(text: &mut Length, escaped: char) {
        let is_escaped = u8::try_from(escaped).is_ok_and(scan::is_special);
        text.0 += escaped.len_utf8() + usize::from(is_escaped);
    }

    fn push_str(text: &mut Length, _: &str, plain: Range<usize>) {
        text.0 += plain.len();
    }

    fn end(text: Length) -> Length {
        text
    }
}

impl Tree for Weight {
    type Text<'t> = Length;
    type Items = List;
    type Members = List;

    fn null() -> Weight {
        Weight(0)
    }

    fn boolean(_: bool) -> Weight {
        Weight(0)
    }

    fn number(digits: &str) -> Weight {
        // A single digit is shared by all.
        Weight(if digits.len() == 1 { 0 } else { Length(digits.len()).weight() })
    }

    fn string(text: Length) -> Weight {
        Weight(text.weight())
    }

    fn items() -> List {
        List::default()
    }

    fn item(items: &mut List, Weight(below): Weight) {
        items.push(below);
    }

    fn array(items: List) -> Weight {
        items.weight(size_of::<Json>())
    }

    fn members() -> List {
        List::default()
    }

    fn member(members: &mut List, _: &KnownKeys, key: &Length, Weight(below): Weight) {
        members.push(key.weight() + below);
    }

    fn object(members: List) -> Weight {
        members.weight(size_of::<(Key, Json)>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::hints::tests::HINTS;

    #[test]
    fn a_tree_weighs_what_its_text_said() {
        for text in [
            "{}",
            r#"{"a":null,"b":true,"c":7,"d":12345678901234567890,"e":"\u00e9\n","\n\n":"\u0000\/"}"#,
            &format!(r#"{{"content":"{}"}}"#, r#"a line \\ \"\n"#.repeat(100)),
            r#"{"a":[[],[1,2,3,4,5],{"b":{"c":[{}]}}],"a":"twice, and longer than a block"}"#,
            r#"{"":[[0],[""],[[[["1"]]]],{"":""},{"a":{"b":{"c":[10,11]}}}],"":[0,1,2,3,4,5,6,7,8]}"#,
        ] {
            let Ok(Json::Object(object)) = Json::parse_with(text, &HINTS) else { panic!("{text}") };
            let weight = weigh(text.as_bytes()).unwrap();
            assert_eq!(size_of::<Json>() + object.weight(), weight);
            assert!(weight <= weigh_at_most(text.as_bytes()), "{text}");
        }
    }
}
