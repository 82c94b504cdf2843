//! Search in a catalog: an index of the latest versions, which follows the changes of all processes.
//!
//! The index is built by the first query, from a snapshot in the data folder if there is one; each query
//! first adds what changed since. The snapshot is written again when much has changed.

mod hit;
mod snapshot;
mod tools;
mod vectors;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use toolwright_core::Json;
use toolwright_search::{Document, Index, Options, Parameter, Prefab, Ranker};

pub use toolwright_search::{Dictionary, DictionaryError};

use super::Catalog;
use crate::access::{Access, tool_name};
use crate::error::Result;
use crate::manifest::{Function, Manifest, Visibility};
pub use hit::{FunctionHit, PrefabHit};
pub use tools::rank_tools;
use vectors::EmbedProgress;
pub(crate) use vectors::{EmbedTask, VectorSource};

/// Number of changed functions after which the snapshot is written again.
const SNAPSHOT_CHANGES: usize = 1_000;

/// Filters and limits of a search.
#[must_use]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Tags of which a prefab must have at least one; compared without case
    pub tags: Vec<String>,
    /// Author that a prefab must have; compared without case
    pub author: Option<String>,
    /// Maximum number of prefabs
    pub limit: usize,
    /// Maximum number of functions that are named with a prefab; of a large one, up to ten are
    pub functions: usize,
    /// Whether hits are explained
    pub explain: bool,
    /// The vector of the need, after its model
    pub(crate) vector: Option<(String, Vec<f32>)>,
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions {
            tags: Vec::new(),
            author: None,
            limit: 20,
            functions: 3,
            explain: false,
            vector: None,
        }
    }
}

impl SearchOptions {
    /// Accepts prefabs with one of these tags.
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = String>) -> SearchOptions {
        self.tags.extend(tags);
        self
    }

    /// Requires an author.
    pub fn with_author(mut self, author: Option<String>) -> SearchOptions {
        self.author = author;
        self
    }

    /// Sets the maximum number of prefabs.
    pub fn with_limit(mut self, limit: usize) -> SearchOptions {
        self.limit = limit;
        self
    }

    /// Sets whether hits are explained.
    pub fn with_explanation(mut self, explain: bool) -> SearchOptions {
        self.explain = explain;
        self
    }
}

impl SearchOptions {
    /// Returns the vector of the need if it is of a model.
    fn vector_of(&self, model: &str) -> Option<Vec<f32>> {
        self.vector.as_ref().filter(|own| own.0 == model).map(|own| own.1.clone())
    }

    fn filtered<'f>(&self, filter: &'f dyn Fn(&str) -> bool) -> Options<'f> {
        let options = Options::default().with_limit(self.limit).with_filter(filter);
        let mut filtered = options.with_weak_hits(true);
        filtered.tags.clone_from(&self.tags);
        filtered.author.clone_from(&self.author);
        filtered
    }
}

/// Names of parameters by the name of their function as a tool.
pub(crate) type Parameters = BTreeMap<String, BTreeSet<String>>;

/// The index, and what understands queries beyond their words.
#[derive(Default)]
pub(super) struct SearchIndex {
    state: RwLock<State>,
    dictionary: OnceLock<Dictionary>,
    /// Warnings that nobody has taken yet
    warnings: Mutex<BTreeSet<String>>,
    progress: Mutex<EmbedProgress>,
}

/// The index, and the revision of the catalog that it has.
#[derive(Default)]
struct State {
    /// None before the first query
    index: Option<Index>,
    revision: u64,
    visibility: HashMap<String, Option<Visibility>>,
    /// Parameters that the host hides
    hidden: Parameters,
    /// Whether the settings of the host changed since the index was brought up to date
    is_outdated: bool,
    /// Number of functions that changed since the snapshot
    unsaved: usize,
}

impl State {
    fn is_current(&self, revision: u64) -> bool {
        self.index.is_some() && self.revision == revision && !self.is_outdated
    }

