//! The vocabulary: terms and their postings.
//!
//! Most terms are rare, and a large catalog has more than a million of them, so that a term without many
//! postings has no allocation of its own.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

use crate::document::FIELDS;
use crate::tokenize::TermKind;

/// Index of a term in [`Vocabulary::terms`].
pub(crate) type TermId = u32;

/// Index of a document in the index.
pub(crate) type Slot = u32;

/// Ends a field in the terms of a document.
pub(crate) const END_OF_FIELD: TermId = TermId::MAX;

/// All terms that were ever added.
#[derive(Default)]
pub(crate) struct Vocabulary {
    /// Texts of all terms, one after the other
    texts: String,
    pub(crate) terms: Vec<Term>,
    /// Terms by their texts
    ids: HashTable<TermId>,
    hasher: DefaultHashBuilder,
}

/// A term of the vocabulary.
pub(crate) struct Term {
    /// Position of the text in [`Vocabulary::texts`]
    start: usize,
    length: u8,
    pub(crate) kind: TermKind,
    /// Number of documents whose names contain the term
    pub(crate) name_count: u32,
    /// Documents that contain the term, by ascending slot
    pub(crate) postings: SmallVec<[Posting; 2]>,
}

/// Occurrences of a term in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) slot: Slot,
    /// Number of occurrences in each field, at most 255
    pub(crate) counts: [u8; FIELDS],
}

impl Term {
    /// Adds a posting for a document that has none.
    pub(crate) fn insert(&mut self, posting: Posting) {
        if self.postings.last().is_none_or(|last| last.slot < posting.slot) {
            self.postings.push(posting);
        } else {
            let at = self.postings.partition_point(|other| other.slot < posting.slot);
            self.postings.insert(at, posting);
        }
    }

    /// Removes the posting for a document.
    pub(crate) fn remove(&mut self, slot: Slot) {
        if let Ok(at) = self.postings.binary_search_by_key(&slot, |posting| posting.slot) {
            self.postings.remove(at);
        }
    }
}

impl Vocabulary {
    /// The term with this text.
    pub(crate) fn find(&self, text: &str) -> Option<TermId> {
        let is_equal = |id: &TermId| self.text(*id) == text;
        self.ids.find(self.hasher.hash_one(text), is_equal).copied()
    }

    /// Makes room for further terms.
    pub(crate) fn reserve(&mut self, terms: usize) {
        let Vocabulary { texts, terms: known, ids, hasher } = self;
        known.reserve(terms);
        ids.reserve(terms, |id| hasher.hash_one(text(texts, &known[*id as usize])));
    }

    /// The term with this text, which is added if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> TermId {
        self.find(text).unwrap_or_else(|| self.add(text))
    }

    /// Text of a term.
    pub(crate) fn text(&self, id: TermId) -> &str {
        text(&self.texts, &self.terms[id as usize])
    }

    /// Adds a term that is new.
    pub(crate) fn add(&mut self, new: &str) -> TermId {
        let id = TermId::try_from(self.terms.len()).unwrap_or(END_OF_FIELD);
        self.terms.push(Term {
            start: self.texts.len(),
            length: u8::try_from(new.len()).unwrap_or(u8::MAX),
            kind: TermKind::of(new),
            name_count: 0,
            postings: SmallVec::new(),
        });
        self.texts.push_str(new);
        let Vocabulary { texts, terms, ids, hasher } = self;
        let hash = |id: &TermId| hasher.hash_one(text(texts, &terms[*id as usize]));
        ids.insert_unique(hasher.hash_one(new), id, hash);
        id
    }
}

fn text<'t>(texts: &'t str, term: &Term) -> &'t str {
    &texts[term.start..term.start + usize::from(term.length)]
}
