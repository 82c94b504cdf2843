//! Filters and limits of a query.

use crate::index::Entry;
use crate::query::Concept;

/// Filters and limits of a query.
#[must_use]
#[derive(Clone)]
#[non_exhaustive]
pub struct Options<'f> {
    /// Tags of which the prefab must have at least one, compared without case. No tags accept every
    /// prefab.
    pub tags: Vec<String>,
    /// Author that the prefab must have, compared without case
    pub author: Option<String>,
    /// Accepts documents by their ids. A document that it refuses is in no result, and takes no place in
    /// one.
    pub filter: Option<&'f dyn Fn(&str) -> bool>,
    /// Maximum number of hits
    pub limit: usize,
    /// Whether a few weak hits are returned if even the best one is below the threshold of relevance. They are
    /// marked.
    pub keep_weak: bool,
    /// Additional concepts, such as translations of words of the query
    pub concepts: Vec<Concept>,
    /// The vector of the need, by the model of the vectors of the documents. [`Index::recommend`] orders the best
    /// candidates by its similarity as well.
    ///
    /// [`Index::recommend`]: crate::Index::recommend
    pub vector: Option<Vec<f32>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            tags: Vec::new(),
            author: None,
            filter: None,
            limit: 10,
            keep_weak: false,
            concepts: Vec::new(),
            vector: None,
        }
    }
}

impl<'f> Options<'f> {
    /// Accepts prefabs with a tag, beside those with the tags before.
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Requires an author.
    pub fn with_author(mut self, author: impl Into<String>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Sets the function that accepts documents by their ids.
    pub fn with_filter(mut self, filter: &'f dyn Fn(&str) -> bool) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Sets the maximum number of hits.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets whether weak hits are returned if there are no others.
    pub fn with_weak_hits(mut self, keep_weak: bool) -> Self {
        self.keep_weak = keep_weak;
        self
    }

    /// Adds concepts to the query.
    pub fn with_concepts(mut self, concepts: impl IntoIterator<Item = Concept>) -> Self {
        self.concepts.extend(concepts);
        self
    }

    /// Sets the vector of the need.
    pub fn with_vector(mut self, vector: Option<Vec<f32>>) -> Self {
        self.vector = vector;
        self
    }

    pub(crate) fn accepts(&self, entry: &Entry) -> bool {
        let equal = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        let prefab = &entry.prefab;
        let has_tag = |tag: &String| prefab.tags.iter().any(|other| equal(tag, other));
        (self.tags.is_empty() || self.tags.iter().any(has_tag))
            && self.author.as_ref().is_none_or(|author| equal(author, &prefab.author))
            && self.filter.is_none_or(|filter| filter(&entry.id))
    }
}
