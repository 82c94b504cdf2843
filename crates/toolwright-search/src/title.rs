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
        let name = fields.next().unwrap_or_default();
        let summary = fields.next().and_then(|terms| terms.get(..entry.summary));
        let titles = [(Field::Name, name), (Field::Description, summary.unwrap_or_default())];
        let shared = titles.map(|(field, title)| {
            let mut shared = self.shared_words(query, title);
            let both: f32 = shared.iter().map(|(_, information)| information).sum();
            let words = (0..).zip(title).filter(|(at, term)| !title[..*at].contains(term));
            let all: f32 = words.map(|(_, term)| self.idf(*term)).sum();
            let likeness = 2.0 * both / (query.words.information + all).max(f32::MIN_POSITIVE);
            let factor = TITLE_WEIGHT * likeness.powi(POWER);
            for (_, score) in &mut shared {
                *score *= factor;
            }
            (likeness, field, shared)
        });
        let best = shared.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let scores =
            best.map(|(_, field, shared)| shared.into_iter().map(move |s| (s.0, field, s.1)));
        scores.into_iter().flatten().collect()
    }

    /// Words of a query that a title has, with their information.
    fn shared_words(&self, query: &Query, title: &[TermId]) -> Vec<(TermId, f32)> {
        let shared = query.words.known.iter().filter_map(|concept| {
            let found = concept.alternatives.iter().filter(|(term, _)| title.contains(term));
            let found = found.map(|(term, weight)| (*term, weight * self.idf(*term)));
            let best = found.max_by(|a, b| a.1.total_cmp(&b.1));
            best.map(|(term, information)| (term, information.min(concept.information)))
        });
        shared.collect()
    }
}
