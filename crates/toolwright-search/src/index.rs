//! The inverted index, the forward index and their statistics.
//!
//! All statistics are integers that removal subtracts again, so that an index after a removal ranks
//! as one to which the document was never added.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::document::{Document, FIELDS, Field, Prefab};
use crate::tokenize::{TermKind, Tokenizer};
use crate::vector::Vectors;
use crate::vocabulary::{END_OF_FIELD, Posting, Slot, Term, TermId, Vocabulary};

/// An in-memory index of functions.
#[derive(Default)]
pub struct Index {
    pub(crate) tokenizer: Tokenizer,
    pub(crate) vocabulary: Vocabulary,
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
    by_id: HashMap<Arc<str>, Slot>,
    /// Slots by folded name
    by_name: HashMap<Box<str>, Vec<Slot>>,
    /// Prefabs by id
    pub(crate) by_prefab: BTreeMap<String, PrefabEntry>,
    counter: Counter,
    /// See [`Index::norms`]; empty after a change
    pub(crate) norms: OnceLock<Vec<[f32; FIELDS]>>,
    pub(crate) vectors: Vectors,
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
    pub(crate) id: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) prefab: Arc<Prefab>,
    /// Terms in the order of the text, with [`END_OF_FIELD`] after each field
    pub(crate) terms: Box<[TermId]>,
    /// Number of terms of the first sentence of the description
    pub(crate) summary: usize,
}

/// A prefab of the index.
pub(crate) struct PrefabEntry {
    pub(crate) prefab: Arc<Prefab>,
    /// Folded id and name
    folded: [String; 2],
    /// Documents of the prefab
    pub(crate) slots: Vec<Slot>,
}

impl PrefabEntry {
    fn new(prefab: Arc<Prefab>) -> Self {
        PrefabEntry { folded: [fold(&prefab.id), fold(&prefab.name)], prefab, slots: Vec::new() }
    }

    /// Whether the id or the name of the prefab is this one, without case and separators.
    pub(crate) fn is_named(&self, folded: &str) -> bool {
        !folded.is_empty() && self.folded.iter().any(|name| name == folded)
    }
}

