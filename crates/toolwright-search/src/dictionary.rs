//! A Chinese-English dictionary, so that a query in one language finds functions that are described in the
//! other.
//!
//! Chinese text is split into the fewest words that the dictionary has. Glosses that explain a word
//! instead of translating it are ignored.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::query::Concept;
use crate::tokenize::{Tokenizer, ideographic_runs};

/// Weight of a gloss, relative to the one before it: the first meaning is the most common one.
const NEXT_GLOSS_FACTOR: f32 = 0.9;

/// Maximum number of terms of a gloss. Longer ones explain a word instead of translating it.
const MAX_GLOSS_TERMS: usize = 4;

/// Weight of a word within a longer one.
const PART_WEIGHT: f32 = 0.3;

/// Weight of a word of a single character.
const CHARACTER_WEIGHT: f32 = 0.3;

/// Maximum number of Chinese words for an English one.
const MAX_WORDS: usize = 32;

/// Maximum number of different words of a query that are translated, in each language.
const MAX_WORDS_OF_QUERY: usize = 128;

/// Maximum number of characters of a word that is looked up.
const MAX_CHARACTERS: usize = 8;

/// A Chinese-English dictionary in the format of CC-CEDICT: a line is an entry,
/// `traditional simplified [pinyin] /gloss/gloss/`, or a comment that begins with `#`.
///
/// ```
/// use toolwright_search::{Dictionary, Document, Index, Options};
///
/// let dictionary = Dictionary::parse("天氣 天气 [tian1 qi4] /weather/")?;
/// let mut index = Index::new();
/// index.add(Document { id: "weather".into(), name: "get_weather".into(), ..Document::default() });
/// let query = "查天气";
/// let options = Options::default().with_concepts(dictionary.translate(query));
/// assert_eq!(index.recommend(query, &options)[0].id, "weather");
/// # Ok::<(), toolwright_search::DictionaryError>(())
/// ```
pub struct Dictionary {
    text: String,
    /// Sorted by the word
    entries: Vec<Entry>,
    /// Entries by the terms of their glosses of a single term, those with the earliest gloss first
    by_term: HashMap<Box<str>, Box<[u32]>>,
    tokenizer: Tokenizer,
}

/// A word and its glosses, as ranges of the text.
struct Entry {
    word: Range<usize>,
    glosses: Range<usize>,
}

/// The reason why a text is not a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not an entry `traditional simplified [pinyin] /gloss/`")]
#[non_exhaustive]
pub struct DictionaryError {
    /// Number of the first line that is not an entry, from 1
    pub line: usize,
}

