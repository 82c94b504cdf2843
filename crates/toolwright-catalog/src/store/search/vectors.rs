//! Vectors of functions: those that are missing, and the models that embed them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use toolwright_search::{Document, Index};

use super::{Parameters, documents};
use crate::error::Result;
use crate::store::Catalog;

/// Time after a failure until texts are embedded again.
const PAUSE: Duration = Duration::from_mins(1);

/// A revision of the catalog, and functions that have no vector, with the texts to embed.
type MissingVectors = (u64, Vec<(String, String)>);

/// An embedding model that sets the vectors of an index.
#[derive(Clone)]
pub(crate) struct VectorSource {
    /// Increases with each source. A later one supersedes those of other models.
    pub(crate) number: u64,
    /// The identity of the vectors
    pub(crate) model: String,
}

/// Progress of the sources of an index.
#[derive(Default)]
pub(super) struct EmbedProgress {
    /// The latest source that was used
    latest: Option<VectorSource>,
    /// The source that embeds functions now
    running: Option<VectorSource>,
    /// When texts are embedded again after a failure
    resume: Option<Instant>,
}

impl EmbedProgress {
    fn is_paused(&self) -> bool {
        self.resume.is_some_and(|at| at > Instant::now())
    }

    fn is_running(&self, source: &VectorSource) -> bool {
        self.running.as_ref().is_some_and(|own| own.number == source.number)
    }
}

/// A source embeds functions until this is dropped.
pub(crate) struct EmbedTask {
    pub(crate) catalog: Catalog,
    source: VectorSource,
}

impl Drop for EmbedTask {
    fn drop(&mut self) {
        let mut progress = self.catalog.progress();
        if progress.is_running(&self.source) {
            progress.running = None;
        }
    }
}

impl Catalog {
    /// Whether a source may embed a need: functions have vectors of its model, and no failure was a moment ago.
    pub(crate) fn can_embed_need(&self, source: &VectorSource) -> Result<bool> {
        if self.usable_progress(source).is_none() {
            return Ok(false);
        }
        let state = self.search_state()?;
        let index = state.index.as_ref();
        Ok(index.is_some_and(|own| own.vector_model() == source.model && own.has_vectors()))
    }

    /// Starts to embed functions, unless a source of the same model does or failed a moment ago.
    pub(crate) fn start_embedding(&self, source: &VectorSource) -> Option<EmbedTask> {
        let mut progress = self.usable_progress(source)?;
        if progress.running.as_ref().is_some_and(|own| own.model == source.model) {
            return None;
        }
        progress.running = Some(source.clone());
        Some(EmbedTask { catalog: self.clone(), source: source.clone() })
    }

    /// Embeds nothing for a while, after a failure. Returns whether this is news.
    pub(crate) fn pause_embedding(&self, source: &VectorSource) -> bool {
        let Some(mut progress) = self.usable_progress(source) else { return false };
        progress.resume = Some(Instant::now() + PAUSE);
        true
    }

    /// Returns the progress if a source may embed texts: it is not superseded, and there is no pause.
    fn usable_progress(&self, source: &VectorSource) -> Option<MutexGuard<'_, EmbedProgress>> {
        let mut progress = self.progress();
        match &progress.latest {
            Some(latest) if latest.number >= source.number => {
                if latest.model != source.model {
                    return None;
                }
            }
            _ => (progress.latest, progress.resume) = (Some(source.clone()), None),
        }
        (!progress.is_paused()).then_some(progress)
    }

    fn progress(&self) -> MutexGuard<'_, EmbedProgress> {
        self.search_index().progress.lock()
    }

    /// Returns functions that have no vector by a source; none if the source is superseded. Vectors of another model
    /// are dropped.
    pub(crate) fn texts_without_vector(
        &self,
        source: &VectorSource,
        limit: usize,
    ) -> Result<Option<MissingVectors>> {
        let is_of_model = |own: &Index| own.vector_model() == source.model;
        let is_set = self.search_state()?.index.as_ref().is_some_and(is_of_model);
        {
            let mut state = (!is_set).then(|| self.write_state());
            if !self.progress().is_running(source) {
                return Ok(None);
            }
            if let Some(index) = state.as_mut().and_then(|own| own.index.as_mut()) {
                index.set_vector_model(&source.model);
            }
        }
        let state = self.search_state()?;
        let missing = match &state.index {
            Some(index) => self.documents_without_vector(index, limit)?,
            None => Vec::new(),
        };
        let missing = missing.into_iter().map(|own| (own.vector_text(), own.id));
        Ok(Some((state.revision, missing.map(|(text, id)| (id, text)).collect())))
    }

    /// Sets vectors of functions, unless the catalog changed since a revision. Returns false if the vectors of the
    /// index are of another model.
    pub(crate) fn set_vectors(
        &self,
        source: &VectorSource,
        revision: u64,
        vectors: impl IntoIterator<Item = (String, Option<Vec<f32>>)>,
    ) -> bool {
        let mut state = self.write_state();
        let is_current = state.revision == revision;
        let index = state.index.as_mut().filter(|own| own.vector_model() == source.model);
        let Some(index) = index else { return false };
        if is_current {
            for (id, vector) in vectors {
                index.set_vector(&id, vector.as_deref());
            }
        }
        true
    }

    /// Returns documents of the index that have no vector yet.
    fn documents_without_vector(&self, index: &Index, limit: usize) -> Result<Vec<Document>> {
        let missing: BTreeSet<&str> = index.ids_without_vector().take(limit).collect();
        let prefabs = missing.iter().map(|id| id.split_once('/').map_or(*id, |own| own.0));
        let prefabs: BTreeSet<&str> = prefabs.collect();
        let mut found = Vec::new();
        for prefab in prefabs {
            let manifest = self.latest_manifest(prefab)?.and_then(Result::ok);
            let documents =
                manifest.map(|own| documents(&own, String::new(), &Parameters::default()));
            found.extend(documents.into_iter().flatten());
        }
        found.retain(|document| missing.contains(document.id.as_str()));
        Ok(found)
    }
}
