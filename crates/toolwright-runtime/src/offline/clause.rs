//! Splits a message into clauses, each of which may ask for one thing.

use std::ops::Range;

/// A clause, as a range of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// The range
    pub(super) range: Range<usize>,
    /// Whether a word such as "then" orders it after the previous clause
    pub(super) then: bool,
}

/// Separators of clauses, longer ones first if they begin alike, and whether they imply an order.
const BETWEEN: &[(&str, bool)] = &[
    ("and then", true),
    ("after that", true),
    ("afterwards", true),
    ("then", true),
    ("and", false),
    ("also", false),
    ("然后", true),
    ("接着", true),
    ("随后", true),
    ("之后", true),
    ("最后", true),
    ("并且", false),
    ("以及", false),
    ("同时", false),
    ("并", false),
    ("再", true),
    ("和", false),
    ("，", false),
    ("。", false),
    ("；", false),
    ("、", false),
    (";", false),
    (",", false),
    (". ", false),
    ("\n", false),
];

/// Maximum number of clauses; the last one has the remaining text.
const MAX_CLAUSES: usize = 32;

/// Maximum length of a JSON object that is not split.
const MAX_OBJECT: usize = 4 * 1024;

/// Splits a text. Quotations and JSON are not split.
pub(super) fn split(text: &str) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let (mut start, mut at, mut then) = (0, 0, false);
    while at < text.len() && clauses.len() + 1 < MAX_CLAUSES {
        if let Some(length) = whole(&text[at..]) {
            at += length;
            continue;
        }
        match between(text, at) {
            Some((length, ordered)) => {
                push(text, start..at, then, &mut clauses);
                at += length;
                // Of several separators in a row, one that implies an order counts.
                then = ordered || (then && text[start..at - length].trim().is_empty());
                start = at;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    push(text, start..text.len(), then, &mut clauses);
    clauses
}

fn push(text: &str, range: Range<usize>, then: bool, clauses: &mut Vec<Clause>) {
    if !text[range.clone()].trim().is_empty() {
        clauses.push(Clause { range, then });
    }
}

/// Returns the length of text that must not be split: a quotation or a JSON object.
pub(super) fn whole(text: &str) -> Option<usize> {
    quotation(text).map(|(_, length)| length).or_else(|| object(text))
}

/// Returns the quotation at the beginning of a text, and its length with the quotation marks.
pub(super) fn quotation(text: &str) -> Option<(&str, usize)> {
    const MARKS: [(char, char); 7] =
        [('"', '"'), ('`', '`'), ('“', '”'), ('‘', '’'), ('「', '」'), ('《', '》'), ('\'', '\'')];
    let open = text.chars().next()?;
    let close = MARKS.iter().find(|mark| mark.0 == open)?.1;
    let inner = &text[open.len_utf8()..];
    let end = inner.find(close).filter(|end| *end > 0 && !inner[..*end].contains('\n'))?;
    Some((&inner[..end], open.len_utf8() + end + close.len_utf8()))
}

/// Returns the length of the JSON object at the beginning of a text, by its braces.
pub(super) fn object(text: &str) -> Option<usize> {
    if !text.starts_with('{') {
        return None;
    }
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (at, letter) in text.char_indices().take_while(|(at, _)| *at < MAX_OBJECT) {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the length of the separator at a position.
fn between(text: &str, at: usize) -> Option<(usize, bool)> {
    let rest = &text[at..];
    BETWEEN.iter().find_map(|(word, then)| {
        let is_word = word.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let found = rest.get(..word.len()).filter(|own| own.eq_ignore_ascii_case(word))?;
        let before = text[..at].chars().next_back();
        let after = rest[found.len()..].chars().next();
        let joined = |letter: Option<char>| letter.is_some_and(|own| own.is_ascii_alphanumeric());
        let fits = match *word {
            // A comma may group digits.
            "," => !after.is_some_and(|letter| letter.is_ascii_digit()),
            _ => !is_word || (!joined(before) && !joined(after)),
        };
        fits.then_some((word.len(), *then))
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_CLAUSES, MAX_OBJECT, object, split};

    #[test]
    fn a_text_has_so_many_clauses_and_the_last_is_the_rest() {
        let text = "read a, ".repeat(2_000);
        let clauses = split(&text);
        assert_eq!(clauses.len(), MAX_CLAUSES);
        assert_eq!(clauses.last().unwrap().range.end, text.len());
    }

    #[test]
    fn an_object_without_an_end_is_given_up() {
        let object_of = |length: usize| format!("{{\"a\": \"{}\"}}", "x".repeat(length));
        assert_eq!(object(&object_of(9)), Some(object_of(9).len()));
        assert_eq!(object(&object_of(MAX_OBJECT)), None);
    }

    #[test]
    fn clauses_are_cut_at_words_between() {
        for (text, expected) in [
            ("read data.csv and drop missing rows", vec!["read data.csv", "drop missing rows"]),
            ("读取 test.csv 并删除缺失数据", vec!["读取 test.csv", "删除缺失数据"]),
            (
                "commit with message \"fix a, b and c\"",
                vec!["commit with message \"fix a, b and c\""],
            ),
            ("call {\"a\": \"x, y\"} then stop", vec!["call {\"a\": \"x, y\"}", "stop"]),
            ("show sand and land", vec!["show sand", "land"]),
            ("add 1,000 and 5", vec!["add 1,000", "5"]),
            ("", vec![]),
        ] {
            let clauses = split(text);
            let texts: Vec<&str> =
                clauses.iter().map(|clause| text[clause.range.clone()].trim()).collect();
            assert_eq!(texts, expected, "{text}");
        }
    }

    #[test]
    fn order_is_noticed() {
        let then = |text: &str| split(text).last().unwrap().then;
        assert!(then("read a, then drop b"));
        assert!(then("读取a，然后删除b"));
        assert!(!then("read a and drop b"));
    }
}
