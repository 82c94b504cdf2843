//! Titles: a document whose name or first sentence says the whole query, and little else, scores more.
//!
//! Only the best candidates are examined, in the forward index.

use crate::document::Field;
use crate::index::Index;
use crate::query::Query;
use crate::vocabulary::{END_OF_FIELD, Slot, TermId};

/// Weight of a title that is the query, relative to its words.
const TITLE_WEIGHT: f32 = 4.0;

/// Power of the likeness. It is high, so that a title counts that is nearly the query, and not one that shares
/// most of its words.
const POWER: i32 = 12;

impl Index {
    /// Words of a query in the title of a document that is most like it, with their scores.
    pub(crate) fn title_scores(&self, query: &Query, slot: Slot) -> Vec<(TermId, Field, f32)> {
        let Some(entry) = &self.entries[slot as usize] else { return Vec::new() };
        let mut fields = entry.terms.split(|term| *term == END_OF_FIELD);
        let name = self.scores_of(query, Field::Name, fields.next().unwrap_or_default());
        let summary = fields.next().and_then(|terms| terms.get(..entry.summary));
        let summary = self.scores_of(query, Field::Description, summary.unwrap_or_default());
        let total = |scores: &[(_, _, f32)]| scores.iter().map(|own| own.2).sum::<f32>();
        if total(&summary) > total(&name) { summary } else { name }
    }

    fn scores_of(
        &self,
        query: &Query,
        field: Field,
        title: &[TermId],
    ) -> Vec<(TermId, Field, f32)> {
        let shared = query.words.known.iter().filter_map(|concept| {
            let found = concept.alternatives.iter().filter(|(term, _)| title.contains(term));
            let found = found.map(|(term, weight)| (*term, weight * self.idf(*term)));
            let (term, information) = found.max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some((term, field, information.min(concept.information)))
        });
        let mut scores: Vec<_> = shared.collect();
        let both: f32 = scores.iter().map(|own| own.2).sum();
        let words = (0..).zip(title).filter(|(at, term)| !title[..*at].contains(term));
        let all: f32 = words.map(|(_, term)| self.idf(*term)).sum();
        let likeness = 2.0 * both / (query.words.information + all).max(f32::MIN_POSITIVE);
        for own in &mut scores {
            own.2 *= TITLE_WEIGHT * likeness.powi(POWER);
        }
        scores
    }
}
