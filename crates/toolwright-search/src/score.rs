//! BM25F: weights of terms in documents.

use crate::document::FIELDS;
use crate::index::Index;
use crate::vocabulary::{Posting, TermId};

/// Weights of the fields, in the order of `Field::ALL`.
pub(crate) const FIELD_WEIGHTS: [f32; FIELDS] = [3.0, 1.0, 0.5, 1.0];

/// Saturation of term frequency (`k1` of BM25).
const SATURATION: f32 = 1.2;

/// Normalization by the length of a field (`b` of BM25).
const LENGTH_NORMALIZATION: f32 = 0.75;

impl Index {
    /// Factors of the term frequencies in each field of each slot: the weight of the field, normalized by
    /// its length relative to the average over the documents that have the field.
    #[allow(clippy::cast_precision_loss, reason = "an average needs no more digits")]
    pub(crate) fn norms(&self) -> &[[f32; FIELDS]] {
        self.norms.get_or_init(|| {
            let factors: [f32; FIELDS] = std::array::from_fn(|field| {
                let total = self.total_lengths[field].max(1) as f32;
                LENGTH_NORMALIZATION * self.field_counts[field] as f32 / total
            });
            let norm = |field: usize, length: u16| {
                let length = factors[field] * f32::from(length);
                FIELD_WEIGHTS[field] / (1.0 - LENGTH_NORMALIZATION + length)
            };
            let lengths = self.lengths.iter();
            lengths.map(|of| std::array::from_fn(|field| norm(field, of[field]))).collect()
        })
    }

    /// Inverse document frequency of a term.
    #[allow(clippy::cast_precision_loss, reason = "a logarithm needs no more digits")]
    pub(crate) fn idf(&self, term: TermId) -> f32 {
        self.idf_of_count(self.document_count(term) as f32)
    }

    /// Inverse document frequency of a term that no document contains.
    pub(crate) fn max_idf(&self) -> f32 {
        self.idf_of_count(0.0)
    }

    /// Number of documents that contain a term.
    pub(crate) fn document_count(&self, term: TermId) -> usize {
        self.term(term).postings.len()
    }

    #[allow(clippy::cast_precision_loss, reason = "a logarithm needs no more digits")]
    pub(crate) fn idf_of_count(&self, documents: f32) -> f32 {
        (1.0 + (self.len() as f32 - documents + 0.5) / (documents + 0.5)).ln()
    }
}

/// Weighted frequencies of a term in the fields of a document.
pub(crate) fn field_frequencies(posting: Posting, norms: &[[f32; FIELDS]]) -> [f32; FIELDS] {
    let norms = norms[posting.slot as usize];
    std::array::from_fn(|field| f32::from(posting.counts[field]) * norms[field])
}

/// Saturates a term frequency.
pub(crate) fn saturate(frequency: f32) -> f32 {
    frequency * (SATURATION + 1.0) / (frequency + SATURATION)
}

/// The score that a term approaches in a document that repeats it.
pub(crate) fn max_term_score(idf: f32) -> f32 {
    idf * (SATURATION + 1.0)
}
