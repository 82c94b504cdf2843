//! Explanations of scores.

use crate::document::{FIELDS, Field};
use crate::index::Index;
use crate::options::Options;
use crate::query::Ranker;
use crate::score::{field_frequencies, saturate};

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
        let Some(slot) = self.slot_of(id) else { return Vec::new() };
        let query = self.parse(ranker, text, &options.concepts);
        let term_text = |term| self.vocabulary.text(term);
        let mut matches = Vec::new();
        for concept in query.concepts() {
            let scored = concept.alternatives.iter().filter_map(|(term, weight)| {
                let frequencies = field_frequencies(self.posting(*term, slot)?, self.norms());
                let score = weight * self.idf(*term) * saturate(frequencies.iter().sum());
                Some((*term, score, frequencies))
            });
            if let Some((term, score, frequencies)) = scored.max_by(|a, b| a.1.total_cmp(&b.1)) {
                divide(term_text(term), score, frequencies, &mut matches);
            }
        }
        self.visit_phrases(&query, slot, |[first, second], score, frequencies| {
            let text = format!("{} {}", term_text(first), term_text(second));
            divide(&text, score, frequencies, &mut matches);
        });
        for (term, field, weight) in self.title_scores(&query, slot) {
            matches.push(Match { field, term: term_text(term).to_owned(), weight });
        }
        matches.sort_by(|a, b| {
            b.weight
                .total_cmp(&a.weight)
                .then_with(|| a.term.cmp(&b.term))
                .then_with(|| a.field.cmp(&b.field))
        });
        matches
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
