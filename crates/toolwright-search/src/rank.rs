//! Rankings: the best hits of a query, and the threshold below which hits are weak.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::document::Prefab;
use crate::index::{Entry, Index, fold};
use crate::options::Options;
use crate::query::{Concepts, Query, Ranker};
use crate::score::{field_frequencies, max_term_score, saturate};
use crate::vocabulary::{Slot, TermId};

/// Number of candidates that `recommend` ranks a second time, by adjacent words.
const MIN_CANDIDATES: usize = 100;

/// Share of the query's information from which a hit is relevant.
const MIN_COVERAGE: f32 = 0.45;

/// Score from which a hit is relevant, as a multiple of what a term scores at most.
const MIN_EVIDENCE: f32 = 0.32;

/// [`MIN_EVIDENCE`] for queries in Chinese, Japanese or Korean. It is higher because a word matches
/// as characters and as pairs of them, and any two sentences share some characters.
const MIN_IDEOGRAPHIC_EVIDENCE: f32 = 1.0;

/// Maximum number of hits of a query that has only weak ones.
const MAX_WEAK_HITS: usize = 5;

/// Maximum number of functions that are named with a large prefab, unless a caller wants more.
const MAX_LARGE_FUNCTIONS: usize = 10;

/// Number of functions of a large prefab for each one that is named.
const FUNCTIONS_PER_NAMED: usize = 20;

/// A found function.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// Id of the document
    pub id: String,
    /// Name of the function
    pub name: String,
    /// Score. Comparable only within the hits of one query.
    pub score: f32,
    /// Whether the query is the name or the id of the document, up to case and separators
    pub is_exact: bool,
    /// Whether the hit is below the threshold of relevance: it lacks most words of the query, and those that it has are
    /// common. Hits after it are weak as well.
    pub is_weak: bool,
}

/// A found prefab.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PrefabHit {
    /// The prefab
    pub prefab: Arc<Prefab>,
    /// Its best functions
    pub functions: Vec<Hit>,
    /// Whether the query is the id or the name of the prefab, up to case and separators
    pub is_exact: bool,
}

impl Index {
    /// Ranks functions by keywords.
    pub fn search(&self, keywords: &str, options: &Options<'_>) -> Vec<Hit> {
        self.rank(Ranker::Search, keywords, options)
    }

    /// Ranks functions by what they do for a described need.
    pub fn recommend(&self, need: &str, options: &Options<'_>) -> Vec<Hit> {
        self.rank(Ranker::Recommend, need, options)
    }

    /// Ranks functions: exact names, then by descending score, then by id.
    pub fn rank(&self, ranker: Ranker, text: &str, options: &Options<'_>) -> Vec<Hit> {
        let ranking = Ranking::new(self, ranker, text, options);
        let mut hits = ranking.hits(options.limit, &|_| usize::MAX);
        hits.truncate(options.limit);
        hits.into_iter().map(|hit| hit.1).collect()
    }

    /// Ranks prefabs by their best functions, and returns up to `functions` of them with each prefab, and up to ten
    /// with a large one. A prefab whose id or name is the query comes first. Without a query, all prefabs that have an
    /// accepted function are hits, by ascending id.
    pub fn rank_prefabs(
        &self,
        ranker: Ranker,
        text: &str,
        options: &Options<'_>,
        functions: usize,
    ) -> Vec<PrefabHit> {
        let ranking = Ranking::new(self, ranker, text, options);
        let (lists_all, folded) = (text.trim().is_empty(), fold(text));
        let named_of = |prefab: &Prefab| {
            let count = self.by_prefab.get(&prefab.id).map_or(0, |entry| entry.slots.len());
            functions.max((count / FUNCTIONS_PER_NAMED).min(MAX_LARGE_FUNCTIONS))
        };
        let mut prefabs: Vec<PrefabHit> = self
            .by_prefab
            .values()
            .filter(|entry| lists_all || entry.is_named(&folded))
            .map(|entry| PrefabHit {
                prefab: entry.prefab.clone(),
                functions: ranking.best_of(&entry.slots, named_of(&entry.prefab)),
                is_exact: !lists_all,
            })
            .filter(|hit| !hit.functions.is_empty())
            .take(options.limit)
            .collect();
        let wanted = options.limit.saturating_mul(functions.max(MAX_LARGE_FUNCTIONS));
        for (prefab, hit) in ranking.hits(wanted, &named_of) {
            let found = prefabs.iter_mut().find(|found| found.prefab.id == prefab.id);
            if let Some(found) = found {
                if !found.is_exact && found.functions.len() < named_of(prefab) {
                    found.functions.push(hit);
                }
            } else if prefabs.len() < options.limit {
                let prefab = prefab.clone();
                prefabs.push(PrefabHit { prefab, functions: vec![hit], is_exact: false });
            }
        }
        prefabs
    }
}