impl Dictionary {
    /// Parses a dictionary in the format of CC-CEDICT.
    pub fn parse(text: impl Into<String>) -> Result<Dictionary, DictionaryError> {
        let text = text.into();
        let mut entries = Vec::new();
        let mut start = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let at = start;
            start += line.len();
            if !line.starts_with('#') && !line.trim().is_empty() {
                parse_line(line, at, &mut entries).ok_or(DictionaryError { line: number })?;
            }
        }
        entries.sort_by(|a, b| text[a.word.clone()].cmp(&text[b.word.clone()]));
        let tokenizer = Tokenizer::default();
        let mut ranked: HashMap<Box<str>, Vec<(usize, u32)>> = HashMap::new();
        for (position, entry) in (0..).zip(&entries) {
            for (rank, gloss) in glosses(&text[entry.glosses.clone()]).enumerate() {
                if let [term] = &tokenizer.terms(gloss)[..] {
                    ranked.entry(term.as_str().into()).or_default().push((rank, position));
                }
            }
        }
        let by_term = ranked.into_iter().map(|(term, mut words)| {
            words.sort_unstable();
            (term, words.into_iter().take(MAX_WORDS).map(|(_, position)| position).collect())
        });
        let by_term = by_term.collect();
        Ok(Dictionary { text, entries, by_term, tokenizer })
    }

    /// Translations of the words of a text, Chinese ones into English and English ones into Chinese.
    pub fn translate(&self, text: &str) -> Vec<Concept> {
        let mut seen = HashSet::new();
        let words = ideographic_runs(text).flat_map(|run| self.segment(run));
        let words = words.filter(|word| seen.insert(*word)).take(MAX_WORDS_OF_QUERY);
        let mut concepts: Vec<Concept> = words.map(|word| self.english_concept(word)).collect();
        let mut seen = HashSet::new();
        let words = self.tokenizer.terms(text).into_iter().filter(|term| seen.insert(term.clone()));
        for term in words.take(MAX_WORDS_OF_QUERY) {
            let words = self.by_term.get(term.as_str()).into_iter().flatten();
            let words =
                words.map(|position| self.word(&self.entries[*position as usize]).to_owned());
            concepts.push(Concept { alternatives: words.map(|word| (word, 1.0)).collect() });
        }
        concepts.retain(|concept| !concept.alternatives.is_empty());
        concepts
    }

    fn word(&self, entry: &Entry) -> &str {
        &self.text[entry.word.clone()]
    }

    /// Splits a run of ideographs into the fewest words. Characters without an entry are words.
    fn segment<'t>(&self, run: &'t str) -> Vec<&'t str> {
        let starts = boundaries(run);
        let count = starts.len() - 1;
        // For each end, the number of words and the start of the last one.
        let mut best: Vec<(usize, usize)> = vec![(0, 0)];
        for end in 1..=count {
            let first = end.saturating_sub(MAX_CHARACTERS);
            let starts = (first..end).filter(|start| {
                end - start == 1 || !self.find(&run[starts[*start]..starts[end]]).is_empty()
            });
            let choice = starts.map(|start| (best[start].0 + 1, start)).min();
            best.extend(choice);
        }
        let mut words = Vec::new();
        let mut end = count;
        while end > 0 {
            let start = best[end].1;
            words.push(&run[starts[start]..starts[end]]);
            end = start;
        }
        words.reverse();
        words
    }

    /// Translations of a Chinese word and, with less weight, of the words within it.
    fn english_concept(&self, word: &str) -> Concept {
        let starts = boundaries(word);
        let count = starts.len() - 1;
        let mut concept = Concept::default();
        self.add_glosses(word, if count == 1 { CHARACTER_WEIGHT } else { 1.0 }, &mut concept);
        for length in 2..count {
            for start in 0..=count - length {
                let part = &word[starts[start]..starts[start + length]];
                self.add_glosses(part, PART_WEIGHT, &mut concept);
            }
        }
        concept
    }

    fn add_glosses(&self, word: &str, weight: f32, into: &mut Concept) {
        for entry in self.find(word) {
            let mut weight = weight;
            for gloss in glosses(&self.text[entry.glosses.clone()]) {
                let count = self.tokenizer.terms(gloss).len();
                if (1..=MAX_GLOSS_TERMS).contains(&count) {
                    into.alternatives.push((gloss.to_owned(), weight));
                    weight *= NEXT_GLOSS_FACTOR;
                }
            }
        }
    }

    /// Entries of a word.
    fn find(&self, word: &str) -> &[Entry] {
        let key = |entry: &Entry| self.word(entry).cmp(word);
        let start = self.entries.partition_point(|entry| key(entry).is_lt());
        let count = self.entries[start..].partition_point(|entry| key(entry).is_eq());
        &self.entries[start..start + count]
    }
}

/// Positions of the characters of a text, and its end.
fn boundaries(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

/// Adds the entries of a line, of which the first is at an offset of the text.
fn parse_line(line: &str, offset: usize, into: &mut Vec<Entry>) -> Option<()> {
    let (traditional, rest) = line.split_once(' ')?;
    let (simplified, rest) = rest.split_once(' ')?;
    let (pinyin, glosses) = rest.split_once("] /")?;
    let glosses = glosses.trim_end().strip_suffix('/')?;
    let simplified_at = offset + traditional.len() + 1;
    let glosses_at = simplified_at + simplified.len() + 1 + pinyin.len() + "] /".len();
    let glosses = glosses_at..glosses_at + glosses.len();
    let simplified_word = simplified_at..simplified_at + simplified.len();
    into.push(Entry { word: simplified_word, glosses: glosses.clone() });
    if traditional != simplified {
        into.push(Entry { word: offset..offset + traditional.len(), glosses });
    }
    Some(())
}

/// Translations among the glosses of an entry, without references and remarks.
fn glosses(text: &str) -> impl Iterator<Item = &str> {
    const REMARKS: [&str; 8] = [
        "CL:",
        "variant of",
        "old variant of",
        "see ",
        "abbr. for",
        "surname ",
        "also written",
        "used in ",
    ];
    text.split(['/', ';'])
        .map(|gloss| {
            let gloss = gloss.trim();
            // A remark in parentheses comes before or after the translation.
            let gloss = match gloss.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some((_, rest)) => rest.trim(),
                None => gloss,
            };
            gloss.split_once('(').map_or(gloss, |(before, _)| before.trim())
        })
        .filter(|gloss| {
            !gloss.is_empty() && !REMARKS.iter().any(|remark| gloss.starts_with(remark))
        })
}
