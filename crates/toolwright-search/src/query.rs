//! Queries: text to weighted concepts.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::index::Index;
use crate::synonyms::synonyms;
use crate::tokenize::{TermKind, Tokenizer};
use crate::vocabulary::TermId;

/// Saturation of repeated words: a word that is repeated without end counts `1 + REPETITION` times.
/// Long needs repeat the words of their examples and of the conversation around them.
const REPETITION: f32 = 0.5;

/// Weight of numbers and of words that only phrase a request.
const INCIDENTAL_WEIGHT: f32 = 0.5;

/// Weight of a synonym, relative to the word itself.
const SYNONYM_WEIGHT: f32 = 0.5;

/// Maximum number of different terms of a query. Further terms are ignored.
const MAX_QUERY_TERMS: usize = 256;

/// Words that phrase a request and seldom say what it is about.
const REQUEST_WORDS: &str = "able assist based certain currently curious detail find get give help \
     include including information interested kindly know let like look make need particular \
     planning possible provide recently regarding related relevant show some someone something \
     specific specifically such tell thing thinking use using various want wish wonder";

static REQUEST_TERMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let tokenizer = Tokenizer::new();
    REQUEST_WORDS.split_whitespace().map(|word| tokenizer.stem(word).into_owned()).collect()
});

/// Method of ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranker {
    /// By keywords, see [`Index::search`]
    Search,
    /// By a described need, see [`Index::recommend`]
    Recommend,
}

/// An additional concept of a query, for example the translations of one of its words.
///
/// A document scores with the best of the alternatives that it contains.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Concept {
    /// Texts and their weights. The weight of a word of the query is 1.
    pub alternatives: Vec<(String, f32)>,
}

/// A parsed query.
pub(crate) struct Query {
    pub(crate) concepts: Vec<QueryConcept>,
    /// Pairs of adjacent words
    pub(crate) pairs: Vec<[TermId; 2]>,
    /// Sum of the information of all words, including those that the index lacks
    pub(crate) information: f32,
    /// Whether most terms are Chinese, Japanese or Korean
    pub(crate) is_ideographic: bool,
}

/// Terms that stand for one concept. A document scores with the best of them.
pub(crate) struct QueryConcept {
    /// Weight of the word of the query
    pub(crate) weight: f32,
    /// Weighted inverse document frequency of the word of the query; 0 for incidental words
    pub(crate) information: f32,
    /// Terms and their weights
    pub(crate) alternatives: Vec<(TermId, f32)>,
}

impl Index {
    /// Parses a query.
    pub(crate) fn parse(&self, ranker: Ranker, text: &str, additional: &[Concept]) -> Query {
        let terms = self.query_terms(text);
        let is_ideographic = |term: &&String| TermKind::of(term) == TermKind::Ideographic;
        let ideographic = terms.iter().filter(is_ideographic).count();
        let mut query = Query {
            concepts: Vec::new(),
            pairs: match ranker {
                Ranker::Search => Vec::new(),
                Ranker::Recommend => self.adjacent_words(&terms),
            },
            information: 0.0,
            is_ideographic: 2 * ideographic > terms.len(),
        };
        for (term, count) in distinct(&terms) {
            let mut weight = count * (1.0 + REPETITION) / (count + REPETITION);
            let is_incidental = ranker == Ranker::Recommend && is_incidental(term);
            if is_incidental {
                weight *= INCIDENTAL_WEIGHT;
            }
            let id = self.term_id(term);
            let idf = id.map_or_else(|| self.max_idf(), |id| self.idf(id));
            let information = if is_incidental { 0.0 } else { weight * idf };
            query.information += information;
            let mut alternatives: Vec<(TermId, f32)> =
                id.map(|id| (id, weight)).into_iter().collect();
            match ranker {
                Ranker::Search if id.is_none() => {
                    let similar = self.similar_name_terms(term);
                    alternatives.extend(similar.map(|(id, factor)| (id, weight * factor)));
                }
                Ranker::Search => {}
                Ranker::Recommend => {
                    let known = synonyms(term).iter().filter_map(|synonym| self.term_id(synonym));
                    // A synonym is no stronger evidence than the word itself, however rare it is.
                    alternatives.extend(known.map(|synonym| {
                        let rarity = (idf / self.idf(synonym)).min(1.0);
                        (synonym, weight * SYNONYM_WEIGHT * rarity)
                    }));
                }
            }
            if !alternatives.is_empty() {
                query.concepts.push(QueryConcept { weight, information, alternatives });
            }
        }
        query.concepts.extend(additional.iter().map(|concept| self.resolve(concept)));
        query
    }

    fn query_terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.tokenizer.visit_terms(text, |term| terms.push(term.to_owned()));
        terms
    }

    /// Pairs of different adjacent words that the index has, in the order of the text.
    fn adjacent_words(&self, terms: &[String]) -> Vec<[TermId; 2]> {
        let words: Vec<Option<TermId>> = terms
            .iter()
            .filter(|term| TermKind::of(term) != TermKind::Ideographic)
            .map(|term| self.term_id(term))
            .collect();
        let mut seen = HashSet::new();
        words
            .windows(2)
            .filter_map(|pair| Some([pair[0]?, pair[1]?]))
            .filter(|pair| pair[0] != pair[1] && seen.insert(*pair))
            .take(MAX_QUERY_TERMS)
            .collect()
    }

    /// Terms of an additional concept. The weight of a text is divided among its terms.
    fn resolve(&self, concept: &Concept) -> QueryConcept {
        let mut alternatives = Vec::new();
        for (text, weight) in &concept.alternatives {
            let terms = self.query_terms(text);
            #[allow(clippy::cast_precision_loss, reason = "a text has few terms")]
            let share = weight / terms.len().max(1) as f32;
            let known = terms.iter().filter_map(|term| self.term_id(term));
            alternatives.extend(known.map(|id| (id, share)));
        }
        let information = alternatives.iter().map(|(term, _)| self.idf(*term)).fold(0.0, f32::max);
        QueryConcept { weight: 1.0, information, alternatives }
    }
}

/// Different terms with the number of their occurrences, in the order of the text.
fn distinct(terms: &[String]) -> Vec<(&str, f32)> {
    let mut positions: HashMap<&str, usize> = HashMap::new();
    let mut counts: Vec<(&str, f32)> = Vec::new();
    for term in terms {
        if let Some(position) = positions.get(term.as_str()) {
            counts[*position].1 += 1.0;
        } else if counts.len() < MAX_QUERY_TERMS {
            positions.insert(term, counts.len());
            counts.push((term, 1.0));
        }
    }
    counts
}

fn is_incidental(term: &str) -> bool {
    TermKind::of(term) == TermKind::Number || REQUEST_TERMS.contains(term)
}
