//! Splits text into comparable words: stems and concepts of English; concepts and character pairs
//! of Chinese.

use std::collections::HashSet;

use super::concept::{self, Begin};

/// Whether a character is Chinese.
pub(super) fn is_han(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether text is Chinese, so that the response should be.
pub(super) fn is_chinese(text: &str) -> bool {
    text.chars().any(is_han)
}

/// Returns the distinct words of a text, without stop words, in order.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut add = |word: String| {
        if !word.is_empty() && seen.insert(word.clone()) {
            out.push(word);
        }
    };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |like: fn(char) -> bool| rest.find(|letter| !like(letter)).unwrap_or(rest.len());
        if is_han(first) {
            let end = run(is_han);
            han(&rest[..end], &mut add);
            rest = &rest[end..];
        } else if first.is_alphanumeric() {
            let end = run(|letter| letter.is_alphanumeric() && !is_han(letter));
            latin(&rest[..end], &mut add);
            rest = &rest[end..];
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Adds the words of a run of letters and digits, split at capitals.
fn latin(run: &str, add: &mut impl FnMut(String)) {
    let mut start = 0;
    let mut lower = false;
    for (at, letter) in run.char_indices() {
        if letter.is_uppercase() && lower {
            add(normal(&run[start..at]));
            start = at;
        }
        lower = letter.is_lowercase() || letter.is_numeric();
    }
    add(normal(&run[start..]));
}

/// Returns the concept of a word, or its stem; empty for a stop word.
fn normal(word: &str) -> String {
    let word = word.to_lowercase();
    if concept::is_stop(&word) {
        return String::new();
    }
    let stem = stem(&word);
    let concept = concept::of_word(&word).or_else(|| concept::of_word(stem));
    concept.unwrap_or(stem).to_owned()
}

/// Removes common endings.
fn stem(word: &str) -> &str {
    let cut =
        |ending: &str, least: usize| word.strip_suffix(ending).filter(|stem| stem.len() >= least);
    if ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        return word;
    }
    cut("ing", 3).or_else(|| cut("ed", 3)).or_else(|| cut("s", 3)).unwrap_or(word)
}

/// Adds the words of a Chinese run: known words, and pairs of the characters between them.
fn han(run: &str, add: &mut impl FnMut(String)) {
    let mut rest = run;
    let mut unknown: Vec<char> = Vec::new();
    let flush = |unknown: &mut Vec<char>, add: &mut dyn FnMut(String)| {
        for pair in unknown.windows(2) {
            add(pair.iter().collect());
        }
        unknown.clear();
    };
    while let Some(first) = rest.chars().next() {
        let skip = match concept::begin(rest) {
            Begin::Concept(concept, length) => {
                flush(&mut unknown, add);
                if !concept::is_stop(concept) {
                    add(concept.to_owned());
                }
                length
            }
            Begin::Stop(length) => {
                flush(&mut unknown, add);
                length
            }
            Begin::Other => {
                unknown.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[skip..];
    }
    flush(&mut unknown, add);
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn two_languages_meet_in_concepts() {
        for (text, expected) in [
            ("读取test.csv", vec!["read", "test", "csv"]),
            ("Please load the files", vec!["read", "file"]),
            ("删除缺失数据", vec!["delete", "missing", "data"]),
            ("drop_missing", vec!["delete", "missing"]),
            ("北京今天天气怎么样？", vec!["北京", "weather"]),
            ("gitStatus", vec!["git", "status"]),
            ("", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
