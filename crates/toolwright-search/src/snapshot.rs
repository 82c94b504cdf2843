//! The binary form of an index, so that a catalog starts without reading all texts again.
//!
//! Numbers have a variable length (7 bits in each byte, the low ones first), and texts follow their number
//! of bytes. What has a count is a list.
//!
//! ```text
//! snapshot = MAGIC, crc32 of the rest (4 bytes, little-endian), version, number of documents, terms,
//!            prefabs, model of the vectors, documents
//! term     = text, postings
//! posting  = number of documents since the posting before, set of the fields, counts
//! prefab   = id, name, description, tags, author, revision
//! document = id, name, position of the prefab, position of each term + 1, or 0 at the end of a field, number of
//!            terms of the summary, vector
//! vector   = 0 if it is not yet computed, or the number of its bytes + 1 and these
//! ```

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::document::{FIELDS, Field, Prefab};
use crate::index::{Entry, Index};
use crate::vocabulary::{END_OF_FIELD, Posting, Slot, TermId};

/// Begins every snapshot.
const MAGIC: &[u8] = b"TWSEARC3";

/// Number of bytes of the checksum.
const CHECKSUM_BYTES: usize = 4;

/// Another version may split texts into other terms, so that its snapshots are not read.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The reason why a snapshot cannot be read. The index must be built from the documents again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes are not a snapshot, or were changed or cut after it was written
    #[error("the snapshot of the search index is damaged")]
    Damaged,
    /// The snapshot was written by another version of this crate
    #[error("the snapshot of the search index has another version")]
    OtherVersion,
}

impl Index {
    /// Encodes the index.
    pub fn to_snapshot(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.text(VERSION);

        let mut documents = 0;
        let positions: Vec<usize> = self
            .entries
            .iter()
            .map(|entry| {
                documents += usize::from(entry.is_some());
                documents.saturating_sub(1)
            })
            .collect();
        let terms = &self.vocabulary.terms;
        let mut order: Vec<TermId> = (0..)
            .zip(terms)
            .filter(|(_, term)| !term.postings.is_empty())
            .map(|(id, _)| id)
            .collect();
        // Frequent terms come first, because small numbers take fewer bytes.
        order.sort_by_key(|id| Reverse(terms[*id as usize].postings.len()));
        let mut numbers = vec![0; terms.len()];
        body.number(self.len());
        body.number(order.len());
        for (number, id) in (1..).zip(order) {
            numbers[id as usize] = number;
            body.text(self.vocabulary.text(id));
            body.postings(&terms[id as usize].postings, &positions);
        }

        body.number(self.by_prefab.len());
        let mut prefabs: HashMap<&str, usize> = HashMap::new();
        for (position, prefab) in self.prefabs().enumerate() {
            prefabs.insert(&prefab.id, position);
            body.prefab(prefab);
        }

        body.text(&self.vectors.model);
        for (slot, entry) in (0..).zip(&self.entries) {
            let Some(entry) = entry else { continue };
            body.text(&entry.id);
            body.text(&entry.name);
            body.number(prefabs[&*entry.prefab.id]);
            body.number(entry.terms.len());
            for term in &entry.terms {
                body.number(if *term == END_OF_FIELD { 0 } else { numbers[*term as usize] });
            }
            body.number(entry.summary);
            body.vector(self.vectors.by_slot.get(&slot).map(AsRef::as_ref));
        }

        let checksum = crc32fast::hash(&body.bytes).to_le_bytes();
        [MAGIC, &checksum, &body.bytes].concat()
    }

    /// Decodes an index that [`Index::to_snapshot`] encoded.
    pub fn from_snapshot(bytes: &[u8]) -> Result<Index, SnapshotError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(SnapshotError::Damaged)?;
        let (checksum, body) =
            rest.split_at_checked(CHECKSUM_BYTES).ok_or(SnapshotError::Damaged)?;
        if checksum != crc32fast::hash(body).to_le_bytes() {
            return Err(SnapshotError::Damaged);
        }
        let mut body = Reader { bytes: body };
        if body.text() != Some(VERSION) {
            return Err(SnapshotError::OtherVersion);
        }
        body.index().ok_or(SnapshotError::Damaged)
    }
}

