//! The tools of the catalog, and its functions as tools of plans.

use std::sync::Arc;

use toolwright_catalog::remote::RemoteCatalog;
use toolwright_catalog::tools::{CatalogFuture, CatalogTools, EmbedFuture, EmbedKind, Embedder};
use toolwright_catalog::{Access, FunctionSource};
use toolwright_runtime::model::Model;
use toolwright_runtime::upstream::{EmbedRequest, Remote};
use toolwright_runtime::{ToolError, Toolbox};
use toolwright_transport::TransportError;

use crate::config::Config;
use crate::prefabs::{FILE_CONTENT, Functions};

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

/// Sets the tools of functions that are plans: those of a toolbox, and other functions.
pub(super) fn set_plan_tools(functions: &Arc<Functions>, toolbox: Toolbox) {
    let open = opened_by(functions);
    functions.set_plan_tools(Arc::new(move |access| {
        let open = open.clone();
        permitted(&toolbox, FunctionSource::opened_by(open), access)
    }));
}

/// Returns the tools and functions that may be called.
pub(super) fn permitted(toolbox: &Toolbox, functions: FunctionSource, access: Access) -> Toolbox {
    let functions = functions.with_access(access.clone());
    toolbox.filtered(move |name| access.permits(name)).with_unlisted(Arc::new(functions))
}

/// Opens the catalog with what runs its functions.
pub(super) fn open(functions: &Arc<Functions>) -> CatalogFuture {
    let functions = Arc::clone(functions);
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
        Some(functions) => open(&functions),
        None => Box::pin(async { Err(ToolError::new(RECONFIGURED).retryable()) }),
    }
}

/// The tools of the catalog, which is opened by the first call.
pub(super) fn tools(
    functions: &Arc<Functions>,
    config: &Config,
    models: CatalogModels,
) -> Result<CatalogTools, TransportError> {
    let mut tools = CatalogTools::opened_by(opened_by(functions));
    tools = tools.with_report(|problem| tracing::warn!("catalog: {problem}"));
    if let Some(model) = models.filter {
        tools = tools.with_filter_model(model);
    }
    if let Some(embedder) = models.embedder {
        tools = tools.with_embeddings(embedder);
    }
    if let Some(url) = &config.catalog.public_url {
        tools = tools.with_files_url(format!("{url}{FILE_CONTENT}"));
    }
    if let Some(gateway) = &config.prefab_gateway {
        let mut remote = RemoteCatalog::new(&gateway.base_url)?;
        if let Some(token) = &gateway.token {
            remote = remote.with_token(token.clone());
        }
        tools = tools.with_remote(Some(remote));
    }
    Ok(tools)
}
