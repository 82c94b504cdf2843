//! Search in a catalog: an index of the latest versions, which follows the changes of all processes.
//!
//! The index is built by the first query, from a snapshot in the data folder if there is one; each query
//! first adds what changed since. The snapshot is written again when much has changed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use toolwright_core::json::Object;
use toolwright_core::{Json, object};
pub use toolwright_search::{Dictionary, DictionaryError};
use toolwright_search::{Document, Index, Match, Options, Parameter, Prefab, Ranker};

use super::access::Access;
use super::manifest::{Function, Manifest, Visibility};
use super::store::{Catalog, CatalogError, PrefabVersion};

/// The snapshot in the data folder.
const SNAPSHOT_FILE: &str = "catalog-search.bin";

/// Number of changed functions after which the snapshot is written again.
const SNAPSHOT_CHANGES: usize = 1_000;

/// Filters and limits of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Tags of which a prefab must have at least one; compared without case
    pub tags: Vec<String>,
    /// Author that a prefab must have; compared without case
    pub author: Option<String>,
    /// Maximum number of prefabs
    pub limit: usize,
    /// Maximum number of functions that are named with a prefab
    pub functions: usize,
    /// Whether hits are explained
    pub explain: bool,
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions { tags: Vec::new(), author: None, limit: 20, functions: 3, explain: false }
    }
}

impl SearchOptions {
    /// Accepts prefabs with one of these tags.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = String>) -> SearchOptions {
        self.tags.extend(tags);
        self
    }

    /// Requires an author.
    #[must_use]
    pub fn with_author(mut self, author: Option<String>) -> SearchOptions {
        self.author = author;
        self
    }

    /// Sets the maximum number of prefabs.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> SearchOptions {
        self.limit = limit;
        self
    }

    /// Sets whether hits are explained.
    #[must_use]
    pub fn with_explanation(mut self, explain: bool) -> SearchOptions {
        self.explain = explain;
        self
    }
}

impl SearchOptions {
    fn filtered<'f>(&self, filter: &'f dyn Fn(&str) -> bool) -> Options<'f> {
        let mut filtered = Options::default().with_limit(self.limit).with_filter(filter);
        filtered.tags.clone_from(&self.tags);
        filtered.author.clone_from(&self.author);
        filtered
    }
}

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
    /// The terms behind the score, if the hit is explained
    pub matches: Vec<Match>,
}

/// The index, and the dictionary that translates queries.
#[derive(Default)]
pub(super) struct SearchIndex {
    state: RwLock<State>,
    dictionary: OnceLock<Dictionary>,
}

/// The index, and the revision of the catalog that it has.
#[derive(Default)]
struct State {
    /// None before the first query
    index: Option<Index>,
    revision: u64,
    visibility: HashMap<String, Option<Visibility>>,
    /// Number of functions that changed since the snapshot
    unsaved: usize,
}

impl State {
    /// Whether a caller may see a document.
    fn allows(&self, access: &Access, id: &str) -> bool {
        let (prefab, function) = id.split_once('/').unwrap_or((id, ""));
        let visibility = self.visibility.get(prefab).copied().flatten();
        let function = Some(function).filter(|function| !function.is_empty());
        access.allows_prefab(visibility, prefab, function)
    }
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SearchIndex")
    }
}

/// A prefab that changed, as the index needs it.
pub(super) struct ChangedPrefab {
    pub(super) id: String,
    pub(super) visibility: Option<Visibility>,
    pub(super) changed: u64,
    /// Whether it has a latest version
    pub(super) is_deployed: bool,
}

impl Catalog {
    /// Finds prefabs by keywords. Without a query, all prefabs are found, by id.
    pub fn search(
        &self,
        access: &Access,
        query: &str,
        options: &SearchOptions,
    ) -> Result<Vec<PrefabHit>, CatalogError> {
        self.rank(access, Ranker::Search, query, options)
    }

    /// Finds prefabs by a described need.
    pub fn recommend(
        &self,
        access: &Access,
        need: &str,
        options: &SearchOptions,
    ) -> Result<Vec<PrefabHit>, CatalogError> {
        self.rank(access, Ranker::Recommend, need, options)
    }

    /// Sets the dictionary that translates queries, so that a need in Chinese finds functions that are
    /// described in English, and the reverse. Clones of the catalog share it; a second one is ignored.
    pub fn set_dictionary(&self, dictionary: Dictionary) {
        let _second = self.search_index().dictionary.set(dictionary);
    }

