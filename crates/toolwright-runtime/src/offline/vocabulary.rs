//! Words that can be compared: concepts and stems of English; concepts and pairs of characters of Chinese.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

struct Vocabulary {
    /// The concept of each word, in both languages
    concepts: HashMap<&'static str, &'static str>,
    /// Words without a meaning of their own
    stops: HashSet<&'static str>,
    /// The Chinese words of both, longest first
    chinese: Vec<&'static str>,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let (mut concepts, mut stops) = (HashMap::new(), HashSet::new());
    for line in include_str!("vocabulary.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(words) = line.strip_prefix("- ") {
            stops.extend(words.split(' '));
        } else {
            let name = line.split(' ').next().unwrap_or_default();
            concepts.extend(line.split(' ').map(|word| (word, name)));
        }
    }
    let all = concepts.keys().chain(&stops).copied();
    let mut chinese: Vec<&str> = all.filter(|word| word.starts_with(is_chinese)).collect();
    chinese.sort_unstable_by_key(|word| (usize::MAX - word.len(), *word));
    Vocabulary { concepts, stops, chinese }
});

/// Whether a character is Chinese.
pub(super) fn is_chinese(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Returns the concept of a word.
pub(super) fn concept(word: &str) -> Option<&'static str> {
    VOCABULARY.concepts.get(word).copied()
}

/// Whether a word has no meaning of its own.
pub(super) fn is_stop(word: &str) -> bool {
    VOCABULARY.stops.contains(word)
}

/// Returns the length of the longest known word at the beginning of a Chinese text.
pub(super) fn known(text: &str) -> Option<usize> {
    VOCABULARY.chinese.iter().find(|word| text.starts_with(**word)).map(|word| word.len())
}

/// Returns the length of the characters before the next known word of a Chinese text.
pub(super) fn unknown(text: &str) -> usize {
    let is_end = |(at, letter): (usize, char)| {
        (!is_chinese(letter) || known(&text[at..]).is_some()).then_some(at)
    };
    text.char_indices().skip(1).find_map(is_end).unwrap_or(text.len())
}

/// Returns the distinct words of a text, without stop words, in order.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_chinese(first) {
            known(rest).unwrap_or_else(|| unknown(rest))
        } else if first.is_alphanumeric() {
            let is_end = |letter: char| !letter.is_alphanumeric() || is_chinese(letter);
            rest.find(is_end).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        for word in comparable(&rest[..length]) {
            if seen.insert(word.clone()) {
                out.push(word);
            }
        }
        rest = &rest[length..];
    }
    out
}

/// Returns the words of a run of letters: a known word, pairs of other Chinese characters, or the parts of an English
/// name, which begin with capitals.
fn comparable(run: &str) -> Vec<String> {
    let letters: Vec<char> = run.chars().collect();
    if run.starts_with(is_chinese) && concept(run).is_none() && !is_stop(run) {
        return letters.windows(2).map(|pair| pair.iter().collect()).collect();
    }
    let mut parts = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let follows_small = at > 0 && !letters[at - 1].is_uppercase();
        if letter.is_uppercase() && follows_small {
            parts.push(String::new());
        }
        parts.last_mut().into_iter().for_each(|part| part.extend(letter.to_lowercase()));
    }
    let is_meant = |part: &String| part.contains(char::is_alphanumeric) && !is_stop(part);
    let normal = parts.iter().filter(|part| is_meant(part)).map(|part| normal(part));
    normal.filter(|word| !is_stop(word)).map(str::to_owned).collect()
}

/// Returns the concept of an English word, or its stem.
fn normal(word: &str) -> &str {
    let cut = |ending| word.strip_suffix(ending).filter(|stem: &&str| stem.len() >= 3);
    let is_whole = ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending));
    let stem = cut("ing").or_else(|| cut("ed")).or_else(|| cut("s")).filter(|_| !is_whole);
    let stem = stem.unwrap_or(word);
    concept(word).or_else(|| concept(stem)).unwrap_or(stem)
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
