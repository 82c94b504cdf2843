//! Words that can be compared: concepts and stems of English; concepts and pairs of characters of Chinese.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The concept of words without a meaning of their own.
const NONE: &str = "-";

struct Vocabulary {
    /// The concept of each word, in both languages
    concepts: HashMap<&'static str, &'static str>,
    /// The Chinese words, longest first
    chinese: Vec<&'static str>,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut concepts = HashMap::new();
    for line in include_str!("vocabulary.txt").lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(' ').next().unwrap_or(NONE);
        concepts.extend(line.split(' ').map(|word| (word, name)));
    }
    let mut chinese: Vec<&str> = concepts.keys().copied().collect();
    chinese.retain(|word| word.starts_with(is_chinese));
    chinese.sort_unstable_by_key(|word| (usize::MAX - word.len(), *word));
    Vocabulary { concepts, chinese }
});

/// Whether a character is Chinese.
pub(super) fn is_chinese(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Returns the concept of a word.
pub(super) fn concept(word: &str) -> Option<&'static str> {
    VOCABULARY.concepts.get(word).copied()
}

/// Returns the length of the run at the beginning of a text: a known Chinese word, the Chinese characters before the
/// next one, letters and digits, or one other character.
pub(super) fn run(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    if !is_chinese(first) {
        let is_end = |letter: char| !letter.is_alphanumeric() || is_chinese(letter);
        return text.find(is_end).unwrap_or(text.len()).max(first.len_utf8());
    }
    let known = |at: usize| VOCABULARY.chinese.iter().find(|word| text[at..].starts_with(**word));
    if let Some(word) = known(0) {
        return word.len();
    }
    let is_end = |(at, letter): &(usize, char)| !is_chinese(*letter) || known(*at).is_some();
    text.char_indices().find(is_end).map_or(text.len(), |(at, _)| at)
}

/// Returns the words of a text in the form in which they are compared, without those that have no meaning.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let (mut words, mut rest) = (Vec::new(), text.as_str());
    while !rest.is_empty() {
        let (word, after) = rest.split_at(run(rest));
        rest = after;
        if word.starts_with(is_chinese) && concept(word).is_none() {
            let letters: Vec<char> = word.chars().collect();
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if word.starts_with(char::is_alphanumeric) && normal(word) != NONE {
            words.push(normal(word).to_owned());
        }
    }
    words
}

/// Returns the concept of a word, or its stem.
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
            ("", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
