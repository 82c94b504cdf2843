//! Similarity of meaning, which orders the best candidates of a need.

use crate::index::Index;
use crate::vector::{Vectors, quantize};
use crate::vocabulary::Slot;

/// Weight of a standard deviation of similarity, relative to one of the score.
const SIMILARITY_WEIGHT: f32 = 0.6;

/// Minimum deviation of the scores, relative to their average.
const MIN_DEVIATION: f32 = 0.05;

impl Index {
    /// Sets the model of the vectors. Vectors of another model are dropped.
    pub fn set_vector_model(&mut self, model: &str) {
        if self.vectors.model != model {
            self.vectors = Vectors { model: model.to_owned(), ..Vectors::default() };
        }
    }

    /// The model of the vectors, empty if none was set.
    pub fn vector_model(&self) -> &str {
        &self.vectors.model
    }

    /// Whether a document has a vector.
    pub fn has_vectors(&self) -> bool {
        self.vectors.bytes > 0
    }

    /// Sets the vector of a document, which [`Index::recommend`] compares with
    /// [`Options::vector`](crate::Options::vector). None if its text has no vector.
    pub fn set_vector(&mut self, id: &str, vector: Option<&[f32]>) {
        if let Some(slot) = self.slot_of(id) {
            self.vectors.insert(slot, vector.map(quantize).unwrap_or_default());
        }
    }

    /// Ids of the documents for which [`Index::set_vector`] was not called, in the order of their addition.
    pub fn ids_without_vector(&self) -> impl Iterator<Item = &str> {
        let entries = (0..).zip(&self.entries);
        let missing = entries.filter(|(slot, _)| !self.vectors.by_slot.contains_key(slot));
        missing.filter_map(|(_, entry)| entry.as_ref().map(|entry| &*entry.id))
    }

    /// Adds similarity to the scores of some documents. A document without a vector is as similar as the average.
    pub(crate) fn add_similarity(&self, vector: &[f32], scores: &mut [(Slot, &mut f32)]) {
        let similarity = |slot| self.vectors.similarity(slot, vector);
        let similarities: Vec<Option<f32>> =
            scores.iter().map(|(slot, _)| similarity(*slot)).collect();
        let (average, deviation) = distribution(similarities.iter().copied().flatten());
        let (score, unit) = distribution(scores.iter().map(|(_, score)| **score));
        // Similarity also decides between documents that score the same.
        let unit = unit.max(MIN_DEVIATION * score);
        if deviation > 0.0 {
            for ((_, score), similarity) in scores.iter_mut().zip(similarities) {
                let similarity = similarity.map_or(0.0, |own| (own - average) / deviation);
                **score += SIMILARITY_WEIGHT * unit * similarity;
            }
        }
    }
}

/// Average and standard deviation.
#[allow(clippy::cast_precision_loss, reason = "there are few numbers")]
fn distribution(numbers: impl Iterator<Item = f32> + Clone) -> (f32, f32) {
    let count = numbers.clone().count().max(1) as f32;
    let average = numbers.clone().sum::<f32>() / count;
    let variance = numbers.map(|number| (number - average).powi(2)).sum::<f32>() / count;
    (average, variance.sqrt())
}
