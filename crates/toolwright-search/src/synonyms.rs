//! Words of nearly one meaning, in English and Chinese.
//!
//! `synonyms.txt` has a group on each line. It is general: it covers what tools commonly do and the
//! domains they are for, and has no word because of a particular tool.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::tokenize::Tokenizer;

/// Terms, each with the terms of its groups, sorted and without itself.
static SYNONYMS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let tokenizer = Tokenizer::default();
    let mut synonyms: HashMap<String, Vec<String>> = HashMap::new();
    let lines = include_str!("synonyms.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let terms: Vec<_> = line.split_whitespace().map(|word| tokenizer.stem(word)).collect();
        for term in &terms {
            let others = terms.iter().filter(|other| *other != term);
            synonyms.entry(term.to_string()).or_default().extend(others.map(ToString::to_string));
        }
    }
    for others in synonyms.values_mut() {
        others.sort_unstable();
        others.dedup();
    }
    synonyms
});

/// Terms of nearly the same meaning as a term.
pub(crate) fn synonyms(term: &str) -> &'static [String] {
    SYNONYMS.get(term).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_join_languages_and_inflections() {
        assert!(synonyms("movi").contains(&"film".to_owned()));
        assert!(synonyms("天气").contains(&"weather".to_owned()));
        assert!(synonyms("weather").contains(&"天气".to_owned()));
        assert!(synonyms("xylophon").is_empty());
    }

    #[test]
    fn every_word_is_a_single_term() {
        let tokenizer = Tokenizer::default();
        let lines = include_str!("synonyms.txt").lines().filter(|line| !line.starts_with('#'));
        for word in lines.flat_map(str::split_whitespace) {
            let stem = tokenizer.stem(word);
            let mut is_term = false;
            tokenizer.visit_terms(word, |term| is_term |= term == stem);
            assert!(is_term, "{word} is not indexed as one term");
        }
    }
}
