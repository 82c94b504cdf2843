//! What a search finds: prefabs with their best functions.

use std::sync::Arc;

use toolwright_core::object;
use toolwright_json::Object;
use toolwright_search::Match;

use crate::version::PrefabVersion;

/// A found prefab.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PrefabHit {
    /// The latest version
    pub prefab: Arc<PrefabVersion>,
    /// Its best functions, the best first
    pub functions: Vec<FunctionHit>,
    /// Whether the query is the id or the name of the prefab
    pub is_exact: bool,
}

impl PrefabHit {
    /// Whether all of its functions are weak hits.
    pub fn is_weak(&self) -> bool {
        !self.functions.is_empty() && self.functions.iter().all(|function| function.is_weak)
    }

    /// Returns it as an entry of an index, with its functions as another function writes them.
    pub fn to_json(&self, function: impl Fn(&FunctionHit) -> Object) -> Object {
        let manifest = &self.prefab.manifest;
        object! {
            "id": manifest.id.as_str(),
            "version": manifest.version.to_string(),
            "name": manifest.name.as_str(),
            "description": manifest.description.as_str(),
            "tags": manifest.tags.clone(),
            "author": manifest.author.clone(),
            "functions": self.functions.iter().map(function).collect::<Vec<Object>>(),
        }
    }
}

/// A found function.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FunctionHit {
    /// The name
    pub name: String,
    /// What it does
    pub description: String,
    /// The score, comparable only within the hits of one query
    pub score: f32,
    /// Whether it shares only few and common words with the query. Weak hits come last.
    pub is_weak: bool,
    /// The terms behind the score, if the hit is explained
    pub matches: Vec<Match>,
}

impl FunctionHit {
    /// Returns its name and description, and that it is weak.
    pub fn to_json(&self) -> Object {
        let mut document =
            object! {"name": self.name.as_str(), "description": self.description.as_str()};
        document.insert_some("weak", self.is_weak.then_some(true));
        document
    }
}
