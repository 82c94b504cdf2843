//! Text to terms.
//!
//! | text | terms |
//! |---|---|
//! | `getHTTPHeaders`, `get_http_headers` | `get`, `http`, `header` |
//! | `mp3 files` | `mp`, `3`, `file` |
//! | `天气预报` | `天`, `气`, `预`, `报`, `天气`, `气预`, `预报` |
//! | `ＰＤＦ` (full width) | `pdf` |
//!
//! Chinese, Japanese and Korean text is not segmented with a dictionary: single characters and pairs
//! of them rank no worse, and need no data.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Maximum number of bytes of a term. Longer words, such as encoded data, are cut.
const MAX_TERM_BYTES: usize = 64;

/// English words without meaning for a search, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can",
    "could", "d", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "here",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "may", "me",
    "might", "my", "no", "not", "of", "on", "or", "our", "please", "re", "s", "shall", "she",
    "should", "so", "some", "t", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "ve", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "why", "will", "with", "would", "you", "your",
];

/// Kind of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermKind {
    /// A stemmed word of an alphabetic script
    Word,
    /// A run of digits
    Number,
    /// One or two characters of Chinese, Japanese or Korean
    Ideographic,
}

impl TermKind {
    /// The kind of a term that [`Tokenizer::visit_terms`] produced.
    pub(crate) fn of(term: &str) -> TermKind {
        match term.chars().next() {
            Some(first) if first.is_numeric() => TermKind::Number,
            Some(first) if is_ideographic(first) => TermKind::Ideographic,
            _ => TermKind::Word,
        }
    }
}

/// Splits texts into terms.
pub(crate) struct Tokenizer {
    english: Stemmer,
    russian: Stemmer,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Tokenizer {
            english: Stemmer::create(Algorithm::English),
            russian: Stemmer::create(Algorithm::Russian),
        }
    }
}

impl Tokenizer {
    /// The terms of a text, in the order of the text.
    pub(crate) fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.visit_terms(text, |term| terms.push(term.to_owned()));
        terms
    }

    /// Calls `visit` with each term of a text, in the order of the text.
    pub(crate) fn visit_terms(&self, text: &str, mut visit: impl FnMut(&str)) {
        visit_runs(text, |class, run| match class {
            Class::Separator => {}
            Class::Digits => visit(cut(run)),
            Class::Ideographs => visit_ideographs(run, &mut visit),
            Class::Letters => {
                visit_words(run, |word| visit(cut(&self.stem(cut(word)))));
            }
        });
    }

    /// Removes the inflection of a lower-case word.
    pub(crate) fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        match word.chars().next() {
            Some(first) if first.is_ascii_alphabetic() => self.english.stem(word),
            Some('\u{400}'..='\u{4ff}') => self.russian.stem(word),
            _ => Cow::Borrowed(word),
        }
    }
}

/// Visits the runs of characters of one class.
fn visit_runs(text: &str, mut visit: impl FnMut(Class, &str)) {
    let text: String = text.chars().map(narrow).collect();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let class = Class::of(first);
        let end = rest.find(|c| Class::of(c) != class).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        visit(class, run);
    }
}

/// Visits the lower-case words of a camel-case run of letters, without stop words.
fn visit_words(run: &str, mut visit: impl FnMut(&str)) {
    visit_humps(run, |word| {
        let lower = word.to_lowercase();
        if STOP_WORDS.binary_search(&lower.as_str()).is_err() {
            visit(&lower);
        }
    });
}

/// Class of a character, by which a text is split into runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letters,
    Digits,
    Ideographs,
    Separator,
}

impl Class {
    fn of(character: char) -> Class {
        if is_ideographic(character) {
            Class::Ideographs
        } else if character.is_numeric() {
            Class::Digits
        } else if character.is_alphabetic() || is_combining_mark(character) {
            Class::Letters
        } else {
            Class::Separator
        }
    }
}

/// Whether a character belongs to a script that is written without spaces, or to Hangul.
fn is_ideographic(character: char) -> bool {
    matches!(
        character,
        '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{323af}'
    )
}

fn is_combining_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Replaces a full-width form of an ASCII character by that character.
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        _ => character,
    }
}

/// Cuts a term to its maximum length.
fn cut(term: &str) -> &str {
    &term[..term.floor_char_boundary(MAX_TERM_BYTES)]
}

/// Runs of Chinese, Japanese and Korean characters.
pub(crate) fn ideographic_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| !is_ideographic(character)).filter(|run| !run.is_empty())
}

/// Visits the characters of a run, then its pairs of adjacent characters.
fn visit_ideographs(run: &str, visit: &mut impl FnMut(&str)) {
    let starts = || run.char_indices().map(|(at, _)| at);
    let ends = || starts().skip(1).chain([run.len()]);
    for (start, end) in starts().zip(ends()) {
        visit(&run[start..end]);
    }
    for (start, end) in starts().zip(ends().skip(1)) {
        visit(&run[start..end]);
    }
}

/// Visits the words of a camel-case run of letters. Of several capitals before a lower-case letter,
/// the last begins a word.
fn visit_humps(run: &str, mut visit: impl FnMut(&str)) {
    let mut start = 0;
    let mut previous: Option<char> = None;
    let mut characters = run.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins_word = character.is_uppercase()
            && previous.is_some_and(|previous| !previous.is_uppercase() || next_is_lower);
        if begins_word {
            visit(&run[start..at]);
            start = at;
        }
        previous = Some(character);
    }
    visit(&run[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Tokenizer::default().visit_terms(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn names_are_split_at_case_separators_and_digits() {
        assert_eq!(terms("getHTTPHeaders"), ["get", "http", "header"]);
        assert_eq!(terms("get_http-headers"), ["get", "http", "header"]);
        assert_eq!(terms("PDF2Text"), ["pdf", "2", "text"]);
        assert_eq!(terms("parseJSON"), ["pars", "json"]);
    }

    #[test]
    fn words_are_stemmed_and_stop_words_dropped() {
        assert_eq!(terms("What are the predictions?"), ["predict"]);
        assert_eq!(terms("прогнозы погоды"), terms("прогноз погода"));
    }

    #[test]
    fn ideographs_become_characters_and_pairs() {
        assert_eq!(terms("查天气"), ["查", "天", "气", "查天", "天气"]);
        assert_eq!(terms("用Python读PDF"), ["用", "python", "读", "pdf"]);
    }

    #[test]
    fn full_width_forms_are_narrowed() {
        assert_eq!(terms("ＰＤＦ１２"), ["pdf", "12"]);
    }

    #[test]
    fn long_words_are_cut_at_a_character() {
        assert_eq!(terms(&"щ".repeat(80))[0].len(), MAX_TERM_BYTES);
    }

    #[test]
    fn the_kind_follows_the_first_character() {
        assert_eq!(TermKind::of("pdf"), TermKind::Word);
        assert_eq!(TermKind::of("12"), TermKind::Number);
        assert_eq!(TermKind::of("天气"), TermKind::Ideographic);
    }
}
