//! Splits a message into clauses, each of which may ask for one thing, and these into pieces that can become arguments:
//! quotations, paths, numbers, dates, words.

use std::ops::Range;

use toolwright_json::Number;

use super::vocabulary::{is_chinese, known, unknown};
use crate::handle::Handle;

/// A part of a message.
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
    /// A date: `2026-01-31`, `2026/1/31`, `2026年1月31日`
    Date,
    /// A number
    Number,
    /// A handle
    Handle,
    /// A word, also a known one of Chinese
    Word,
    /// Chinese characters without a known word
    Unknown,
}

/// A part of a message that may ask for one thing.
#[derive(Debug, Default)]
pub(super) struct Clause<'a> {
    /// Its pieces
    pub(super) pieces: Vec<Piece<'a>>,
    /// Whether a word such as "then" orders it after the previous clause
    pub(super) then: bool,
}

/// Words and marks between clauses, and those that imply an order.
const BETWEEN: &str = "and also 并且 以及 同时 并 和 ， 。 ； 、 ; , \n";
const THEN: &str = "then afterwards 然后 接着 随后 之后 再";

/// Maximum number of clauses; the last one has the remaining text.
const MAX_CLAUSES: usize = 32;

/// Maximum length of a JSON object.
const MAX_OBJECT: usize = 4 * 1024;

/// Splits a message into clauses. Quotations and JSON are not split.
pub(super) fn clauses(text: &str) -> Vec<Clause<'_>> {
    let mut clauses = vec![Clause::default()];
    let mut at = 0;
    while at < text.len() {
        let Some(piece) = piece(text, at) else { break };
        at = piece.range.end;
        let clause = clauses.len() - 1;
        if clauses.len() < MAX_CLAUSES && separates(text, &piece) {
            let then = THEN.split(' ').any(|word| piece.text.eq_ignore_ascii_case(word));
            if clauses[clause].pieces.is_empty() {
                clauses[clause].then |= then;
            } else {
                clauses.push(Clause { pieces: Vec::new(), then });
            }
        } else if piece.kind == Kind::Path || piece.text.contains(char::is_alphanumeric) {
            clauses[clause].pieces.push(piece);
        }
    }
    clauses.retain(|clause| !clause.pieces.is_empty());
    clauses
}

/// Whether a piece ends a clause.
fn separates(text: &str, piece: &Piece<'_>) -> bool {
    let after = &text[piece.range.end..];
    match piece.text {
        // A comma may group digits.
        "," => !after.starts_with(|next: char| next.is_ascii_digit()),
        "." => after.starts_with(' '),
        _ if piece.kind != Kind::Word => false,
        word => [BETWEEN, THEN]
            .iter()
            .any(|list| list.split(' ').any(|own| own.eq_ignore_ascii_case(word))),
    }
}

/// Returns the piece at a place.
fn piece(text: &str, at: usize) -> Option<Piece<'_>> {
    let rest = &text[at..];
    let first = rest.chars().next()?;
    let of = |length: usize, kind| Piece { range: at..at + length, text: &rest[..length], kind };
    if let Some((inner, length)) = quotation(rest) {
        return Some(Piece { text: inner, ..of(length, Kind::Quoted) });
    }
    if let Some(length) = object(rest) {
        return Some(of(length, Kind::Object));
    }
    if let Some(length) = chinese_date(rest) {
        return Some(of(length, Kind::Date));
    }
    if is_chinese(first) {
        return Some(match known(rest) {
            Some(length) => of(length, Kind::Word),
            None => of(unknown(rest), Kind::Unknown),
        });
    }
    if !is_inner(first) {
        return Some(of(first.len_utf8(), Kind::Word));
    }
    let run = &rest[..run(rest)];
    // Punctuation after a word does not belong to it; dots alone are a folder.
    let word = match run {
        "." | ".." | "./" | "../" => run,
        _ => run.trim_end_matches(['.', '?', ':', '=', '&', '#']),
    };
    let length = if word.is_empty() { first.len_utf8() } else { word.len() };
    Some(of(length, kind(&rest[..length])))
}

/// Returns the quotation at the beginning of a text, and its length with the quotation marks.
fn quotation(text: &str) -> Option<(&str, usize)> {
    let open = text.chars().next()?;
    let mut marks = ["\"\"", "``", "“”", "‘’", "「」", "《》", "''"].into_iter();
    let close = marks.find(|mark| mark.starts_with(open))?.chars().last()?;
    let inner = &text[open.len_utf8()..];
    let end = inner.find(close).filter(|end| *end > 0 && !inner[..*end].contains('\n'))?;
    Some((&inner[..end], open.len_utf8() + end + close.len_utf8()))
}

