//! Adjacent words: a document that contains two adjacent words of a need side by side scores more.
//!
//! Only the best candidates are examined, in the forward index, so that the index needs no positions.
//! The information of a pair is estimated by that of its words.

use crate::document::FIELDS;
use crate::index::Index;
use crate::query::Query;
use crate::score::{FIELD_WEIGHTS, saturate};
use crate::tokenize::TermKind;
use crate::vocabulary::{END_OF_FIELD, Slot, TermId};

/// Weight of a pair, relative to its two words.
const PAIR_WEIGHT: f32 = 0.3;

impl Index {
    /// Score of a document for the adjacent words of a query.
    pub(crate) fn phrase_score(&self, query: &Query, slot: Slot) -> f32 {
        let mut score = 0.0;
        self.visit_phrases(query, slot, |_, pair_score, _| score += pair_score);
        score
    }

    /// Visits the pairs of a query that a document contains, with their scores and their weighted
    /// frequencies in the fields.
    pub(crate) fn visit_phrases(
        &self,
        query: &Query,
        slot: Slot,
        mut visit: impl FnMut([TermId; 2], f32, [f32; FIELDS]),
    ) {
        let Some(entry) = self.entries[slot as usize].as_ref().filter(|_| !query.pairs.is_empty())
        else {
            return;
        };
        let mut frequencies = vec![[0.0; FIELDS]; query.pairs.len()];
        let fields = entry.terms.split(|term| *term == END_OF_FIELD);
        for (field, terms) in fields.take(FIELDS).enumerate() {
            let mut previous = None;
            let is_word = |term: &&TermId| self.term(**term).kind != TermKind::Ideographic;
            for term in terms.iter().filter(is_word) {
                let pair = previous.replace(*term).map(|previous| [previous, *term]);
                let position = query.pairs.iter().position(|other| Some(*other) == pair);
                if let Some(position) = position {
                    frequencies[position][field] += FIELD_WEIGHTS[field];
                }
            }
        }
        for (pair, frequencies) in query.pairs.iter().zip(frequencies) {
            let frequency: f32 = frequencies.iter().sum();
            if frequency > 0.0 {
                let information = self.idf(pair[0]) + self.idf(pair[1]);
                visit(*pair, PAIR_WEIGHT * information * saturate(frequency), frequencies);
            }
        }
    }
}
