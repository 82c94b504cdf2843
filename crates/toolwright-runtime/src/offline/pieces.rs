//! Splits a message into clauses, each of which may ask for one thing, and these into pieces that can become arguments:
//! quotations, paths, numbers, dates, names, words.

use std::sync::LazyLock;

use regex::Regex;

use super::vocabulary::{concept, is_chinese, run, words};

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Its text without quotation marks
    pub(super) text: &'a str,
    /// Its kind
    pub(super) kind: Kind,
    /// Its words in the form in which they are compared
    pub(super) words: Vec<String>,
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
    /// A date: `2026-01-31`, `2026/1/31`, `2026年1月31日`, `tomorrow`
    Date,
    /// A number
    Number,
    /// An unknown word that is Chinese or begins with a capital
    Name,
    /// Another word, or punctuation
    Word,
    /// A piece that became an argument
    Used,
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
const BETWEEN: &str = "and also 并且 以及 同时 并 和 ， 。 ； 、 ; , . \n";
const THEN: &str = "then afterwards 然后 接着 随后 之后 再";

/// Maximum number of clauses; the last one has the remaining text.
const MAX_CLAUSES: usize = 32;

type Patterns = Vec<(Kind, Regex)>;

/// The patterns of pieces at the beginning of a text. A run of letters, digits and marks of paths gets its kind from
/// [`RUNS`].
static PIECES: LazyLock<Patterns> = LazyLock::new(|| {
    let han = r"\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}";
    let inner = format!(r"[-./\\~:@+%#?=&$*\w&&[^{han}]]");
    let quoted =
        r#"^("[^"\n]+"|`[^`\n]+`|'[^'\n]+'|“[^“”\n]+”|‘[^‘’\n]+’|「[^「」\n]+」|《[^《》\n]+》)"#;
    patterns(&[
        (Kind::Quoted, quoted),
        (Kind::Object, r"^\{[^{}]*\}"),
        (Kind::Date, r"^\d{4}年\d{1,2}月\d{1,2}日"),
        // A file name in a folder may be Chinese.
        (Kind::Path, &format!(r"^{inner}*/[{han}][-./\w]*\.[A-Za-z][A-Za-z0-9]*")),
        // Punctuation after a word does not belong to it.
        (Kind::Word, &format!(r"^{inner}*[{inner}&&[^.?:=&#]]")),
        (Kind::Word, &format!("^{inner}+")),
    ])
});

/// The patterns of runs that are no words.
static RUNS: LazyLock<Patterns> = LazyLock::new(|| {
    patterns(&[
        (Kind::Url, "^https?://"),
        (Kind::Number, r"^-?\d+(\.\d+)?$"),
        (Kind::Date, r"^\d{4}[-/]\d+[-/]\d+$"),
        (Kind::Date, "^(today|tomorrow|yesterday|今天|今日|明天|明日|昨天|昨日)$"),
        (Kind::Path, r"[/\\]|\.[A-Za-z][A-Za-z0-9]{0,7}$"),
    ])
});

fn patterns(all: &[(Kind, &str)]) -> Patterns {
    all.iter().filter_map(|(kind, pattern)| Some((*kind, Regex::new(pattern).ok()?))).collect()
}

/// Splits a message into clauses. Quotations and JSON are not split.
pub(super) fn clauses(text: &str) -> Vec<Clause<'_>> {
    let (mut clauses, mut clause) = (Vec::new(), Clause::default());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, length) = piece(rest);
        rest = &rest[length..];
        let word = piece.text.to_lowercase();
        let then = has(THEN, &word);
        let is_end = piece.kind == Kind::Word && (then || has(BETWEEN, &word));
        if is_end && clause.pieces.is_empty() {
            clause.then |= then;
        } else if is_end && clauses.len() + 1 < MAX_CLAUSES {
            clauses.push(std::mem::replace(&mut clause, Clause { pieces: Vec::new(), then }));
        } else if piece.kind != Kind::Word || piece.text.contains(char::is_alphanumeric) {
            clause.pieces.push(piece);
        }
    }
    clauses.push(clause);
    clauses.retain(|clause| !clause.pieces.is_empty());
    clauses
}

/// Whether a list has a word.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Whether a piece has words, and no known ones.
pub(super) fn is_unknown(words: &[String]) -> bool {
    !words.is_empty() && words.iter().all(|word| concept(word).is_none())
}

/// Returns the piece at the beginning of a text, and its length with quotation marks.
fn piece(text: &str) -> (Piece<'_>, usize) {
    let found = PIECES.iter().find_map(|(kind, pattern)| Some((*kind, pattern.find(text)?.end())));
    let (mut kind, length) = found.unwrap_or_else(|| (Kind::Word, run(text)));
    let mut letters = text[..length].chars();
    if kind == Kind::Quoted {
        letters.next();
        letters.next_back();
    }
    let (text, words) = (letters.as_str(), words(letters.as_str()));
    if kind == Kind::Word {
        let found = RUNS.iter().find(|(_, pattern)| pattern.is_match(text));
        let is_marked =
            text.starts_with(|letter: char| letter.is_uppercase() || is_chinese(letter));
        let word = if is_marked && is_unknown(&words) { Kind::Name } else { Kind::Word };
        kind = found.map_or(word, |(kind, _)| *kind);
    }
    (Piece { text, kind, words }, length)
}

#[cfg(test)]
mod tests {
    use super::{Kind, MAX_CLAUSES, clauses};

    #[test]
    fn a_text_has_so_many_clauses_and_the_last_is_the_rest() {
        let text = "read a, ".repeat(2_000);
        let clauses = clauses(&text);
        assert_eq!(clauses.len(), MAX_CLAUSES);
        assert_eq!(clauses.last().unwrap().pieces.last().unwrap().text, "a");
        assert!(clauses.last().unwrap().pieces.len() > 3_000);
    }

    #[test]
    fn clauses_are_cut_at_words_between() {
        for (text, expected) in [
            ("read data.csv and drop missing rows", vec!["read data.csv", "drop missing rows"]),
            ("读取 test.csv 并删除缺失数据", vec!["读取 test.csv", "删除 缺失 数据"]),
            ("commit \"fix a, b and c\"", vec!["commit fix a, b and c"]),
            ("call {\"a\": \"x, y\"} then stop", vec!["call {\"a\": \"x, y\"}", "stop"]),
            ("show sand and land. Read it", vec!["show sand", "land", "Read it"]),
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
        let text = "读取test.csv、src/数据.csv，\"a b\" 3.5 2026-01-31 2026年1月31日 明天 ./x https://a.b/c?d=1 in Paris {\"a\": 1} last 5.";
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
                ("明天", Kind::Date),
                ("./x", Kind::Path),
                ("https://a.b/c?d=1", Kind::Url),
                ("in", Kind::Word),
                ("Paris", Kind::Name),
                ("{\"a\": 1}", Kind::Object),
                ("last", Kind::Word),
                ("5", Kind::Number),
            ]
        );
    }
}
