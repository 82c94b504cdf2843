//! Rankings: the best hits of a query, and the threshold below which nothing is found.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::index::{Entry, Index, Slot, TermId};
use crate::query::{Concept, Query, Ranker};
use crate::score::{LengthNorms, max_term_score, saturate};

/// Number of candidates that `recommend` ranks a second time, by adjacent words.
const MIN_CANDIDATES: usize = 100;

/// Share of the query's information from which a best hit is relevant.
const MIN_COVERAGE: f32 = 0.45;

/// Score from which a best hit is relevant, as a multiple of what a term scores at most.
const MIN_EVIDENCE: f32 = 0.3;

/// [`MIN_EVIDENCE`] for queries in Chinese, Japanese or Korean. It is higher because a word matches
/// as characters and as pairs of them, and any two sentences share some characters.
const MIN_IDEOGRAPHIC_EVIDENCE: f32 = 0.75;

/// Filters and limits of a query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Tags that a document must have, compared without case
    pub tags: Vec<String>,
    /// Author that a document must have, compared without case
    pub author: Option<String>,
    /// Maximum number of hits
    pub limit: usize,
    /// Whether hits below the threshold of relevance are returned
    pub keep_weak: bool,
    /// Additional concepts, such as translations of words of the query
    pub concepts: Vec<Concept>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            tags: Vec::new(),
            author: None,
            limit: 10,
            keep_weak: false,
            concepts: Vec::new(),
        }
    }
}

impl Options {
    /// Requires a tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Requires an author.
    #[must_use]
    pub fn with_author(mut self, author: impl Into<String>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Sets the maximum number of hits.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets whether hits below the threshold of relevance are returned.
    #[must_use]
    pub fn with_weak_hits(mut self, keep_weak: bool) -> Self {
        self.keep_weak = keep_weak;
        self
    }

    /// Adds a concept to the query.
    #[must_use]
    pub fn with_concept(mut self, concept: Concept) -> Self {
        self.concepts.push(concept);
        self
    }

    fn accepts(&self, entry: &Entry) -> bool {
        let equal = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        self.tags.iter().all(|tag| entry.tags.iter().any(|other| equal(tag, other)))
            && self.author.as_ref().is_none_or(|author| equal(author, &entry.author))
    }
}

/// A found document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// Id of the document
    pub id: String,
    /// Score. Comparable only within the hits of one query.
    pub score: f32,
    /// Whether the query is the name or the id of the document, up to case and separators
    pub is_exact: bool,
}

/// A document with its score. The greatest is the best.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'i> {
    pub(crate) score: f32,
    pub(crate) slot: Slot,
    id: &'i str,
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.id.cmp(self.id))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}

impl Index {
    /// Ranks functions by keywords.
    pub fn search(&self, keywords: &str, options: &Options) -> Vec<Hit> {
        self.rank(Ranker::Search, keywords, options)
    }

    /// Ranks functions by what they do for a described need.
    pub fn recommend(&self, need: &str, options: &Options) -> Vec<Hit> {
        self.rank(Ranker::Recommend, need, options)
    }