/// Maximum number of functions of a prefab.
type PerPrefab<'f> = &'f dyn Fn(&Prefab) -> usize;

/// The scores of a query.
struct Ranking<'i> {
    index: &'i Index,
    ranker: Ranker,
    text: &'i str,
    options: &'i Options<'i>,
    query: Query,
    /// Scores of all slots, without adjacent words
    scores: Vec<f32>,
}

/// A document with its score. The greatest is the best.
#[derive(Clone, Copy)]
struct Candidate<'i> {
    score: f32,
    slot: Slot,
    entry: &'i Entry,
    is_weak: bool,
}

impl Candidate<'_> {
    /// Orders candidates, the best first.
    fn compare(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.entry.id.cmp(&other.entry.id))
    }

    fn to_hit(self, is_exact: bool) -> Hit {
        Hit {
            id: self.entry.id.to_string(),
            name: self.entry.name.to_string(),
            score: self.score,
            is_exact,
            is_weak: self.is_weak && !is_exact,
        }
    }
}

impl<'i> Ranking<'i> {
    fn new(index: &'i Index, ranker: Ranker, text: &'i str, options: &'i Options<'i>) -> Self {
        let query = index.parse(ranker, text, &options.concepts);
        let scores = index.scores(&query);
        Ranking { index, ranker, text, options, query, scores }
    }

    /// Exact names, then up to `limit` other functions or more, at most `per_prefab` of each prefab.
    fn hits(&self, limit: usize, per_prefab: PerPrefab<'_>) -> Vec<(&'i Arc<Prefab>, Hit)> {
        let exact = self.exact_names();
        let mut best = self.best(limit, per_prefab);
        best.retain(|candidate| exact.iter().all(|exact| exact.slot != candidate.slot));
        let hits = exact.iter().map(|candidate| (candidate, true));
        let hits = hits.chain(best.iter().map(|candidate| (candidate, false)));
        hits.map(|(candidate, exact)| (&candidate.entry.prefab, candidate.to_hit(exact))).collect()
    }

    /// The best of some documents.
    fn best_of(&self, slots: &[Slot], limit: usize) -> Vec<Hit> {
        let mut candidates: Vec<_> = slots.iter().filter_map(|slot| self.accepted(*slot)).collect();
        candidates.sort_unstable_by(Candidate::compare);
        candidates.truncate(limit);
        candidates.into_iter().map(|candidate| candidate.to_hit(false)).collect()
    }