/// Returns the length of the JSON object at the beginning of a text, by its braces.
fn object(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, letter) in text.char_indices().take_while(|(at, _)| *at < MAX_OBJECT) {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

/// Returns the length of a Chinese date at the beginning of a text.
fn chinese_date(text: &str) -> Option<usize> {
    let mut rest = text;
    for (most, mark) in [(4, '年'), (2, '月'), (2, '日')] {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        rest = rest[digits..].strip_prefix(mark).filter(|_| (1..=most).contains(&digits))?;
    }
    Some(text.len() - rest.len())
}

/// Whether a character belongs to a word, path or number.
fn is_inner(letter: char) -> bool {
    "._-/\\~:@+%#?=&$*".contains(letter) || (letter.is_alphanumeric() && !is_chinese(letter))
}

/// Returns the length of a run of letters, digits and marks of paths. A file name may be Chinese.
fn run(rest: &str) -> usize {
    let end = rest.find(|letter| !is_inner(letter)).unwrap_or(rest.len());
    let file = &rest[end..];
    let is_end = |letter: char| !is_inner(letter) && !is_chinese(letter);
    let name = file[..file.find(is_end).unwrap_or(file.len())].trim_end_matches('.');
    let is_name = rest[..end].ends_with('/') && name.starts_with(is_chinese);
    if is_name && kind(name) == Kind::Path { end + name.len() } else { end }
}

fn kind(text: &str) -> Kind {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let is_extension = |(stem, extension): (&str, &str)| {
        (1..=8).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !is_number(extension)
            && !stem.ends_with('.')
    };
    if text.starts_with("http://") || text.starts_with("https://") {
        Kind::Url
    } else if text.parse::<Handle>().is_ok() {
        Kind::Handle
    } else if Number::parse(text.trim_start_matches('+')).is_some() {
        Kind::Number
    } else if parts.len() == 3 && parts[0].len() == 4 && parts.iter().all(|part| is_number(part)) {
        Kind::Date
    } else if text.rsplit_once('.').is_some_and(is_extension)
        || (text.contains(['/', '\\']) && text.len() > 1 && !text.starts_with("//"))
        || matches!(text, ".." | "/")
    {
        Kind::Path
    } else {
        Kind::Word
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, MAX_CLAUSES, MAX_OBJECT, clauses, object};

    #[test]
    fn a_text_has_so_many_clauses_and_the_last_is_the_rest() {
        let text = "read a, ".repeat(2_000);
        let clauses = clauses(&text);
        assert_eq!(clauses.len(), MAX_CLAUSES);
        assert_eq!(clauses.last().unwrap().pieces.last().unwrap().text, "a");
        assert!(clauses.last().unwrap().pieces.len() > 3_000);
    }

    #[test]
    fn an_object_without_an_end_is_given_up() {
        let object_of = |length: usize| format!("{{\"a\": \"{}\"}}", "x".repeat(length));
        assert_eq!(object(&object_of(9)), Some(object_of(9).len()));
        assert_eq!(object(&object_of(MAX_OBJECT)), None);
        assert_eq!(object("no object"), None);
    }

    #[test]
    fn clauses_are_cut_at_words_between() {
        for (text, expected) in [
            ("read data.csv and drop missing rows", vec!["read data.csv", "drop missing rows"]),
            ("读取 test.csv 并删除缺失数据", vec!["读取 test.csv", "删除 缺失 数据"]),
            ("commit \"fix a, b and c\"", vec!["commit fix a, b and c"]),
            ("call {\"a\": \"x, y\"} then stop", vec!["call {\"a\": \"x, y\"}", "stop"]),
            ("show sand and land. Read it", vec!["show sand", "land", "Read it"]),
            ("add 1,000 and 5", vec!["add 1 000", "5"]),
            ("", vec![]),
        ] {
            let texts = clauses(text).into_iter().map(|clause| {
                let texts: Vec<&str> = clause.pieces.iter().map(|piece| piece.text).collect();
                texts.join(" ")
            });
            assert_eq!(texts.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn order_is_noticed() {
        let then = |text: &str| clauses(text).last().unwrap().then;
        assert!(then("read a, then drop b"));
        assert!(then("读取a，然后删除b"));
        assert!(!then("read a and drop b"));
    }

    #[test]
    fn a_clause_is_cut_into_its_pieces() {
        let text = "读取test.csv、src/数据.csv，\"a b\" 3.5 2026-01-31 2026年1月31日 ./x https://a.b/c?d=1 last 5.";
        let clauses = clauses(text);
        let pieces = clauses.iter().flat_map(|clause| &clause.pieces);
        let found: Vec<(&str, Kind)> = pieces.map(|piece| (piece.text, piece.kind)).collect();
        assert_eq!(
            found,
            [
                ("读取", Kind::Word),
                ("test.csv", Kind::Path),
                ("src/数据.csv", Kind::Path),
                ("a b", Kind::Quoted),
                ("3.5", Kind::Number),
                ("2026-01-31", Kind::Date),
                ("2026年1月31日", Kind::Date),
                ("./x", Kind::Path),
                ("https://a.b/c?d=1", Kind::Url),
                ("last", Kind::Word),
                ("5", Kind::Number),
            ]
        );
    }
}
