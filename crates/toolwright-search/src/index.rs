//! The inverted index, the forward index and their statistics.
//!
//! All statistics are integers that removal subtracts again, so that an index after a removal ranks
//! as one to which the document was never added.

use std::collections::{BTreeMap, HashMap};

use crate::document::{Document, FIELDS, Field};
use crate::tokenize::{TermKind, Tokenizer};

/// Index of a term in [`Index::terms`].
pub(crate) type TermId = u32;

/// Index of a document in [`Index::entries`].
pub(crate) type Slot = u32;

/// Ends a field in [`Entry::terms`].
pub(crate) const END_OF_FIELD: TermId = TermId::MAX;

/// An in-memory index of functions.
pub struct Index {
    pub(crate) tokenizer: Tokenizer,
    vocabulary: HashMap<Box<str>, TermId>,
    pub(crate) terms: Vec<Term>,
    pub(crate) entries: Vec<Option<Entry>>,
    /// Number of terms in each field of each slot
    pub(crate) lengths: Vec<[u16; FIELDS]>,
    /// Sum of [`Index::lengths`]
    pub(crate) total_lengths: [u64; FIELDS],
    /// Number of documents that have terms in each field
    pub(crate) field_counts: [u32; FIELDS],
    /// Words that occur in names, by their number of characters
    pub(crate) name_words: BTreeMap<usize, Vec<NameWord>>,
    free_slots: Vec<Slot>,
    by_id: HashMap<String, Slot>,
    /// Slots by folded name
    by_name: HashMap<String, Vec<Slot>>,
}

/// A term of the vocabulary.
pub(crate) struct Term {
    pub(crate) text: Box<str>,
    pub(crate) kind: TermKind,
    /// Documents that contain the term, by ascending slot
    pub(crate) postings: Vec<Posting>,
    /// Number of documents whose name contains the term
    name_count: u32,
}

/// Occurrences of a term in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) slot: Slot,
    /// Number of occurrences in each field, at most 255
    pub(crate) counts: [u8; FIELDS],
}

/// A word that occurs in names, for comparison with misspelled ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameWord {
    pub(crate) term: TermId,
    /// See [`letter_set`]
    pub(crate) letters: u32,
}

/// A document of the index.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) tags: Vec<String>,
    pub(crate) author: String,
    /// Terms in the order of the text, with [`END_OF_FIELD`] after each field
    pub(crate) terms: Box<[TermId]>,
}

impl Default for Index {
    fn default() -> Self {
        Index::new()
    }
}