/// Flag beside the set of fields of a posting: a field has more than one occurrence, so that counts follow.
const HAS_COUNTS: usize = 1 << FIELDS;

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    #[allow(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    fn number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn vector(&mut self, vector: Option<&[i8]>) {
        self.number(vector.map_or(0, |vector| vector.len() + 1));
        self.bytes.extend(vector.into_iter().flatten().map(|number| number.cast_unsigned()));
    }

    fn postings(&mut self, postings: &[Posting], positions: &[usize]) {
        self.number(postings.len());
        let mut next = 0;
        for posting in postings {
            let position = positions[posting.slot as usize];
            self.number(position - next);
            next = position + 1;
            let counts = posting.counts;
            let fields =
                (0..FIELDS).filter(|field| counts[*field] > 0).map(|field| 1 << field).sum();
            if counts.iter().all(|count| *count <= 1) {
                self.number(fields);
            } else {
                self.number(fields | HAS_COUNTS);
                self.bytes.extend(counts.into_iter().filter(|count| *count > 0));
            }
        }
    }

    fn prefab(&mut self, prefab: &Prefab) {
        let Prefab { id, name, description, tags, author, revision } = prefab;
        self.text(id);
        self.text(name);
        self.text(description);
        self.number(tags.len());
        for tag in tags {
            self.text(tag);
        }
        self.text(author);
        self.text(revision);
    }
}

/// Reads what [`Writer`] wrote. Every method returns `None` if the bytes are not valid.
struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    fn index(mut self) -> Option<Index> {
        let mut index = Index::new();
        let documents = Slot::try_from(self.number()?).ok()?;
        let terms = self.number()?;
        index.vocabulary.reserve(terms.min(self.bytes.len()));
        for _ in 0..terms {
            let id = index.vocabulary.add(self.text()?);
            let postings = self.postings(documents)?;
            let is_in_name = |posting: &&Posting| posting.counts[Field::Name as usize] > 0;
            let names = postings.iter().filter(is_in_name).count();
            index.vocabulary.terms[id as usize].postings = postings;
            if names > 0 {
                index.add_names(id, u32::try_from(names).ok()?);
            }
        }
        let prefabs: Vec<Arc<Prefab>> =
            (0..self.number()?).map(|_| self.prefab().map(Arc::new)).collect::<Option<_>>()?;
        index.set_vector_model(self.text()?);
        for _ in 0..documents {
            let entry = Entry {
                id: self.text()?.into(),
                name: self.text()?.into(),
                prefab: prefabs.get(self.number()?)?.clone(),
                terms: (0..self.number()?).map(|_| self.term(terms)).collect::<Option<_>>()?,
                summary: self.number()?,
            };
            let slot = index.take_slot();
            index.set_entry(slot, entry);
            if let Some(length) = self.number()?.checked_sub(1) {
                index.vectors.insert(slot, self.vector(length)?);
            }
        }
        Some(index)
    }

    fn number(&mut self) -> Option<usize> {
        if let [byte @ 0..0x80, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Some(usize::from(*byte));
        }
        let mut number = 0_usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes.split_off_first().copied()
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = self.number()?;
        std::str::from_utf8(self.bytes.split_off(..length)?).ok()
    }

    fn vector(&mut self, length: usize) -> Option<Box<[i8]>> {
        Some(self.bytes.split_off(..length)?.iter().map(|byte| byte.cast_signed()).collect())
    }

    fn postings(&mut self, documents: Slot) -> Option<SmallVec<[Posting; 2]>> {
        let count = self.number()?;
        let mut postings = SmallVec::with_capacity(count.min(documents as usize));
        let mut next = 0;
        for _ in 0..count {
            let slot = self.number()?.checked_add(next)?;
            next = slot + 1;
            let fields = self.number()?;
            let mut counts = [0; FIELDS];
            for (field, count) in counts.iter_mut().enumerate() {
                if fields & 1 << field != 0 {
                    *count = if fields & HAS_COUNTS == 0 { 1 } else { self.byte()? };
                }
            }
            let slot = Slot::try_from(slot).ok().filter(|slot| *slot < documents)?;
            postings.push(Posting { slot, counts });
        }
        Some(postings)
    }

    fn prefab(&mut self) -> Option<Prefab> {
        Some(Prefab {
            id: self.text()?.to_owned(),
            name: self.text()?.to_owned(),
            description: self.text()?.to_owned(),
            tags: (0..self.number()?)
                .map(|_| self.text().map(str::to_owned))
                .collect::<Option<_>>()?,
            author: self.text()?.to_owned(),
            revision: self.text()?.to_owned(),
        })
    }

    fn term(&mut self, terms: usize) -> Option<TermId> {
        match self.number()? {
            0 => Some(END_OF_FIELD),
            number if number <= terms => TermId::try_from(number - 1).ok(),
            _ => None,
        }
    }
}
