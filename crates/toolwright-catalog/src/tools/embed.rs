//! Vectors of needs and functions by an embedding model, such as one at a vendor.
//!
//! The need is embedded when it is asked for. Functions are embedded in the background after a search, in batches;
//! until a function has a vector, it ranks by words.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toolwright_core::{Fault, FaultClass};
pub use toolwright_dialects::embed::EmbedKind;

use super::{LocalCatalog, Report};
use crate::store::{Catalog, EmbedTask, VectorSource};

/// Deadline of the vector of a need.
const NEED_DEADLINE: Duration = Duration::from_secs(3);

/// Deadline of the vectors of a batch of functions.
const BATCH_DEADLINE: Duration = Duration::from_mins(1);

/// Number of functions in a batch.
const BATCH: usize = 128;

/// Maximum number of characters of a text.
const MAX_CHARS: usize = 4_000;

/// Number of batches after which vectors are saved.
const BATCHES_PER_SAVE: usize = 32;

/// A text that every model embeds.
const ACCEPTABLE_TEXT: &str = "function";

/// Vectors that are being computed.
pub type EmbedFuture<'e> = Pin<Box<dyn Future<Output = Result<Vec<Vec<f32>>, Fault>> + Send + 'e>>;

/// Computes vectors of texts.
pub trait Embedder: Send + Sync + 'static {
    /// The identity of the vectors. Only vectors of one model can be compared.
    fn model(&self) -> &str;

    /// Returns a vector for each text, in order.
    fn embed(&self, texts: Vec<String>, kind: EmbedKind) -> EmbedFuture<'_>;
}

/// An embedding model. One that is created later supersedes it in a catalog, with the same progress if the model is the
/// same.
#[derive(Clone)]
pub(super) struct Embeddings {
    embedder: Arc<dyn Embedder>,
    source: VectorSource,
}

impl Embeddings {
    pub(super) fn new(embedder: impl Embedder) -> Embeddings {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let source = VectorSource { number, model: embedder.model().to_owned() };
        Embeddings { embedder: Arc::new(embedder), source }
    }

    /// Returns the vector of a need after its model, unless no function has one to compare or a failure was a moment
    /// ago.
    pub(super) async fn embed_need(
        &self,
        local: LocalCatalog,
        need: &str,
        report: &Report,
    ) -> Option<(String, Vec<f32>)> {
        let LocalCatalog { catalog, runner } = local;
        let (own, source) = (catalog.clone(), self.source.clone());
        let can_embed = blocking(move || {
            own.hide_parameters(runner.all_hidden());
            own.can_embed_need(&source)
        });
        if !matches!(can_embed.await, Ok(Ok(true))) {
            return None;
        }
        match self.embed(vec![need.to_owned()], EmbedKind::Query, NEED_DEADLINE).await {
            Ok(mut vectors) => vectors.pop().map(|vector| (self.source.model.clone(), vector)),
            Err(fault) => {
                // A refused need says nothing of others.
                if is_refusal(&fault) || catalog.pause_embedding(&self.source) {
                    report(&format!("a need has no vector: {fault}"));
                }
                None
            }
        }
    }

    /// Embeds the functions that have no vector, unless that is under way or failed a moment ago.
    pub(super) fn start(&self, catalog: &Catalog, report: Report) {
        let Some(task) = catalog.start_embedding(&self.source) else { return };
        let own = self.clone();
        tokio::spawn(async move {
            if let Err(why) = own.embed_functions(&task).await
                && task.catalog.pause_embedding(&own.source)
            {
                report(&format!("functions have no vectors yet: {why}"));
            }
        });
    }

    /// Embeds the functions that have no vector.
    async fn embed_functions(&self, task: &EmbedTask) -> Result<(), String> {
        let (mut limit, mut unsaved) = (BATCH, 0);
        loop {
            let has_more = self.embed_batch(&task.catalog, &mut limit).await;
            let is_last = !matches!(has_more, Ok(true));
            unsaved += usize::from(!is_last);
            if unsaved == BATCHES_PER_SAVE || is_last && unsaved > 0 {
                let own = task.catalog.clone();
                blocking(move || own.save_index()).await?;
                unsaved = 0;
            }
            if is_last {
                return has_more.map(|_| ());
            }
        }
    }

    /// Embeds some functions that have no vector. Returns whether there may be more.
    async fn embed_batch(&self, catalog: &Catalog, limit: &mut usize) -> Result<bool, String> {
        let (own, source, count) = (catalog.clone(), self.source.clone(), *limit);
        let missing = blocking(move || own.texts_without_vector(&source, count)).await?;
        let missing = missing.map_err(|error| error.to_string())?;
        let Some((revision, missing)) = missing.filter(|(_, missing)| !missing.is_empty()) else {
            return Ok(false);
        };
        let (ids, texts): (Vec<String>, Vec<String>) = missing.into_iter().unzip();
        let vectors = match self.embed(texts, EmbedKind::Document, BATCH_DEADLINE).await {
            Ok(vectors) => vectors.into_iter().map(Some).collect(),
            Err(fault) if !is_refusal(&fault) => return Err(fault.message),
            Err(_) if ids.len() > 1 => {
                *limit = ids.len() / 2;
                return Ok(true);
            }
            Err(_) => {
                // A model that refuses every text is at fault, not this one.
                let probe = vec![ACCEPTABLE_TEXT.to_owned()];
                let probed = self.embed(probe, EmbedKind::Document, BATCH_DEADLINE).await;
                probed.map_err(|fault| fault.message)?;
                vec![None]
            }
        };
        *limit = BATCH.min(*limit * 2);
        let (own, source) = (catalog.clone(), self.source.clone());
        let vectors = ids.into_iter().zip(vectors);
        blocking(move || own.set_vectors(&source, revision, vectors)).await
    }

    /// Returns a vector for each text.
    async fn embed(
        &self,
        mut texts: Vec<String>,
        kind: EmbedKind,
        deadline: Duration,
    ) -> Result<Vec<Vec<f32>>, Fault> {
        for text in &mut texts {
            if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
                text.truncate(end);
            }
        }
        let count = texts.len();
        let answer = tokio::time::timeout(deadline, self.embedder.embed(texts, kind)).await;
        let late = |_| Fault::new(FaultClass::Timeout, format!("no answer within {deadline:?}"));
        let vectors = answer.map_err(late)??;
        if vectors.len() != count {
            let message = "the number of vectors is not that of the texts";
            return Err(Fault::new(FaultClass::Internal, message));
        }
        Ok(vectors)
    }
}

/// Whether other texts may be accepted.
fn is_refusal(fault: &Fault) -> bool {
    matches!(fault.class, FaultClass::Invalid | FaultClass::TooLarge)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
}
