//! Rules for names and ids: characters and lengths.

/// The characters of a name or an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Charset {
    /// Anything
    Any,
    /// `[A-Za-z0-9]`
    Alphanumeric,
    /// `[A-Za-z0-9_-]`
    Word,
    /// `[A-Za-z0-9_.-]`
    WordDot,
    /// `[A-Za-z0-9_.:-]`
    WordDotColon,
}

impl Charset {
    /// Whether every character of a text belongs to the set.
    #[inline]
    pub fn contains_all(self, text: &str) -> bool {
        // Only the set of all characters contains characters beyond ASCII.
        text.bytes().all(|byte| self.contains(char::from(byte)))
    }

    /// Whether a character belongs to the set.
    #[inline]
    pub fn contains(self, character: char) -> bool {
        match self {
            Charset::Any => true,
            Charset::Alphanumeric => character.is_ascii_alphanumeric(),
            Charset::Word => character.is_ascii_alphanumeric() || matches!(character, '_' | '-'),
            Charset::WordDot => {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
            }
            Charset::WordDotColon => {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | ':')
            }
        }
    }
}

/// Legal tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// Characters
    pub charset: Charset,
    /// Whether the first must be a letter or `_`
    pub letter_first: bool,
    /// Maximum number of characters
    pub max: usize,
}

impl NameRule {
    /// Any name.
    pub const ANY: NameRule =
        NameRule { charset: Charset::Any, letter_first: false, max: usize::MAX };

    /// The rule of OpenAI, which most vendors adopted.
    pub const USUAL: NameRule = NameRule { charset: Charset::Word, letter_first: false, max: 64 };
}

/// Legal call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRule {
    /// Characters
    pub charset: Charset,
    /// Minimum number of characters
    pub min: usize,
    /// Maximum number of characters
    pub max: usize,
    /// Whether every call must have an id
    pub required: bool,
    /// The prefix of generated ids (`call_`, `toolu_`)
    pub prefix: &'static str,
}

impl IdRule {
    /// Any text, or no id.
    pub const ANY: IdRule =
        IdRule { charset: Charset::Any, min: 1, max: usize::MAX, required: false, prefix: "call_" };
}
