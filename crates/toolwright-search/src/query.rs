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
    let tokenizer = Tokenizer::default();
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
    /// The words of the text
    pub(crate) words: Concepts,
    /// Additional concepts
    pub(crate) additional: Concepts,
    /// Pairs of adjacent words
    pub(crate) pairs: Vec<[TermId; 2]>,
    /// Whether most terms are Chinese, Japanese or Korean
    pub(crate) is_ideographic: bool,
}

/// Concepts that the index has.
#[derive(Default)]
pub(crate) struct Concepts {
    pub(crate) known: Vec<QueryConcept>,
    /// Sum of the information of all concepts, including those that the index lacks
    pub(crate) information: f32,
}

/// Terms that stand for one concept. A document scores with the best of them.
pub(crate) struct QueryConcept {
    /// Weighted inverse document frequency; 0 for incidental words
    pub(crate) information: f32,
    /// Terms and their weights
    pub(crate) alternatives: Vec<(TermId, f32)>,
}

impl Query {
    /// All concepts that the index has.
    pub(crate) fn concepts(&self) -> impl Iterator<Item = &QueryConcept> {
        self.words.known.iter().chain(&self.additional.known)
    }
}

impl Concepts {
    fn add(&mut self, concept: QueryConcept) {
        self.information += concept.information;
        if !concept.alternatives.is_empty() {
            self.known.push(concept);
        }
    }
}

impl Index {
    /// Parses a query.
    pub(crate) fn parse(&self, ranker: Ranker, text: &str, additional: &[Concept]) -> Query {
        let terms = self.tokenizer.terms(text);
        let is_ideographic = |term: &&String| TermKind::of(term) == TermKind::Ideographic;
        let known = || terms.iter().filter(|term| self.term_id(term).is_some());
        let ideographic = known().filter(is_ideographic).count();
        let mut query = Query {
            words: Concepts::default(),
            additional: Concepts::default(),
            pairs: match ranker {
                Ranker::Search => Vec::new(),
                Ranker::Recommend => self.adjacent_words(&terms),
            },
            is_ideographic: 2 * ideographic > known().count(),
        };
        for (term, count) in distinct(&terms) {
            let mut weight = count * (1.0 + REPETITION) / (count + REPETITION);
            let is_incidental = ranker == Ranker::Recommend && is_incidental(term);
            if is_incidental {
                weight *= INCIDENTAL_WEIGHT;
            }
            let id = self.term_id(term);
            let synonyms: Vec<TermId> = match ranker {
                Ranker::Search => Vec::new(),
                Ranker::Recommend => {
                    synonyms(term).iter().filter_map(|s| self.term_id(s)).collect()
                }
            };
            // A word that the index lacks is as rare as its rarest synonym.
            let idf = match id {
                Some(id) => self.idf(id),
                None if synonyms.is_empty() => self.max_idf(),
                None => synonyms.iter().map(|synonym| self.idf(*synonym)).fold(0.0, f32::max),
            };
            let information = if is_incidental { 0.0 } else { weight * idf };
            let mut alternatives: Vec<(TermId, f32)> =
                id.map(|id| (id, weight)).into_iter().collect();
            if ranker == Ranker::Search && id.is_none() {
                let similar = self.similar_name_terms(term);
                alternatives.extend(similar.map(|(id, factor)| (id, weight * factor)));
            }
            // A synonym is no stronger evidence than the word itself, however rare it is.
            alternatives.extend(synonyms.into_iter().map(|synonym| {
                let rarity = (idf / self.idf(synonym)).min(1.0);
                (synonym, weight * SYNONYM_WEIGHT * rarity)
            }));
            query.words.add(QueryConcept { information, alternatives });
        }
        for concept in additional {
            query.additional.add(self.resolve(ranker, concept));
        }
        query
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

    /// Terms of an additional concept that the index has. The weight of a text is divided among its
    /// terms, by their rarity. The concept is as rare as all its terms together, so that an unusual
    /// alternative is no stronger evidence.
    #[allow(clippy::cast_precision_loss, reason = "a logarithm needs no more digits")]
    fn resolve(&self, ranker: Ranker, concept: &Concept) -> QueryConcept {
        let mut alternatives: Vec<(TermId, f32)> = Vec::new();
        let mut is_incidental = false;
        for (text, weight) in &concept.alternatives {
            let terms = self.alternative_terms(text);
            is_incidental |= ranker == Ranker::Recommend
                && !terms.is_empty()
                && terms.iter().all(|term| self::is_incidental(term));
            let idf = |term: &String| self.term_id(term).map_or(self.max_idf(), |id| self.idf(id));
            let total: f32 = terms.iter().map(idf).sum();
            for term in &terms {
                let Some(id) = self.term_id(term) else { continue };
                let share = weight * idf(term) / total;
                match alternatives.iter_mut().find(|(other, _)| *other == id) {
                    Some((_, weight)) => *weight = weight.max(share),
                    None => alternatives.push((id, share)),
                }
            }
        }
        let counts = alternatives.iter().map(|(id, share)| share * self.document_count(*id) as f32);
        let idf = self.idf_of_count(counts.sum::<f32>().min(self.len() as f32));
        let factor = if is_incidental { INCIDENTAL_WEIGHT } else { 1.0 };
        for (id, weight) in &mut alternatives {
            *weight *= factor * idf / self.idf(*id);
        }
        let weight = concept.alternatives.iter().map(|(_, weight)| *weight).fold(0.0, f32::max);
        let information = if is_incidental { 0.0 } else { weight * idf };
        QueryConcept { information, alternatives }
    }

    /// Terms of an alternative. A Chinese word is found by its pairs of characters.
    fn alternative_terms(&self, text: &str) -> Vec<String> {
        let mut terms = self.tokenizer.terms(text);
        let is_pair = |term: &String| {
            TermKind::of(term) == TermKind::Ideographic && term.chars().count() == 2
        };
        if terms.iter().any(is_pair) {
            terms.retain(is_pair);
        }
        terms
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