    /// Ranks the documents for a query: exact names, then by descending score, then by id.
    pub fn rank(&self, ranker: Ranker, text: &str, options: &Options) -> Vec<Hit> {
        let query = self.parse(ranker, text, &options.concepts);
        let scores = self.scores(&query);
        let wanted = match ranker {
            Ranker::Search => options.limit,
            Ranker::Recommend => options.limit.max(MIN_CANDIDATES),
        };
        let mut candidates = self.best(&scores, wanted, options);
        for candidate in &mut candidates {
            candidate.score += self.phrase_score(&query, candidate.slot);
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        let is_weak = candidates.first().is_none_or(|best| self.is_weak(&query, best));
        if is_weak && !options.keep_weak {
            candidates.clear();
        }

        let exact = self.exact_matches(text, options);
        let mut hits: Vec<Hit> = exact
            .iter()
            .map(|(slot, id)| Hit {
                id: (*id).to_owned(),
                score: scores[*slot as usize] + self.phrase_score(&query, *slot),
                is_exact: true,
            })
            .collect();
        let others = candidates.iter().filter(|c| exact.iter().all(|(slot, _)| *slot != c.slot));
        hits.extend(others.map(|c| Hit { id: c.id.to_owned(), score: c.score, is_exact: false }));
        hits.truncate(options.limit);
        hits
    }

    /// Documents whose id or name is the query: equal ids, equal names, then names that differ in
    /// case and separators.
    fn exact_matches(&self, text: &str, options: &Options) -> Vec<(Slot, &str)> {
        let text = text.trim();
        let mut exact: Vec<(bool, bool, &str, Slot)> = self
            .slots_named(text)
            .iter()
            .copied()
            .chain(self.slot_of(text))
            .filter_map(|slot| {
                let entry = self.entries[slot as usize].as_ref()?;
                let order = (entry.id != text, entry.name != text, entry.id.as_str(), slot);
                options.accepts(entry).then_some(order)
            })
            .collect();
        exact.sort_unstable();
        exact.dedup();
        exact.into_iter().map(|(_, _, id, slot)| (slot, id)).collect()
    }

    /// Scores of all slots, without adjacent words.
    fn scores(&self, query: &Query) -> Vec<f32> {
        let norms = self.length_norms();
        let mut scores = vec![0.0; self.entries.len()];
        let mut best = vec![0.0_f32; self.entries.len()];
        let mut touched = Vec::new();
        for concept in &query.concepts {
            if let [(term, weight)] = concept.alternatives[..] {
                self.visit_scores(term, weight, &norms, |slot, score| {
                    scores[slot as usize] += score;
                });
                continue;
            }
            for (term, weight) in &concept.alternatives {
                self.visit_scores(*term, *weight, &norms, |slot, score| {
                    let best = &mut best[slot as usize];
                    if *best == 0.0 {
                        touched.push(slot);
                    }
                    *best = best.max(score);
                });
            }
            for slot in touched.drain(..) {
                scores[slot as usize] += std::mem::take(&mut best[slot as usize]);
            }
        }
        scores
    }

    fn visit_scores(
        &self,
        term: TermId,
        weight: f32,
        norms: &LengthNorms,
        mut visit: impl FnMut(Slot, f32),
    ) {
        let weight = weight * self.idf(term);
        for posting in &self.terms[term as usize].postings {
            let frequency: f32 = self.field_frequencies(*posting, norms).iter().sum();
            visit(posting.slot, weight * saturate(frequency));
        }
    }

    /// The best documents that the options accept, in any order.
    fn best(&self, scores: &[f32], wanted: usize, options: &Options) -> Vec<Candidate<'_>> {
        let mut heap: BinaryHeap<Reverse<Candidate<'_>>> = BinaryHeap::new();
        for (slot, &score) in (0..).zip(scores) {
            let worst = heap.peek().filter(|_| heap.len() >= wanted);
            if score <= 0.0 || worst.is_some_and(|worst| score < worst.0.score) {
                continue;
            }
            let Some(entry) = &self.entries[slot as usize] else { continue };
            if options.accepts(entry) {
                heap.push(Reverse(Candidate { score, slot, id: &entry.id }));
            }
            if heap.len() > wanted {
                heap.pop();
            }
        }
        heap.into_iter().map(|candidate| candidate.0).collect()
    }

    /// Whether even the best hit says little about the query: it lacks most words, and those that it
    /// has are common.
    fn is_weak(&self, query: &Query, best: &Candidate<'_>) -> bool {
        let evidence = if query.is_ideographic { MIN_IDEOGRAPHIC_EVIDENCE } else { MIN_EVIDENCE };
        best.score < evidence * max_term_score(self.max_idf())
            && self.covered_information(query, best.slot) < MIN_COVERAGE * query.information
    }

    /// Information of the words of a query that a document contains. Other words that stand for
    /// them count by their weights.
    fn covered_information(&self, query: &Query, slot: Slot) -> f32 {
        let covered = query.concepts.iter().map(|concept| {
            let found = concept.alternatives.iter();
            let found = found.filter(|(term, _)| self.posting(*term, slot).is_some());
            let weight = found.map(|(_, weight)| *weight).fold(0.0, f32::max);
            concept.information * weight / concept.weight
        });
        covered.sum()
    }
}
