//! Tokens of a damaged document: quotes, gaps, words.

use toolwright_json::{Json, Number};

/// The opening quote of a string, which determines the closing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Quote {
    /// `"`, the valid one
    Double,
    /// `'`, as in Python and JavaScript
    Single,
    /// `` ` ``, as in JavaScript
    Backtick,
    /// Three of `"` or `'`, as in Python
    Triple(char),
    /// A pair of another script: the opening and the closing one
    Pair(char, char),
}

impl Quote {
    /// Returns the quote at the beginning of a text, and its length.
    pub(super) fn open(text: &str) -> Option<(Quote, usize)> {
        let first = text.chars().next()?;
        let quote = match first {
            '"' => Quote::Double,
            '\'' => Quote::Single,
            // A fence is not a string.
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

    /// Returns the triple quote at the beginning of a text.
    pub(super) fn open_triple(text: &str) -> Option<Quote> {
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        text.chars().take(3).eq([quote; 3]).then_some(Quote::Triple(quote))
    }

    /// Returns the length of the closing quote, if a text begins with it.
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

    /// Whether a character can begin the closing quote.
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

/// Returns the length of a comment at the beginning of a text; `None` if there is none, or if it is
/// not closed: the text after it might belong to the document.
pub(super) fn comment(text: &str) -> Option<usize> {
    let length = if let Some(rest) = text.strip_prefix("/*") {
        rest.find("*/")? + 4
    } else if text.starts_with("//") || text.starts_with('#') {
        text.find('\n')?
    } else {
        return None;
    };
    // An odd number of quotes suggests a part of a string.
    text[..length].matches('"').count().is_multiple_of(2).then_some(length)
}

/// Returns the length of the leading white space.
pub(super) fn space(text: &str) -> usize {
    let is_space = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    text.find(|letter| !is_space(letter)).unwrap_or(text.len())
}

/// Returns the length of a key without quotes.
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

/// The meaning of a word without quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A number or literal of JSON
    Plain(Json),
    /// A number or literal of another language
    Foreign(Json),
    /// Text without quotes
    Text,
    /// A value that JSON cannot express
    Nothing,
}

/// Classifies a word without white space.
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

/// Parses `+1`, `.5`, `5.`, `1_000` and `0x1F`.
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

/// Whether text without quotes is certainly a string: words, names, dates, URLs. Text that could be
/// an expression, a placeholder, a comment or a piece of structure is not.
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

/// Returns the length of text without quotes: up to a newline or a structural character.
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
