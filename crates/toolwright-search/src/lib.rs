//! Search for tools: an in-memory index of functions and two rankers.
//!
//! - [`Index::search`] ranks by keywords: an exact name is the first hit, misspelled words match the
//!   closest words of names, and tags and authors filter.
//! - [`Index::recommend`] ranks by a described need, usually a sentence or more: words of nearly one
//!   meaning match each other, adjacent words of the need count more where they are adjacent in the
//!   function, and words that only phrase a request count less.
//! - [`Index::rank_prefabs`] ranks prefabs by their best functions, with either ranker.
//! - [`Index::explain`] lists the terms, fields and weights behind a hit, and [`Index::hint`] what to try
//!   if nothing is found.
//!
//! Both rankers score with BM25F over [`Field`]s. English and Russian words are stemmed; names in
//! camel case and snake case are split; Chinese, Japanese and Korean text is indexed as characters
//! and pairs of characters. A name or a first sentence that is the query counts for more than its words. A query that
//! nothing answers has no hits, or a few that are marked as weak if [`Options::keep_weak`] is set.
//!
//! A [`Dictionary`] translates the words of a query, so that a need in Chinese finds functions that are
//! described in English, and the reverse.
//!
//! Vectors, if there are some, order the best candidates of a need by meaning as well: [`Index::set_vector`] and
//! [`Options::vector`] take those of any model.
//!
//! [`Options::filter`] keeps functions out that a caller may not see. They are in no result, but count
//! in the statistics of words.
//!
//! The results depend only on the documents in the index, not on the order of additions and removals.
//! This crate has no IO, clock or randomness: [`Index::to_snapshot`] and [`Index::from_snapshot`] convert an
//! index to bytes and back, and [`Index::prefabs`] returns the revisions that it has, so that a catalog
//! starts quickly and then adds only what changed since the snapshot.
//!
//! ```
//! use toolwright_search::{Document, Index, Options};
//!
//! let mut index = Index::new();
//! index.add(Document {
//!     id: "weather/get_forecast".into(),
//!     name: "get_forecast".into(),
//!     description: "Weather forecast for a city".into(),
//!     ..Document::default()
//! });
//! let hits = index.search("forecast", &Options::default());
//! assert_eq!(hits[0].id, "weather/get_forecast");
//! assert!(index.search("parse a spreadsheet", &Options::default()).is_empty());
//! ```
//!
//! The crate promises no stability of its own: it serves the catalog of `toolwright`, on which users depend.

mod dictionary;
mod document;
mod explain;
mod hint;
mod index;
mod options;
mod phrase;
mod query;
mod rank;
mod score;
mod similarity;
mod snapshot;
mod synonyms;
mod title;
mod tokenize;
mod typo;
mod vector;
mod vocabulary;

pub use dictionary::{Dictionary, DictionaryError};
pub use document::{Document, Field, Parameter, Prefab};
pub use explain::Match;
pub use index::Index;
pub use options::Options;
pub use query::{Concept, Ranker};
pub use rank::{Hit, PrefabHit};
pub use snapshot::SnapshotError;
