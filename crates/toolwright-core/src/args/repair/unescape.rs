//! Decodes a string whose escapes may be invalid.

use toolwright_json::Json;

use super::token::Quote;

/// How backslashes in a string with invalid escapes are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Only the invalid ones are literal
    Minimal,
    /// All are literal: a path, a pattern, a formula
    Plain,
    /// Underscores were escaped for Markdown
    Markdown,
}

impl Manner {
    pub(super) const ALL: [Manner; 3] = [Manner::Minimal, Manner::Plain, Manner::Markdown];
}

/// A decoded string.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unescaped {
    pub(super) text: String,
    /// Whether it had invalid escapes
    pub(super) repaired: bool,
}

/// Decodes the content of a string; `None` if it cannot be decoded.
pub(super) fn unescape(raw: &str, quote: Quote, manner: Manner) -> Option<Unescaped> {
    if !raw.contains('\\') {
        return Some(Unescaped { text: raw.to_owned(), repaired: false });
    }
    if is_path(raw) {
        return Some(Unescaped { text: raw.to_owned(), repaired: true });
    }
    let repaired = escapes(raw).any(|(_, rest)| !is_escape(rest, quote));
    let mut text = String::with_capacity(raw.len());
    let mut done = 0;
    for (at, rest) in escapes(raw) {
        if at < done {
            continue;
        }
        text.push_str(&raw[done..at]);
        let (value, length) = escape(rest, quote, repaired.then_some(manner))?;
        match value {
            Some(letter) => text.push(letter),
            None => text.push_str(&raw[at..at + 1 + length]),
        }
        done = at + 1 + length;
    }
    text.push_str(&raw[done..]);
    Some(Unescaped { text, repaired })
}

/// Whether a string is a Windows path with unescaped backslashes: `C:
/// ew` or `\\host\share`, without doubled backslashes after that.
fn is_path(raw: &str) -> bool {
    let mut letters = raw.chars();
    let is_drive = letters.next().is_some_and(|drive| drive.is_ascii_alphabetic())
        && letters.next() == Some(':');
    let rest = if is_drive { raw.get(2..) } else { raw.strip_prefix('\\') };
    let Some(rest) = rest.filter(|rest| rest.starts_with('\\')) else { return false };
    let is_name = |name: &str| name.starts_with(|first: char| first.is_alphanumeric());
    let mut names = rest.trim_end_matches('\\').split('\\').skip(1).peekable();
    let is_unc = !is_drive && rest[1..].contains('\\');
    names.peek().is_some() && (is_drive || is_unc) && names.all(is_name)
}

/// Whether a text ends within an escape.
pub(super) fn is_half(raw: &str) -> bool {
    let last = escapes(raw).last();
    last.is_some_and(|(_, rest)| rest.is_empty() || (rest.len() < 5 && rest.starts_with('u')))
}

/// Returns each backslash that is not itself escaped, and the text after it.
fn escapes(raw: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next + raw[next..].find('\\')?;
        let rest = &raw[at + 1..];
        next = at + 1 + rest.chars().next().map_or(0, char::len_utf8);
        Some((at, rest))
    })
}

/// Whether a backslash before this text is an escape of JSON, or of the language of the quote.
fn is_escape(rest: &str, quote: Quote) -> bool {
    match rest.chars().next() {
        Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => true,
        Some('u') => hex(rest, 4).is_some(),
        Some('x') => quote != Quote::Double && hex(rest, 2).is_some(),
        Some(letter) => quote != Quote::Double && quote.may_close(letter),
        None => false,
    }
}

/// Returns the character of an escape, or none for a literal backslash, and the length of the text
/// after the backslash.
fn escape(rest: &str, quote: Quote, manner: Option<Manner>) -> Option<(Option<char>, usize)> {
    let plain = manner == Some(Manner::Plain);
    let known = |letter| Some((Some(letter), 1));
    // The string ends here nevertheless, as Windows paths do.
    let Some(letter) = rest.chars().next() else { return Some((None, 0)) };
    // A line break in a formula.
    if manner.is_some() && rest.starts_with("\\ ") {
        return Some((None, 1));
    }
    match letter {
        '"' | '\\' | '/' | '\'' => known(letter),
        'n' if !plain => known('\n'),
        'r' if !plain => known('\r'),
        't' if !plain => known('\t'),
        'u' if !plain && hex(rest, 4).is_some() => unicode(rest),
        // Models do not write backspaces or form feeds; patterns and formulas contain `\b`.
        'b' if manner.is_none() => known('\u{8}'),
        'f' if manner.is_none() => known('\u{c}'),
        'x' if hex(rest, 2).is_some() => match quote {
            // Other languages have this escape, so it may not be literal.
            Quote::Double => None,
            _ => Some((char::from_u32(hex(rest, 2)?), 3)),
        },
        '_' if manner == Some(Manner::Markdown) => known('_'),
        '0'..='9' if quote != Quote::Double => None,
        '\n' | '\r' => None,
        letter if quote != Quote::Double && quote.may_close(letter) => {
            Some((Some(letter), letter.len_utf8()))
        }
        letter => Some((None, letter.len_utf8())),
    }
}

fn hex(rest: &str, digits: usize) -> Option<u32> {
    let digits = rest.get(1..=digits)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}

/// Decodes one or two Unicode escapes with the strict parser.
fn unicode(rest: &str) -> Option<(Option<char>, usize)> {
    let pair =
        rest.get(5..11).filter(|pair| pair.starts_with("\\u") && hex(&pair[1..], 4).is_some());
    for length in [pair.map(|_| 11), Some(5)].into_iter().flatten() {
        let Ok(Json::String(text)) = Json::parse(&format!("\"\\{}\"", &rest[..length])) else {
            return None;
        };
        let mut letters = text.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            return Some((Some(letter), length));
        }
    }
    None
}