    /// What to try if a search has no hits.
    pub fn hint(
        &self,
        access: &Access,
        options: &SearchOptions,
    ) -> Result<&'static str, CatalogError> {
        let state = self.search_state()?;
        let filter = |id: &str| state.allows(access, id);
        let index = state.index.as_ref();
        Ok(index.map_or("", |index| index.hint(&options.filtered(&filter))))
    }

    fn rank(
        &self,
        access: &Access,
        ranker: Ranker,
        query: &str,
        options: &SearchOptions,
    ) -> Result<Vec<PrefabHit>, CatalogError> {
        let state = self.search_state()?;
        let Some(index) = &state.index else { return Ok(Vec::new()) };
        let filter = |id: &str| state.allows(access, id);
        let mut filtered = options.filtered(&filter);
        if let Some(dictionary) = self.search_index().dictionary.get() {
            filtered.concepts = dictionary.translate(query);
        }
        let mut hits = Vec::new();
        for hit in index.rank_prefabs(ranker, query, &filtered, options.functions) {
            // It may have been removed since the index was brought up to date.
            let Ok(prefab) = self.version(access, &hit.prefab.id, None) else { continue };
            let functions = hit.functions.iter().filter_map(|found| {
                let function = prefab.function(access, &found.name).ok()?;
                let matches = if options.explain {
                    index.explain(ranker, query, &filtered, &found.id)
                } else {
                    Vec::new()
                };
                Some(FunctionHit {
                    name: function.name.clone(),
                    description: function.description.clone(),
                    score: found.score,
                    matches,
                })
            });
            let functions = functions.collect();
            hits.push(PrefabHit { prefab, functions, is_exact: hit.is_exact });
        }
        Ok(hits)
    }

    /// Brings the index up to date.
    fn search_state(&self) -> Result<RwLockReadGuard<'_, State>, CatalogError> {
        let state = &self.search_index().state;
        let revision = self.revision()?;
        {
            let state = state.read().unwrap_or_else(PoisonError::into_inner);
            if state.index.is_some() && state.revision == revision {
                return Ok(state);
            }
        }
        {
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            if state.index.is_none() || state.revision != revision {
                self.update(&mut state, revision)?;
            }
        }
        Ok(state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn update(&self, state: &mut State, revision: u64) -> Result<(), CatalogError> {
        let snapshot = self.snapshot_path();
        let (mut index, since) = match state.index.take() {
            Some(index) => (index, Some(state.revision)),
            None => (read_snapshot(&snapshot), None),
        };
        let changed = self.changed_prefabs(since)?;
        // What the snapshot already has is not added again.
        let known: HashMap<String, String> = match since {
            Some(_) => HashMap::new(),
            None => index.prefabs().map(|own| (own.id.clone(), own.revision.clone())).collect(),
        };
        for prefab in &changed {
            state.visibility.insert(prefab.id.clone(), prefab.visibility);
            let is_known =
                known.get(&prefab.id).is_some_and(|own| *own == prefab.changed.to_string());
            if is_known && prefab.is_deployed {
                continue;
            }
            state.unsaved += index.remove_prefab(&prefab.id);
            if let Some(manifest) = self.latest_manifest(&prefab.id)? {
                state.unsaved += add(&mut index, &manifest, prefab.changed);
            }
        }
        if since.is_none() {
            // A prefab of the snapshot that is not in the catalog: the file was replaced.
            for id in known.keys().filter(|id| !state.visibility.contains_key(*id)) {
                index.remove_prefab(id);
            }
        }
        if state.unsaved >= SNAPSHOT_CHANGES {
            // Without it the next process takes longer.
            let _saved = write_snapshot(&snapshot, &index.to_snapshot());
            state.unsaved = 0;
        }
        state.index = Some(index);
        state.revision = revision;
        Ok(())
    }

    fn snapshot_path(&self) -> PathBuf {
        self.path().with_file_name(SNAPSHOT_FILE)
    }
}

/// Adds the functions of a prefab, and returns their number. A prefab without functions is found by
/// itself.
fn add(index: &mut Index, manifest: &Manifest, changed: u64) -> usize {
    let prefab = Arc::new(Prefab {
        id: manifest.id.to_string(),
        name: manifest.name.clone(),
        description: manifest.description.clone(),
        tags: manifest.tags.clone(),
        author: manifest.author.clone().unwrap_or_default(),
        revision: changed.to_string(),
    });
    if manifest.functions.is_empty() {
        index.add(Document {
            id: prefab.id.clone(),
            name: prefab.name.clone(),
            description: prefab.description.clone(),
            parameters: Vec::new(),
            prefab,
        });
        return 1;
    }
    for function in &manifest.functions {
        index.add(Document {
            id: super::tool_name(&prefab.id, &function.name),
            name: function.name.clone(),
            description: function.description.clone(),
            parameters: parameters(function),
            prefab: Arc::clone(&prefab),
        });
    }
    manifest.functions.len()
}

/// Returns the parameters that callers see, and the files.
fn parameters(function: &Function) -> Vec<Parameter> {
    let text = |value: &Json, key: &str| {
        value.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    let listed = function.definition.get("parameters").and_then(Json::as_array).unwrap_or_default();
    let listed = listed.iter().map(|parameter| Parameter {
        name: text(parameter, "name"),
        description: text(parameter, "description"),
    });
    let files = function.files.iter().map(|file| Parameter {
        name: file.key.clone(),
        description: text(&file.schema, "description"),
    });
    listed.chain(files).collect()
}

fn read_snapshot(path: &Path) -> Index {
    let index = fs::read(path).ok().and_then(|bytes| Index::from_snapshot(&bytes).ok());
    index.unwrap_or_default()
}

/// Replaces the snapshot. Two processes may do so at once.
fn write_snapshot(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _gone = fs::remove_file(&temporary);
    }
    written
}
