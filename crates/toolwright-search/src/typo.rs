//! Misspelled words: the closest words of names.

use crate::index::{Index, letter_set};
use crate::tokenize::TermKind;
use crate::vocabulary::TermId;

/// Minimum number of letters of a word that is compared. Shorter words are close to too many.
const MIN_LETTERS: usize = 4;

/// Number of letters from which two edits are accepted.
const LONG_WORD_LETTERS: usize = 8;

/// Factor of the weight for each edit.
const EDIT_FACTOR: f32 = 0.7;

impl Index {
    /// Words of names with the fewest edits from a word that the index lacks, with the factors of
    /// their weights.
    pub(crate) fn similar_name_terms(&self, word: &str) -> impl Iterator<Item = (TermId, f32)> {
        let length = word.chars().count();
        let mut max_edits = match length {
            _ if TermKind::of(word) != TermKind::Word => 0,
            ..MIN_LETTERS => 0,
            MIN_LETTERS..LONG_WORD_LETTERS => 1,
            _ => 2,
        };
        let letters = letter_set(word);
        let mut similar: Vec<TermId> = Vec::new();
        let lengths = length.saturating_sub(max_edits)..=length + max_edits;
        let compared = self.name_words.range(lengths).flat_map(|(_, words)| words);
        for name_word in compared {
            // An edit replaces one letter of the set by another at most.
            if (letters ^ name_word.letters).count_ones() as usize > 2 * max_edits {
                continue;
            }
            let edits = strsim::osa_distance(word, self.vocabulary.text(name_word.term));
            if edits < max_edits {
                similar.clear();
                max_edits = edits;
            }
            if edits == max_edits {
                similar.push(name_word.term);
            }
        }
        similar.sort_unstable_by_key(|term| self.vocabulary.text(*term));
        let factor = (0..max_edits).fold(1.0, |factor, _| factor * EDIT_FACTOR);
        similar.into_iter().map(move |id| (id, factor))
    }
}
