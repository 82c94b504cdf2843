//! Vectors of documents, as one byte for each number.

use std::collections::HashMap;

use crate::vocabulary::Slot;

/// Maximum size of all vectors in bytes. Further functions have none.
const MAX_BYTES: usize = 512 << 20;

/// Vectors of documents.
#[derive(Default)]
pub(crate) struct Vectors {
    /// Model of the vectors
    pub(crate) model: String,
    /// Vectors by slot, each number as a multiple of the same unit. A document whose text has no vector has an
    /// empty one.
    pub(crate) by_slot: HashMap<Slot, Box<[i8]>>,
    /// Size of all vectors
    pub(crate) bytes: usize,
}

impl Vectors {
    pub(crate) fn insert(&mut self, slot: Slot, vector: Box<[i8]>) {
        self.remove(slot);
        let vector = if self.bytes + vector.len() > MAX_BYTES { Box::default() } else { vector };
        self.bytes += vector.len();
        self.by_slot.insert(slot, vector);
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        self.bytes -= self.by_slot.remove(&slot).map_or(0, |vector| vector.len());
    }

    /// Cosine of a vector and that of a document, if it has one of this length.
    pub(crate) fn similarity(&self, slot: Slot, vector: &[f32]) -> Option<f32> {
        let own = self.by_slot.get(&slot).filter(|own| own.len() == vector.len());
        own.map(|own| cosine(vector, own))
    }
}

/// Numbers as multiples of a 127th of the largest.
#[allow(clippy::cast_possible_truncation, reason = "the result is within ±127")]
pub(crate) fn quantize(vector: &[f32]) -> Box<[i8]> {
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return Box::default();
    }
    vector.iter().map(|number| (number / largest * 127.0).round() as i8).collect()
}

fn cosine(vector: &[f32], other: &[i8]) -> f32 {
    let pairs = || vector.iter().zip(other).map(|(a, b)| (*a, f32::from(*b)));
    let product: f32 = pairs().map(|(a, b)| a * b).sum();
    let norms = pairs().fold((0.0, 0.0), |(own, other), (a, b)| (own + a * a, other + b * b));
    let length = (norms.0 * norms.1).sqrt();
    if length > 0.0 { product / length } else { 0.0 }
}
