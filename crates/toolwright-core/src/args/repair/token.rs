//! The smallest pieces of a damaged document: quotes, gaps, words.

use crate::json::{Json, Number};

/// What opened a string, and so what may end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Quote {
    /// `"`, as it should be
    Double,
    /// `'`, of Python and JavaScript
    Single,
    /// `` ` ``, of JavaScript
    Backtick,
    /// Three of `"` or `'`, of Python
    Triple(char),
    /// A pair of other scripts, by what ends it
    Pair(char, char),
}

impl Quote {
    /// The quote that a text begins with, and its length.
    pub(super) fn open(text: &str) -> Option<(Quote, usize)> {
        let first = text.chars().next()?;
        let quote = match first {
            '"' => Quote::Double,
            '\'' => Quote::Single,
            // A fence is no string.
            '`' if !text.starts_with("``") => Quote::Backtick,
            '“' | '”' | '„' => Quote::Pair('”', '“'),
            '‘' | '’' => Quote::Pair('’', '‘'),
            '「' => Quote::Pair('」', '」'),
            '『' => Quote::Pair('』', '』'),
            '＂' => Quote::Pair('＂', '＂'),
            '＇' => Quote::Pair('＇', '＇'),
            _ => return None,
        };
        Some((quote, first.len_utf8()))
    }

    /// The three quotes that a text begins with.
    pub(super) fn open_triple(text: &str) -> Option<Quote> {
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        text.chars().take(3).eq([quote; 3]).then_some(Quote::Triple(quote))
    }

    /// The length of what ends the string, if a text begins with that.
    pub(super) fn close(self, text: &str) -> Option<usize> {
        let first = text.chars().next()?;
        let ends = match self {
            Quote::Double => first == '"',
            Quote::Single => first == '\'',
            Quote::Backtick => first == '`',
            Quote::Triple(quote) => {
                return text.chars().take(3).eq([quote; 3]).then_some(3);
            }
            Quote::Pair(one, other) => first == one || first == other,
        };
        ends.then(|| first.len_utf8())
    }

    /// Whether a character can be the start of what ends the string.
    pub(super) fn may_close(self, first: char) -> bool {
        match self {
            Quote::Double => first == '"',
            Quote::Single => first == '\'',
            Quote::Backtick => first == '`',
            Quote::Triple(quote) => first == quote,
            Quote::Pair(one, other) => first == one || first == other,
        }
    }
}

/// A comment at the start of a text: its length, and whether a line's end closed it. `None` if
/// there is none, or if it never ends: what follows it might belong to the document.
pub(super) fn comment(text: &str) -> Option<usize> {
    let length = if let Some(rest) = text.strip_prefix("/*") {
        rest.find("*/")? + 4
    } else if text.starts_with("//") || text.starts_with('#') {
        text.find('\n')?
    } else {
        return None;
    };
    // An odd quote was rather part of a string.
    text[..length].matches('"').count().is_multiple_of(2).then_some(length)
}

/// The length of the white space that a text starts with.
pub(super) fn space(text: &str) -> usize {
    let is_space = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    text.find(|letter| !is_space(letter)).unwrap_or(text.len())
}

/// Whether a key can stand without quotes.
pub(super) fn bare_key(text: &str) -> usize {
    let is_start = |letter: char| letter.is_alphabetic() || matches!(letter, '_' | '$');
    let is_part = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '_' | '$' | '-' | '.' | '@' | '/')
    };
    match text.chars().next() {
        Some(first) if first.is_ascii_digit() => {
            text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len())
        }
        Some(first) if is_start(first) => {
            text.find(|letter| !is_part(letter)).unwrap_or(text.len())
        }
        _ => 0,
    }
}

/// What a word without quotes says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A number or literal as JSON has it
    Plain(Json),
    /// Another language's number or literal
    Foreign(Json),
    /// Text that somebody forgot to quote
    Text,
    /// Nothing that can be said in JSON
    Nothing,
}

/// What a single word means; it must have no white space in it.
pub(super) fn word(text: &str) -> Word {
    match text {
        "true" => return Word::Plain(Json::Bool(true)),
        "false" => return Word::Plain(Json::Bool(false)),
        "null" => return Word::Plain(Json::Null),
        "True" | "TRUE" => return Word::Foreign(Json::Bool(true)),
        "False" | "FALSE" => return Word::Foreign(Json::Bool(false)),
        "None" | "NULL" | "Null" => return Word::Foreign(Json::Null),
        _ => {}
    }
    let unsigned = text.trim_start_matches(['+', '-']);
    if matches!(
        unsigned.to_ascii_lowercase().as_str(),
        "nan" | "inf" | "infinity" | "undefined" | "nil" | "none" | "void" | "nul" | "nulll"
    ) {
        return Word::Nothing;
    }
    if unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        if let Some(number) = Number::parse(text) {
            return Word::Plain(Json::Number(number));
        }
        if let Some(number) = foreign_number(text) {
            return Word::Foreign(Json::Number(number));
        }
    }
    if text.contains("...") || text.contains('…') { Word::Nothing } else { Word::Text }
}

/// `+1`, `.5`, `5.`, `1_000` and `0x1F`.
fn foreign_number(text: &str) -> Option<Number> {
    let (minus, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let is_hex = hex.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = u64::from_str_radix(hex, 16).ok().filter(|_| is_hex)?;
        return Number::parse(&format!("{minus}{value}"));
    }
    let bytes = digits.as_bytes();
    let joins = |at: usize| {
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1))
    };
    if (0..bytes.len()).any(|at| bytes[at] == b'_' && !joins(at)) {
        return None;
    }
    let mut plain = digits.replace('_', "");
    if plain.starts_with('.') {
        plain.insert(0, '0');
    }
    if plain.ends_with('.') {
        plain.push('0');
    }
    Number::parse(&format!("{minus}{plain}"))
}

/// Whether text without quotes is sure to be a string: words, names, dates, addresses of the web.
/// Whatever could be an expression, a placeholder, a comment or a piece of structure is not.
pub(super) fn is_sure_text(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    if !(first.is_alphanumeric() || matches!(first, '_' | '/' | '.' | '@' | '-' | '+')) {
        return false;
    }
    let mut letters = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((_, letter)) = letters.next() {
        let after = letters.peek().map_or(' ', |(_, after)| *after);
        let inside = !before.is_whitespace() && !after.is_whitespace();
        let fine = match letter {
            ' ' | '_' | '.' | '@' | '%' | '-' | '°' => true,
            '/' => !(before.is_whitespace() && after == '/'),
            ':' | '#' | '+' | '=' | '&' | '?' | '~' => inside,
            '\'' => before.is_alphabetic() && after.is_alphabetic(),
            letter => letter.is_alphanumeric(),
        };
        if !fine {
            return false;
        }
        before = letter;
    }
    !text.contains("...")
}

/// The length of a run without quotes: up to a line's end or whatever has a meaning in JSON.
pub(super) fn run(text: &str) -> usize {
    let stops = |letter: char| {
        matches!(
            letter,
            ',' | '}'
                | ']'
                | ')'
                | '{'
                | '['
                | '('
                | '"'
                | '\n'
                | '\r'
                | '`'
                | ';'
                | '，'
                | '、'
                | '｝'
                | '］'
                | '｛'
                | '［'
                | '“'
                | '”'
                | '<'
                | '>'
                | '\\'
        )
    };
    text.find(stops).unwrap_or(text.len())
}
