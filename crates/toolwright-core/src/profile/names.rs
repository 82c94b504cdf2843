//! Rules for names and ids: which characters, and how many.

/// Characters that a name or an id may consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub fn contains_all(self, text: &str) -> bool {
        // No set but that of all characters has one beyond ASCII.
        text.bytes().all(|byte| self.contains(char::from(byte)))
    }

    /// Whether a character belongs to the set.
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
    /// The most characters
    pub max: usize,
}

impl NameRule {
    /// Any name.
    pub const ANY: NameRule =
        NameRule { charset: Charset::Any, letter_first: false, max: usize::MAX };

    /// What most vendors took over from OpenAI.
    pub const USUAL: NameRule = NameRule { charset: Charset::Word, letter_first: false, max: 64 };
}

/// Legal call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRule {
    /// Characters
    pub charset: Charset,
    /// The fewest characters
    pub min: usize,
    /// The most characters
    pub max: usize,
    /// Whether every call must have one
    pub required: bool,
    /// What a made-up id begins with (`call_`, `toolu_`)
    pub prefix: &'static str,
}

impl IdRule {
    /// Any text, and none is fine as well.
    pub const ANY: IdRule =
        IdRule { charset: Charset::Any, min: 1, max: usize::MAX, required: false, prefix: "call_" };
}