impl Index {
    /// Creates an empty index.
    pub fn new() -> Self {
        Index::default()
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether the index has no document.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The prefabs of the documents, by ascending id.
    pub fn prefabs(&self) -> impl Iterator<Item = &Prefab> {
        self.by_prefab.values().map(|entry| &*entry.prefab)
    }

    /// Adds a document. Replaces the document with the same id, if there is one.
    pub fn add(&mut self, document: Document) {
        let mut terms = Vec::new();
        self.intern_terms(document.summary(), &mut terms);
        let summary = terms.len();
        terms.clear();
        for field in Field::ALL {
            field.visit_texts(&document, |text| self.intern_terms(text, &mut terms));
            terms.push(END_OF_FIELD);
        }
        self.insert(Entry {
            id: document.id.into(),
            name: document.name.into(),
            prefab: document.prefab,
            terms: terms.into(),
            summary,
        });
    }

    /// Removes a document. Returns whether the index had it.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.by_id.remove(id) else { return false };
        let Some(entry) = self.entries[slot as usize].take() else { return false };
        for (id, counts) in self.counter.count(&entry.terms) {
            self.vocabulary.terms[id as usize].remove(slot);
            if counts[Field::Name as usize] > 0 {
                self.remove_name(id);
            }
        }
        let lengths = std::mem::take(&mut self.lengths[slot as usize]);
        for (field, length) in lengths.into_iter().enumerate() {
            self.total_lengths[field] -= u64::from(length);
            self.field_counts[field] -= u32::from(length > 0);
        }
        let folded = fold(&entry.name);
        if let Some(slots) = self.by_name.get_mut(&*folded) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_name.remove(&*folded);
            }
        }
        if let Some(prefab) = self.by_prefab.get_mut(&entry.prefab.id) {
            prefab.slots.retain(|other| *other != slot);
            if prefab.slots.is_empty() {
                self.by_prefab.remove(&entry.prefab.id);
            }
        }
        self.vectors.remove(slot);
        self.free_slots.push(slot);
        self.norms.take();
        true
    }

    /// Removes all documents of a prefab. Returns their number.
    pub fn remove_prefab(&mut self, id: &str) -> usize {
        let Some(prefab) = self.by_prefab.get(id) else { return 0 };
        let entries = prefab.slots.iter().filter_map(|slot| self.entries[*slot as usize].as_ref());
        let ids: Vec<Arc<str>> = entries.map(|entry| entry.id.clone()).collect();
        ids.iter().filter(|id| self.remove(id)).count()
    }

    fn insert(&mut self, entry: Entry) {
        self.remove(&entry.id);
        let slot = self.take_slot();
        for (id, counts) in self.counter.count(&entry.terms) {
            self.vocabulary.terms[id as usize].insert(Posting { slot, counts });
            if counts[Field::Name as usize] > 0 {
                self.add_names(id, 1);
            }
        }
        self.set_entry(slot, entry);
    }

    /// Fills a free slot. The terms already have the postings of the document.
    pub(crate) fn set_entry(&mut self, slot: Slot, entry: Entry) {
        let mut fields = entry.terms.split(|term| *term == END_OF_FIELD);
        let lengths = std::array::from_fn(|_| {
            fields.next().map_or(0, |terms| u16::try_from(terms.len()).unwrap_or(u16::MAX))
        });
        for (field, length) in lengths.into_iter().enumerate() {
            self.total_lengths[field] += u64::from(length);
            self.field_counts[field] += u32::from(length > 0);
        }
        self.lengths[slot as usize] = lengths;
        self.by_id.insert(entry.id.clone(), slot);
        self.by_name.entry(fold(&entry.name).into()).or_default().push(slot);
        let prefab = self.by_prefab.entry(entry.prefab.id.clone());
        prefab.or_insert_with(|| PrefabEntry::new(entry.prefab.clone())).slots.push(slot);
        self.entries[slot as usize] = Some(entry);
        self.norms.take();
    }

    /// Counts the names of further documents that contain a term.
    pub(crate) fn add_names(&mut self, id: TermId, count: u32) {
        let term = &mut self.vocabulary.terms[id as usize];
        let is_new = term.name_count == 0;
        term.name_count += count;
        if is_new && term.kind == TermKind::Word {
            let text = self.vocabulary.text(id);
            let word = NameWord { term: id, letters: letter_set(text) };
            self.name_words.entry(text.chars().count()).or_default().push(word);
        }
    }

    /// Discounts the name of a document that contained a term.
    fn remove_name(&mut self, id: TermId) {
        let term = &mut self.vocabulary.terms[id as usize];
        term.name_count -= 1;
        if term.name_count == 0
            && let Some(words) = self.name_words.get_mut(&self.vocabulary.text(id).chars().count())
        {
            words.retain(|word| word.term != id);
        }
    }

    /// The document with this id.
    pub(crate) fn slot_of(&self, id: &str) -> Option<Slot> {
        self.by_id.get(id).copied()
    }

    /// Documents whose name differs from `name` only in case and separators.
    pub(crate) fn slots_named(&self, name: &str) -> &[Slot] {
        self.by_name.get(&*fold(name)).map_or(&[], Vec::as_slice)
    }

    /// The term with this text, if a document contains it.
    pub(crate) fn term_id(&self, text: &str) -> Option<TermId> {
        let id = self.vocabulary.find(text)?;
        (!self.term(id).postings.is_empty()).then_some(id)
    }

    /// The term with this id.
    pub(crate) fn term(&self, id: TermId) -> &Term {
        &self.vocabulary.terms[id as usize]
    }

    /// The posting of a term for a document.
    pub(crate) fn posting(&self, term: TermId, slot: Slot) -> Option<Posting> {
        let postings = &self.term(term).postings;
        let at = postings.binary_search_by_key(&slot, |posting| posting.slot).ok()?;
        Some(postings[at])
    }

    pub(crate) fn take_slot(&mut self) -> Slot {
        self.free_slots.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.lengths.push([0; FIELDS]);
            Slot::try_from(self.entries.len() - 1).unwrap_or(Slot::MAX)
        })
    }

    fn intern_terms(&mut self, text: &str, into: &mut Vec<TermId>) {
        let Index { tokenizer, vocabulary, .. } = self;
        tokenizer.visit_terms(text, |term| into.push(vocabulary.intern(term)));
    }
}

/// Counts the terms of documents. Its memory is reused.
#[derive(Default)]
struct Counter {
    /// For each term, its position in the counts of the current document plus 1, or 0
    positions: Vec<u32>,
}

impl Counter {
    /// Counts the occurrences of each term in each field.
    fn count(&mut self, terms: &[TermId]) -> Vec<(TermId, [u8; FIELDS])> {
        let mut counts: Vec<(TermId, [u8; FIELDS])> = Vec::with_capacity(terms.len());
        let fields = terms.split(|term| *term == END_OF_FIELD);
        for (field, terms) in fields.take(FIELDS).enumerate() {
            for term in terms {
                let at = *term as usize;
                if at >= self.positions.len() {
                    self.positions.resize(at + 1, 0);
                }
                if self.positions[at] == 0 {
                    counts.push((*term, [0; FIELDS]));
                    self.positions[at] = u32::try_from(counts.len()).unwrap_or(u32::MAX);
                }
                let count = &mut counts[self.positions[at] as usize - 1].1[field];
                *count = count.saturating_add(1);
            }
        }
        for (term, _) in &counts {
            self.positions[*term as usize] = 0;
        }
        counts
    }
}

/// Removes case and separators from a name.
pub(crate) fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The set of letters of a word, as bits. Letters whose code points are equal modulo 32 share a bit.
pub(crate) fn letter_set(word: &str) -> u32 {
    word.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) % 32))
}