    /// Documents whose id or name is the query: equal ids, equal names, then names that differ in
    /// case and separators.
    fn exact_names(&self) -> Vec<Candidate<'i>> {
        let text = self.text.trim();
        let named = self.index.slots_named(text).iter().copied().chain(self.index.slot_of(text));
        let mut exact: Vec<_> = named.filter_map(|slot| self.accepted(slot)).collect();
        exact.sort_unstable_by_key(|c| (*c.entry.id != *text, *c.entry.name != *text, &c.entry.id));
        exact.dedup_by_key(|candidate| candidate.slot);
        exact
    }

    /// A document with its whole score, if the options accept it.
    fn accepted(&self, slot: Slot) -> Option<Candidate<'i>> {
        let entry = self.index.entries[slot as usize].as_ref()?;
        self.options.accepts(entry).then(|| {
            let titles = self.index.title_scores(&self.query, slot);
            let title_score: f32 = titles.iter().map(|(_, _, score)| score).sum();
            let phrase_score = self.index.phrase_score(&self.query, slot);
            let score = self.scores[slot as usize] + phrase_score + title_score;
            Candidate { score, slot, entry, is_weak: false }
        })
    }

    /// The best documents that the options accept, the best first. From the first one on that is not relevant by its
    /// words they are weak. A vector changes the order, and not the number of weak ones.
    fn best(&self, limit: usize, per_prefab: PerPrefab<'_>) -> Vec<Candidate<'i>> {
        let wanted = limit.max(MIN_CANDIDATES);
        let scored = (0..).zip(&self.scores).filter(|(_, score)| **score > 0.0);
        let mut rest: Vec<(f32, Slot)> = scored.map(|(slot, score)| (*score, slot)).collect();
        let mut best = Vec::new();
        let mut taken: HashMap<&str, usize> = HashMap::new();
        let mut count = wanted;
        // Further functions of a prefab take no place of others, since their titles may bring them forward.
        let mut places = 0;
        while places < wanted && !rest.is_empty() {
            for slot in self.take_best(&mut rest, count) {
                let Some(entry) = &self.index.entries[slot as usize] else { continue };
                let taken = taken.entry(&entry.prefab.id).or_default();
                let shown = per_prefab(&entry.prefab);
                if *taken < shown.max(MIN_CANDIDATES)
                    && places < wanted
                    && let Some(candidate) = self.accepted(slot)
                {
                    places += usize::from(*taken < shown);
                    *taken += 1;
                    best.push(candidate);
                }
            }
            count *= 4;
        }
        best.sort_unstable_by(Candidate::compare);
        let real = best.iter().position(|own| self.is_weak(own)).unwrap_or(best.len());
        if let (Ranker::Recommend, Some(vector)) = (self.ranker, &self.options.vector) {
            let candidates = best.iter_mut().map(|own| (own.slot, &mut own.score));
            self.index.add_similarity(vector, &mut candidates.collect::<Vec<_>>());
            best.sort_unstable_by(Candidate::compare);
        }
        if real == 0 {
            best.truncate(if self.options.keep_weak { MAX_WEAK_HITS } else { 0 });
        }
        best.iter_mut().skip(real).for_each(|own| own.is_weak = true);
        best
    }

    /// Takes the best `count` of some documents, the best first.
    fn take_best(&self, scored: &mut Vec<(f32, Slot)>, count: usize) -> impl Iterator<Item = Slot> {
        let mut best = if let Some(at) = scored.len().checked_sub(count) {
            // Ids are compared only among the best, because that is slow.
            let by_score = |a: &(f32, Slot), b: &(f32, Slot)| a.0.total_cmp(&b.0);
            let least = scored.select_nth_unstable_by(at, by_score).1.0;
            scored.extract_if(.., |(score, _)| *score >= least).collect()
        } else {
            std::mem::take(scored)
        };
        let id = |slot: Slot| self.index.entries[slot as usize].as_ref().map(|entry| &entry.id);
        let descending = |a: &(f32, Slot), b: &(f32, Slot)| {
            b.0.total_cmp(&a.0).then_with(|| id(a.1).cmp(&id(b.1)))
        };
        if best.len() > count {
            best.select_nth_unstable_by(count, descending);
            scored.extend(best.drain(count..));
        }
        best.sort_unstable_by(descending);
        best.into_iter().map(|(_, slot)| slot)
    }

    /// Whether a hit says little about the query: it lacks most words, and those that it has are common.
    fn is_weak(&self, hit: &Candidate<'_>) -> bool {
        let query = &self.query;
        let evidence = if query.is_ideographic { MIN_IDEOGRAPHIC_EVIDENCE } else { MIN_EVIDENCE };
        hit.score < evidence * max_term_score(self.index.max_idf())
            && !self.covers(hit.slot, &query.words)
            && !self.covers(hit.slot, &query.additional)
    }

    /// Whether a document contains a large part of some concepts, measured by their information.
    fn covers(&self, slot: Slot, concepts: &Concepts) -> bool {
        let covered = concepts.known.iter().map(|concept| {
            let found = concept.alternatives.iter();
            let found = found.filter(|(term, _)| self.index.posting(*term, slot).is_some());
            let found = found.map(|(term, weight)| weight * self.index.idf(*term));
            found.fold(0.0, f32::max).min(concept.information)
        });
        let covered: f32 = covered.sum();
        covered > 0.0 && covered >= MIN_COVERAGE * concepts.information
    }
}

impl Index {
    /// Scores of all slots, without adjacent words.
    fn scores(&self, query: &Query) -> Vec<f32> {
        let mut scores = vec![0.0; self.entries.len()];
        let mut best = vec![0.0_f32; self.entries.len()];
        let mut touched = Vec::new();
        for concept in query.concepts() {
            if let [(term, weight)] = concept.alternatives[..] {
                self.visit_scores(term, weight, |slot, score| {
                    scores[slot as usize] += score;
                });
                continue;
            }
            for (term, weight) in &concept.alternatives {
                self.visit_scores(*term, *weight, |slot, score| {
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

    fn visit_scores(&self, term: TermId, weight: f32, mut visit: impl FnMut(Slot, f32)) {
        let (weight, norms) = (weight * self.idf(term), self.norms());
        for posting in &self.term(term).postings {
            let frequency: f32 = field_frequencies(*posting, norms).iter().sum();
            visit(posting.slot, weight * saturate(frequency));
        }
    }
}