    /// Returns the functions of a prefab with parameters that the host hides.
    fn hidden_of<'s>(
        &'s self,
        prefab: &str,
    ) -> impl Iterator<Item = (&'s String, &'s BTreeSet<String>)> {
        let start = format!("{prefab}/");
        let own = self.hidden.range(start.clone()..);
        own.take_while(move |(function, _)| function.starts_with(&start))
    }

    /// Returns the revision of a prefab in the index. It changes with the manifest and with the parameters
    /// that the host hides.
    fn revision_of(&self, prefab: &ChangedPrefab) -> String {
        let mut revision = prefab.changed.to_string();
        for (function, parameters) in self.hidden_of(&prefab.id) {
            revision.extend([" ", function]);
            revision.extend(parameters.iter().flat_map(|parameter| [" ", parameter]));
        }
        revision
    }

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
    ) -> Result<Vec<PrefabHit>> {
        self.rank(access, Ranker::Search, query, options)
    }

    /// Finds prefabs by a described need.
    pub fn recommend(
        &self,
        access: &Access,
        need: &str,
        options: &SearchOptions,
    ) -> Result<Vec<PrefabHit>> {
        self.rank(access, Ranker::Recommend, need, options)
    }

    /// Sets the dictionary that translates queries, so that a need in Chinese finds functions that are
    /// described in English, and the reverse. Clones of the catalog share it; a second one is ignored.
    pub fn set_dictionary(&self, dictionary: Dictionary) {
        let _second = self.search_index().dictionary.set(dictionary);
    }

    /// Sets the parameters that the host hides from callers, by the name of their function as a tool. They are
    /// not searched. Clones of the catalog share them.
    pub(crate) fn hide_parameters(&self, hidden: Parameters) {
        let state = &self.search_index().state;
        if state.read().hidden != hidden {
            let mut state = self.write_state();
            (state.hidden, state.is_outdated) = (hidden, true);
        }
    }

    /// Returns the prefabs that searches left out since the last call, each with the reason why its manifest cannot
    /// be read.
    pub fn take_search_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.search_warnings()).into_iter().collect()
    }

    /// What to try if a search has no hits.
    pub fn hint(&self, access: &Access, options: &SearchOptions) -> Result<&'static str> {
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
    ) -> Result<Vec<PrefabHit>> {
        // The query is read before the index is locked.
        let dictionary = self.search_index().dictionary.get();
        let concepts = dictionary.map(|dictionary| dictionary.translate(query));
        let state = self.search_state()?;
        let Some(index) = &state.index else { return Ok(Vec::new()) };
        let filter = |id: &str| state.allows(access, id);
        let mut filtered = options.filtered(&filter);
        filtered.concepts = concepts.unwrap_or_default();
        filtered.vector = options.vector_of(index.vector_model());
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
                    is_weak: found.is_weak,
                    matches,
                })
            });
            let functions = functions.collect();
            hits.push(PrefabHit { prefab, functions, is_exact: hit.is_exact });
        }
        Ok(hits)
    }

    /// Brings the index up to date.
    fn search_state(&self) -> Result<RwLockReadGuard<'_, State>> {
        let state = &self.search_index().state;
        let revision = self.revision()?;
        {
            let state = state.read();
            if state.is_current(revision) {
                return Ok(state);
            }
        }
        let mut snapshot = None;
        {
            let mut state = self.write_state();
            if !state.is_current(revision) {
                snapshot = self.update(&mut state, revision)?;
            }
        }
        if let Some(bytes) = snapshot {
            self.write_snapshot(&bytes);
        }
        Ok(state.read())
    }

    /// Brings a state up to date. Returns the snapshot if it is to be written.
    fn update(&self, state: &mut State, revision: u64) -> Result<Option<Vec<u8>>> {
        let (mut index, since) = match state.index.take() {
            Some(index) => (index, (!state.is_outdated).then_some(state.revision)),
            None => (self.read_snapshot(), None),
        };
        let updated = self.update_index(state, &mut index, since);
        let mut snapshot = None;
        if updated.is_ok() && state.unsaved >= SNAPSHOT_CHANGES {
            snapshot = Some(index.to_snapshot());
            state.unsaved = 0;
        }
        state.index = Some(index);
        // After an error it has some of the changes. The next query compares all prefabs with it.
        state.is_outdated = updated.is_err();
        updated?;
        state.revision = revision;
        Ok(snapshot)
    }

    /// Adds what changed since a revision, or all that the index does not have. A prefab whose manifest cannot be
    /// read is left out, with a warning.
    fn update_index(&self, state: &mut State, index: &mut Index, since: Option<u64>) -> Result<()> {
        let changed = self.changed_prefabs(since)?;
        // What the index already has is not added again.
        let known: HashMap<String, String> = match since {
            Some(_) => HashMap::new(),
            None => index.prefabs().map(|own| (own.id.clone(), own.revision.clone())).collect(),
        };
        for prefab in &changed {
            state.visibility.insert(prefab.id.clone(), prefab.visibility);
            let revision = state.revision_of(prefab);
            let is_known = known.get(&prefab.id).is_some_and(|own| *own == revision);
            if is_known && prefab.is_deployed {
                continue;
            }
            let manifest = self.latest_manifest(&prefab.id)?;
            state.unsaved += index.remove_prefab(&prefab.id);
            match manifest {
                Some(Ok(manifest)) => {
                    for document in documents(&manifest, revision, &state.hidden) {
                        index.add(document);
                        state.unsaved += 1;
                    }
                }
                Some(Err(why)) => {
                    let warning = format!("searches do not find the prefab {}: {why}", prefab.id);
                    self.search_warnings().insert(warning);
                }
                None => {}
            }
        }
        if since.is_none() {
            // A prefab of the snapshot that is not in the catalog: the file was replaced.
            for id in known.keys().filter(|id| !state.visibility.contains_key(*id)) {
                index.remove_prefab(id);
            }
        }
        Ok(())
    }

    fn search_warnings(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.search_index().warnings.lock()
    }

    fn write_state(&self) -> RwLockWriteGuard<'_, State> {
        self.search_index().state.write()
    }
}

