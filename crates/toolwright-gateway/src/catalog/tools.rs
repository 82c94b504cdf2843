//! The tools of the catalog, and its functions as tools of plans.

use std::sync::Arc;

use toolwright_catalog::FunctionSource;
use toolwright_catalog::remote::RemoteCatalog;
use toolwright_catalog::tools::{CatalogFuture, CatalogTools, EmbedFuture, EmbedKind, Embedder};
use toolwright_runtime::upstream::{EmbedRequest, Remote};
use toolwright_runtime::{Model, ToolError, Toolbox};

use super::config::{CatalogSettings, PrefabGateway};
use super::{FILE_CONTENT, Functions};
use crate::config::{ConfigError, Result};
use crate::models::route::{Backend, Candidate, Routes};
use crate::tools::{OpenCatalog, permitted};

/// Why the catalog cannot be used by a call that began before the configuration was loaded again.
const RECONFIGURED: &str = "The configuration was loaded again. Repeat the call.";

/// Models that the tools of the catalog use.
#[derive(Default)]
pub struct CatalogModels {
    /// Chooses among recommended prefabs
    pub filter: Option<Model>,
    /// Embeds needs and functions
    pub embedder: Option<UpstreamEmbedder>,
}

/// An embedding model at an upstream.
pub struct UpstreamEmbedder {
    /// The upstream
    pub remote: Remote,
    /// The name of the model there
    pub id: String,
    /// The full name, `upstream/model`
    pub model: String,
}

impl Embedder for UpstreamEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn embed(&self, texts: Vec<String>, kind: EmbedKind) -> EmbedFuture<'_> {
        let request = EmbedRequest::new(self.id.as_str(), texts).with_kind(kind);
        Box::pin(async { Ok(self.remote.embed(request).await?.vectors) })
    }
}

impl UpstreamEmbedder {
    /// Creates the embedder of a candidate for a model, if its upstream has embeddings.
    fn new(candidate: Candidate) -> Option<UpstreamEmbedder> {
        let model = candidate.name();
        match candidate.backend {
            Backend::Remote(remote) if remote.codec().embed_format().is_some() => {
                Some(UpstreamEmbedder { remote, id: candidate.model, model })
            }
            _ => None,
        }
    }
}

impl CatalogModels {
    /// Finds the models of a configuration.
    pub fn find(settings: &CatalogSettings, routes: &Routes) -> Result<Self> {
        let refused = |key: &str, why: String| ConfigError::new(format!("catalog.{key}"), why);
        let mut models = CatalogModels::default();
        if let Some(name) = &settings.filter_model {
            let found = routes.model(name);
            models.filter = Some(found.map_err(|fault| refused("filter_model", fault.message))?);
        }
        if let Some(name) = &settings.embeddings {
            let found = routes.find(name).map_err(|fault| refused("embeddings", fault.message))?;
            let embedder = found.into_iter().find_map(UpstreamEmbedder::new);
            let missing =
                || refused("embeddings", format!("the upstream of `{name}` has no embeddings"));
            models.embedder = Some(embedder.ok_or_else(missing)?);
        }
        Ok(models)
    }
}

/// Returns what opens the catalog with what runs its functions.
pub fn opener(functions: &Arc<Functions>) -> OpenCatalog {
    let functions = Arc::clone(functions);
    Arc::new(move || open(Arc::clone(&functions)))
}

fn open(functions: Arc<Functions>) -> CatalogFuture {
    Box::pin(async move {
        functions.open().await.map_err(|fault| ToolError::new(fault.message).retryable())
    })
}

/// Returns what opens the catalog for tools that the functions own: they do not own the functions, or neither would be
/// dropped.
fn opened_by(
    functions: &Arc<Functions>,
) -> impl Fn() -> CatalogFuture + Clone + Send + Sync + 'static {
    let functions = Arc::downgrade(functions);
    move || match functions.upgrade() {
        Some(functions) => open(functions),
        None => Box::pin(async { Err(ToolError::new(RECONFIGURED).retryable()) }),
    }
}

/// Sets the tools of functions that are plans: those of a toolbox, and other functions.
pub fn set_plan_tools(functions: &Arc<Functions>, toolbox: &Toolbox) {
    let (open, toolbox) = (opened_by(functions), toolbox.clone());
    functions.set_plan_tools(Arc::new(move |access| {
        permitted(&toolbox, FunctionSource::opened_by(open.clone()), access)
    }));
}

/// Returns the tools of the catalog, which is opened by the first call. `elsewhere` is the prefab gateway where
/// functions are called, if not here.
pub fn tools(
    functions: &Arc<Functions>,
    settings: &CatalogSettings,
    elsewhere: Option<&PrefabGateway>,
    models: CatalogModels,
) -> Result<CatalogTools> {
    let mut tools = CatalogTools::opened_by(opened_by(functions));
    tools = tools.with_report(|problem| tracing::warn!("catalog: {problem}"));
    if let Some(model) = models.filter {
        tools = tools.with_filter_model(model);
    }
    if let Some(embedder) = models.embedder {
        tools = tools.with_embeddings(embedder);
    }
    if let Some(url) = &settings.public_url {
        tools = tools.with_files_url(format!("{url}{FILE_CONTENT}"));
    }
    if let Some(gateway) = elsewhere {
        let remote = RemoteCatalog::new(&gateway.base_url);
        let mut remote =
            remote.map_err(|error| ConfigError::new("prefab_gateway", error.to_string()))?;
        if let Some(token) = &gateway.token {
            remote = remote.with_token(token.clone());
        }
        tools = tools.with_remote(Some(remote));
    }
    Ok(tools)
}