impl Index {
    /// Creates an empty index.
    pub fn new() -> Self {
        Index {
            tokenizer: Tokenizer::new(),
            vocabulary: HashMap::new(),
            terms: Vec::new(),
            entries: Vec::new(),
            lengths: Vec::new(),
            total_lengths: [0; FIELDS],
            field_counts: [0; FIELDS],
            name_words: BTreeMap::new(),
            free_slots: Vec::new(),
            by_id: HashMap::new(),
            by_name: HashMap::new(),
        }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether the index has no document.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Adds a document. Replaces the document with the same id, if there is one.
    pub fn add(&mut self, document: Document) {
        self.remove(&document.id);
        let slot = self.take_slot();
        let mut terms = Vec::new();
        let mut lengths = [0; FIELDS];
        for (field, length) in Field::ALL.into_iter().zip(&mut lengths) {
            let start = terms.len();
            field.visit_texts(&document, |text| self.intern_terms(text, &mut terms));
            *length = u16::try_from(terms.len() - start).unwrap_or(u16::MAX);
            terms.push(END_OF_FIELD);
        }
        for (id, counts) in count(&terms) {
            let term = &mut self.terms[id as usize];
            if counts[Field::Name as usize] > 0 {
                term.name_count += 1;
                if term.name_count == 1 && term.kind == TermKind::Word {
                    let word = NameWord { term: id, letters: letter_set(&term.text) };
                    self.name_words.entry(term.text.chars().count()).or_default().push(word);
                }
            }
            let at = term.postings.partition_point(|posting| posting.slot < slot);
            term.postings.insert(at, Posting { slot, counts });
        }
        for (field, length) in lengths.into_iter().enumerate() {
            self.total_lengths[field] += u64::from(length);
            self.field_counts[field] += u32::from(length > 0);
        }
        self.lengths[slot as usize] = lengths;
        self.by_id.insert(document.id.clone(), slot);
        self.by_name.entry(fold(&document.name)).or_default().push(slot);
        self.entries[slot as usize] = Some(Entry {
            id: document.id,
            name: document.name,
            tags: document.tags,
            author: document.author,
            terms: terms.into_boxed_slice(),
        });
    }

    /// Removes a document. Returns whether the index had it.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.by_id.remove(id) else { return false };
        let Some(entry) = self.entries[slot as usize].take() else { return false };
        for (id, counts) in count(&entry.terms) {
            let term = &mut self.terms[id as usize];
            if counts[Field::Name as usize] > 0 {
                term.name_count -= 1;
                let words = self.name_words.get_mut(&term.text.chars().count());
                if let Some(words) = words.filter(|_| term.name_count == 0) {
                    words.retain(|word| word.term != id);
                }
            }
            if let Ok(at) = term.postings.binary_search_by_key(&slot, |posting| posting.slot) {
                term.postings.remove(at);
            }
        }
        let lengths = std::mem::take(&mut self.lengths[slot as usize]);
        for (field, length) in lengths.into_iter().enumerate() {
            self.total_lengths[field] -= u64::from(length);
            self.field_counts[field] -= u32::from(length > 0);
        }
        let folded = fold(&entry.name);
        if let Some(slots) = self.by_name.get_mut(&folded) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_name.remove(&folded);
            }
        }
        self.free_slots.push(slot);
        true
    }

    /// The document with this id.
    pub(crate) fn slot_of(&self, id: &str) -> Option<Slot> {
        self.by_id.get(id).copied()
    }

    /// Documents whose name differs from `name` only in case and separators.
    pub(crate) fn slots_named(&self, name: &str) -> &[Slot] {
        self.by_name.get(&fold(name)).map_or(&[], Vec::as_slice)
    }

    /// The term with this text, if a document contains it.
    pub(crate) fn term_id(&self, text: &str) -> Option<TermId> {
        let id = *self.vocabulary.get(text)?;
        (!self.terms[id as usize].postings.is_empty()).then_some(id)
    }

    /// The posting of a term for a document.
    pub(crate) fn posting(&self, term: TermId, slot: Slot) -> Option<Posting> {
        let postings = &self.terms[term as usize].postings;
        let at = postings.binary_search_by_key(&slot, |posting| posting.slot).ok()?;
        Some(postings[at])
    }

    fn take_slot(&mut self) -> Slot {
        self.free_slots.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.lengths.push([0; FIELDS]);
            Slot::try_from(self.entries.len() - 1).unwrap_or(Slot::MAX)
        })
    }

    fn intern_terms(&mut self, text: &str, into: &mut Vec<TermId>) {
        let Index { tokenizer, vocabulary, terms, .. } = self;
        tokenizer.visit_terms(text, |term| {
            let id = vocabulary.get(term).copied().unwrap_or_else(|| {
                let id = TermId::try_from(terms.len()).unwrap_or(END_OF_FIELD);
                let text: Box<str> = term.into();
                vocabulary.insert(text.clone(), id);
                terms.push(Term {
                    text,
                    kind: TermKind::of(term),
                    postings: Vec::new(),
                    name_count: 0,
                });
                id
            });
            into.push(id);
        });
    }
}

/// Counts the occurrences of each term in each field.
fn count(terms: &[TermId]) -> HashMap<TermId, [u8; FIELDS]> {
    let mut counts: HashMap<TermId, [u8; FIELDS]> = HashMap::new();
    let fields = terms.split(|term| *term == END_OF_FIELD);
    for (field, terms) in fields.take(FIELDS).enumerate() {
        for term in terms {
            let count = &mut counts.entry(*term).or_default()[field];
            *count = count.saturating_add(1);
        }
    }
    counts
}

/// Removes case and separators from a name.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The set of letters of a word, as bits. Letters whose code points are equal modulo 32 share a bit.
pub(crate) fn letter_set(word: &str) -> u32 {
    word.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) % 32))
}