/// Returns the functions of a prefab. A prefab without functions is found by itself.
fn documents(manifest: &Manifest, revision: String, hidden: &Parameters) -> Vec<Document> {
    let prefab = Arc::new(Prefab {
        id: manifest.id.to_string(),
        name: manifest.name.clone(),
        description: manifest.description.clone(),
        tags: manifest.tags.clone(),
        author: manifest.author.clone().unwrap_or_default(),
        revision,
    });
    if manifest.functions.is_empty() {
        return vec![Document {
            id: prefab.id.clone(),
            name: prefab.name.clone(),
            description: prefab.description.clone(),
            parameters: Vec::new(),
            prefab,
        }];
    }
    let document = |function: &Function| {
        let id = tool_name(&prefab.id, &function.name);
        Document {
            name: function.name.clone(),
            description: function.description.clone(),
            parameters: parameters(function, hidden.get(&id)),
            id,
            prefab: Arc::clone(&prefab),
        }
    };
    manifest.functions.iter().map(document).collect()
}

/// Returns the parameters that callers see, and the files.
fn parameters(function: &Function, hidden: Option<&BTreeSet<String>>) -> Vec<Parameter> {
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
    let is_visible = |own: &Parameter| hidden.is_none_or(|hidden| !hidden.contains(&own.name));
    listed.filter(is_visible).chain(files).collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn an_update_that_fails_keeps_the_index() {
        let data = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(data.path()).unwrap();
        let search =
            || catalog.search(&Access::everything(), "read_file", &SearchOptions::default());
        let count = search().unwrap().len();
        let file = Connection::open(catalog.path()).unwrap();
        let change = "UPDATE revision SET number = number + 1;
            UPDATE prefab SET changed = (SELECT number FROM revision);
            ALTER TABLE version RENAME TO elsewhere";
        file.execute_batch(change).unwrap();
        search().unwrap_err();
        assert!(catalog.write_state().index.is_some());
        file.execute_batch("ALTER TABLE elsewhere RENAME TO version").unwrap();
        assert!(count > 0);
        assert_eq!(search().unwrap().len(), count);
    }
}
