//! Explanations of scores.

use crate::document::{FIELDS, Field};
use crate::index::Index;
use crate::options::Options;
use crate::query::{Query, Ranker};
use crate::score::{field_frequencies, saturate};
use crate::vocabulary::{Slot, TermId};

/// A term of a query in a field of a document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Match {
    /// Field that contains the term
    pub field: Field,
    /// The term as it is indexed; two terms for adjacent words
    pub term: String,
    /// Part of the score
    pub weight: f32,
}

impl Index {
    /// Explains the score of a document for a query, the strongest match first. The weights add up
    /// to the score.
    pub fn explain(
        &self,
        ranker: Ranker,
        text: &str,
        options: &Options<'_>,
        id: &str,
    ) -> Vec<Match> {
        self.slot_of(id).map_or_else(Vec::new, |slot| {
            self.explain_slot(&self.parse(ranker, text, &options.concepts), slot)
        })
    }

    fn explain_slot(&self, query: &Query, slot: Slot) -> Vec<Match> {
        let mut matches = Vec::new();
        for concept in query.concepts() {
            let scored = concept.alternatives.iter().filter_map(|(term, weight)| {
                let frequencies = field_frequencies(self.posting(*term, slot)?, self.norms());
                let score = weight * self.idf(*term) * saturate(frequencies.iter().sum());
                Some((*term, score, frequencies))
            });
            if let Some((term, score, frequencies)) = scored.max_by(|a, b| a.1.total_cmp(&b.1)) {
                divide(self.term_text(term), score, frequencies, &mut matches);
            }
        }
        self.visit_phrases(query, slot, |[first, second], score, frequencies| {
            let text = format!("{} {}", self.term_text(first), self.term_text(second));
            divide(&text, score, frequencies, &mut matches);
        });
        for (term, field, weight) in self.title_scores(query, slot) {
            matches.push(Match { field, term: self.term_text(term).to_owned(), weight });
        }
        matches.sort_by(|a, b| {
            b.weight
                .total_cmp(&a.weight)
                .then_with(|| a.term.cmp(&b.term))
                .then_with(|| a.field.cmp(&b.field))
        });
        matches
    }

    fn term_text(&self, term: TermId) -> &str {
        self.vocabulary.text(term)
    }
}

/// Divides a score among the fields, by their shares of the frequency.
fn divide(term: &str, score: f32, frequencies: [f32; FIELDS], into: &mut Vec<Match>) {
    let total: f32 = frequencies.iter().sum();
    for (field, frequency) in Field::ALL.into_iter().zip(frequencies) {
        if frequency > 0.0 {
            into.push(Match { field, term: term.to_owned(), weight: score * frequency / total });
        }
    }
}
