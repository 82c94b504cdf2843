//! Splits text into pieces that can become arguments: quotations, paths, numbers, dates, words.

use std::ops::Range;

use toolwright_json::Number;

use super::clause::{object, quotation};
use super::concept::{self, Begin};
use super::word::is_han;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Its range in the text, including quotation marks
    pub(super) range: Range<usize>,
    /// Its text without quotation marks
    pub(super) text: &'a str,
    /// Its kind
    pub(super) kind: Kind,
}

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A quotation
    Quoted,
    /// A JSON object
    Object,
    /// A file or folder
    Path,
    /// A URL
    Url,
    /// An email address
    Email,
    /// A date: `2026-01-31`, `2026/1/31`, `2026年1月31日`
    Date,
    /// A number
    Number,
    /// A handle
    Handle,
    /// A word
    Word,
    /// A Chinese word of a concept
    Concept(&'static str),
    /// A Chinese stop word
    Stop,
    /// Chinese characters without a known word
    Unknown,
}

/// Splits a range of a text into pieces, in order.
pub(super) fn pieces(text: &str, range: Range<usize>) -> Vec<Piece<'_>> {
    let end = range.end;
    let mut out: Vec<Piece<'_>> = Vec::new();
    let mut at = range.start;
    while at < end {
        let rest = &text[at..end];
        let Some(first) = rest.chars().next() else { break };
        let length = if let Some((inner, length)) = quotation(rest) {
            out.push(Piece { range: at..at + length, text: inner, kind: Kind::Quoted });
            length
        } else if let Some(length) = object(rest) {
            out.push(Piece { range: at..at + length, text: &rest[..length], kind: Kind::Object });
            length
        } else if let Some(length) = chinese_date(rest) {
            out.push(Piece { range: at..at + length, text: &rest[..length], kind: Kind::Date });
            length
        } else if is_han(first) {
            han(rest, at, &mut out)
        } else if is_inner(first) {
            let length = run(rest);
            latin(text, &rest[..length], at, &mut out);
            length
        } else {
            first.len_utf8()
        };
        at += length;
    }
    out
}

/// Whether a character belongs to a word, path or number.
fn is_inner(letter: char) -> bool {
    let mark = "._-/\\~:@+%#?=&$*".contains(letter);
    mark || (letter.is_alphanumeric() && !is_han(letter))
}

/// Returns the length of a run of letters, digits and path characters. A file name may be Chinese.
fn run(rest: &str) -> usize {
    let end = rest.find(|letter| !is_inner(letter)).unwrap_or(rest.len());
    if rest[..end].ends_with('/') {
        let more = |letter: char| !is_inner(letter) && !is_han(letter);
        let file = &rest[end..rest.find(more).unwrap_or(rest.len())];
        let name = file.trim_end_matches('.');
        if name.starts_with(is_han) && kind(name) == Kind::Path {
            return end + name.len();
        }
    }
    end
}

/// Takes one known word, or the characters before the next known word.
fn han<'a>(rest: &'a str, at: usize, out: &mut Vec<Piece<'a>>) -> usize {
    let (kind, length) = match concept::begin(rest) {
        Begin::Concept(concept, length) => (Kind::Concept(concept), length),
        Begin::Stop(length) => (Kind::Stop, length),
        Begin::Other => {
            let known = |(at, letter): (usize, char)| {
                (!is_han(letter) || concept::begin(&rest[at..]) != Begin::Other).then_some(at)
            };
            (Kind::Unknown, rest.char_indices().skip(1).find_map(known).unwrap_or(rest.len()))
        }
    };
    out.push(Piece { range: at..at + length, text: &rest[..length], kind });
    length
}

/// Takes a run of letters, digits and path characters.
fn latin<'a>(text: &'a str, run: &'a str, at: usize, out: &mut Vec<Piece<'a>>) {
    // Punctuation after a word does not belong to it; dots alone are a folder.
    let trimmed = match run {
        "." | ".." | "./" | "../" => run,
        _ => run.trim_end_matches(['.', '?', ':', '=', '&', '#']),
    };
    if trimmed.is_empty() {
        return;
    }
    let mut range = at..at + trimmed.len();
    // The stem of a file name may be Chinese.
    if trimmed.starts_with('.') && trimmed.len() > 1 && !trimmed.starts_with("./") {
        while let Some(last) = out.last() {
            let stem = matches!(last.kind, Kind::Unknown | Kind::Concept(_))
                && !matches!(last.kind, Kind::Concept("read" | "write" | "delete" | "list"));
            if !stem || last.range.end != range.start {
                break;
            }
            range.start = last.range.start;
            out.pop();
        }
    }
    let own = &text[range.clone()];
    let kind = kind(own);
    out.push(Piece { range, text: own, kind });
}

fn kind(text: &str) -> Kind {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if text.starts_with("http://") || text.starts_with("https://") {
        return Kind::Url;
    }
    if text.parse::<crate::handle::Handle>().is_ok() {
        return Kind::Handle;
    }
    if Number::parse(text.trim_start_matches('+')).is_some() {
        return Kind::Number;
    }
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    if parts.len() == 3 && parts[0].len() == 4 && parts.iter().all(|part| digits(part)) {
        return Kind::Date;
    }
    if let Some((user, host)) = text.split_once('@')
        && !user.is_empty()
        && host.contains('.')
        && !host.contains('/')
    {
        return Kind::Email;
    }
    let extension = text.rsplit_once('.').is_some_and(|(stem, extension)| {
        (1..=8).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
            && !(stem.ends_with('.') || stem.is_empty() && extension.len() > 12)
    });
    let slashed = text.contains(['/', '\\']) && text.len() > 1 && !text.starts_with("//");
    if extension || slashed || matches!(text, "." | ".." | "/") { Kind::Path } else { Kind::Word }
}

/// Returns the length of a Chinese date at the beginning of a text.
fn chinese_date(text: &str) -> Option<usize> {
    let mut rest = text;
    for (most, mark) in [(4, '年'), (2, '月'), (2, '日')] {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 || count > most {
            return None;
        }
        rest = rest[count..].strip_prefix(mark)?;
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::{Kind, pieces};

    #[test]
    fn a_text_is_cut_into_its_pieces() {
        let text = "读取test.csv、数据.csv，\"a b\" 3.5 2026-01-31 2026年1月31日 ./x me@x.org \
                    https://a.b/c?d=1 last 5.";
        let found: Vec<(&str, Kind)> =
            pieces(text, 0..text.len()).into_iter().map(|piece| (piece.text, piece.kind)).collect();
        assert_eq!(
            found,
            [
                ("读取", Kind::Concept("read")),
                ("test.csv", Kind::Path),
                ("数据.csv", Kind::Path),
                ("a b", Kind::Quoted),
                ("3.5", Kind::Number),
                ("2026-01-31", Kind::Date),
                ("2026年1月31日", Kind::Date),
                ("./x", Kind::Path),
                ("me@x.org", Kind::Email),
                ("https://a.b/c?d=1", Kind::Url),
                ("last", Kind::Word),
                ("5", Kind::Number),
            ]
        );
    }
}
