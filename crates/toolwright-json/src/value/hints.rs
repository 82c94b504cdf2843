//! What a caller knows of its documents: common keys, and members that are rarely read. Parsing costs less with it, and
//! its result is the same.

use super::Key;

/// What a caller knows of the documents that it parses.
///
/// ```
/// use toolwright_json::{Hints, Json, KnownKeys};
///
/// static HINTS: Hints = Hints {
///     keys: &KnownKeys::new("id content"),
///     long_texts: &["content"],
///     ..Hints::NONE
/// };
///
/// let text = r#"{"id":7,"content":"…"}"#;
/// assert_eq!(Json::parse_with(text, &HINTS), Json::parse(text));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    /// Common keys, which are not copied
    pub keys: &'static KnownKeys,
    /// The keys of objects whose direct members are read, but rarely those below. They are kept as text
    pub outlines: &'static [&'static str],
    /// The keys of objects that are rarely read. They are kept as text
    pub rarely_read: &'static [&'static str],
    /// The keys of long strings that are rarely read. They are kept with their escapes
    pub long_texts: &'static [&'static str],
    /// The keys of the root below which outlines are often those of an earlier document: see
    /// [`peek_and_parse`](crate::peek_and_parse)
    pub repeated: &'static [&'static str],
}

impl Hints {
    /// Nothing is known.
    pub const NONE: Hints =
        Hints { keys: &NO_KEYS, outlines: &[], rarely_read: &[], long_texts: &[], repeated: &[] };
}

static NO_KEYS: KnownKeys = KnownKeys::new("");

const SLOTS: usize = 1024;

/// A set of constant keys. A key that is not in it costs an allocation.
#[derive(Debug)]
pub struct KnownKeys {
    /// The keys by their hash; an empty slot ends a search
    table: [&'static str; SLOTS],
}

impl KnownKeys {
    /// Creates a set of keys, which are separated by single spaces.
    ///
    /// # Panics
    ///
    /// If there are more than 1,000.
    pub const fn new(words: &'static str) -> KnownKeys {
        let mut table = [""; SLOTS];
        let (mut rest, mut count) = (words, 0);
        while !rest.is_empty() {
            count += 1;
            assert!(count <= 1000, "a search must end at an empty slot");
            let mut length = 0;
            while length < rest.len() && rest.as_bytes()[length] != b' ' {
                length += 1;
            }
            let (word, after) = rest.split_at(length);
            let mut slot = slot(word.as_bytes());
            while !table[slot].is_empty() {
                slot = (slot + 1) % SLOTS;
            }
            table[slot] = word;
            rest = if after.is_empty() { after } else { after.split_at(1).1 };
        }
        KnownKeys { table }
    }

    /// Returns the key of a text, which is copied only if it is not in the set.
    pub fn key(&self, text: &str) -> Key {
        self.find(text).map_or_else(|| Key::Owned(text.to_owned()), Key::Borrowed)
    }

    /// Returns the constant that equals a text.
    #[inline]
    fn find(&self, text: &str) -> Option<&'static str> {
        let mut slot = slot(text.as_bytes());
        loop {
            match self.table[slot] {
                "" => return None,
                word if word == text => return Some(word),
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }
}

const fn slot(word: &[u8]) -> usize {
    let (Some(first), Some(last)) = (word.first(), word.last()) else { return 0 };
    let middle = word[word.len() / 2];
    let mix = word.len() + 5 * *first as usize + 37 * middle as usize + 211 * *last as usize;
    mix % SLOTS
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Hints, KnownKeys};

    /// Hints for documents of tests.
    pub(crate) static HINTS: Hints = Hints {
        keys: &KnownKeys::new("type properties content"),
        outlines: &["parameters"],
        rarely_read: &["input"],
        long_texts: &["content"],
        repeated: &["tools"],
    };

    #[test]
    fn keys_of_the_set_are_found_and_others_are_not() {
        for word in ["type", "properties", "content"] {
            assert_eq!(HINTS.keys.find(word), Some(word));
        }
        for other in ["", "city", "typ", "types", "Type", "天气"] {
            assert_eq!(HINTS.keys.find(other), None);
            assert_eq!(HINTS.keys.key(other), other);
        }
    }
}
