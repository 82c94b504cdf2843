//! The tools that find prefabs: by keywords, and by a described need.

use std::sync::Arc;

use toolwright_core::{Json, object};
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::prelude::*;

use super::{CatalogTools, LocalCatalog, filter, unavailable};
use crate::access::Access;
use crate::error::{CatalogError, Result};
use crate::store::{Catalog, FunctionHit, PrefabHit, SearchOptions};

/// What to try if the filter left nothing.
const NONE_CHOSEN: &str = "Functions were found, but none that serves this need. Describe it in other words, or set \
    `use_llm_filter` to false.";

/// What to try if all hits are weak.
const ALL_WEAK: &str = "These functions share only a few common words with the query (`weak`), and may not serve it. Read \
    their descriptions, or try other words.";

/// A search in a catalog.
type Search = fn(&Catalog, &Access, &str, &SearchOptions) -> Result<Vec<PrefabHit>>;

/// Finds prefabs (packages of functions) by keywords, tags or author. To describe a need in a sentence, use
/// `prefab_recommend`.
#[tool(read_only)]
pub(super) async fn search_prefabs(
    #[context] tools: &CatalogTools,
    #[scope] scope: &Scope,
    /// Keywords in any language: names, descriptions, functions, parameters
    #[schemars(length(max = 10000))]
    query: Option<String>,
    /// Tags; one of them must match
    #[default(Vec::new())]
    tags: Vec<String>,
    /// The author, without regard to case
    author: Option<String>,
    /// Maximum number of prefabs
    #[default(20)]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
) -> ToolResult {
    let query = query.filter(|query| !query.trim().is_empty());
    if query.is_none() && tags.is_empty() && author.is_none() {
        return Err(ToolError::new(
            "At least one search parameter (query, tags, or author) is required",
        ));
    }
    let options = SearchOptions::default()
        .with_tags(tags.iter().cloned())
        .with_author(author.clone())
        .with_limit(limit);
    let text = query.clone().unwrap_or_default();
    let (found, hint) = find(tools, scope, Catalog::search, text, options).await?;
    let mut result = object! {
        "prefabs": found.iter().map(prefab).collect::<Vec<Json>>(),
        "total_found": found.len(),
        "query": query,
        "tags": tags,
        "author": author,
    };
    result.insert_some("hint", hint);
    Ok(Output::json(result))
}

/// Recommends prefabs (packages of functions) for a need that is described in a sentence, in any language.
#[tool(read_only)]
pub(super) async fn prefab_recommend(
    #[context] tools: &CatalogTools,
    #[scope] scope: &Scope,
    /// What a function should do
    #[schemars(length(min = 1, max = 10000))]
    query: String,
    /// Maximum number of prefabs
    #[default(5)]
    #[schemars(range(min = 1, max = 20))]
    top_k: usize,
    /// Whether a model chooses among the prefabs that are found, if the host has one for this
    #[default(true)]
    use_llm_filter: bool,
) -> ToolResult {
    let model = tools.filter_model.as_ref().filter(|_| use_llm_filter);
    let limit = if model.is_some() { filter::MAX_CANDIDATES } else { top_k };
    let mut options = SearchOptions::default().with_limit(limit);
    if let Some(embeddings) = &tools.embeddings {
        let local = (tools.open)().await?;
        options.vector = embeddings.embed_need(local, &query, &tools.report).await;
    }
    let (mut found, mut hint) =
        find(tools, scope, Catalog::recommend, query.clone(), options).await?;
    if let Some(model) = model
        && !found.is_empty()
    {
        match filter::choose(model, &query, &found, top_k).await {
            Ok(chosen) => found = chosen.into_iter().map(|at| found[at].clone()).collect(),
            Err(why) => {
                (tools.report)(&format!("the model that filters recommendations failed: {why}"));
            }
        }
        found.truncate(top_k);
        hint = if found.is_empty() { Some(NONE_CHOSEN) } else { hint };
    }
    let mut result = object! {
        "recommended_prefabs": found.iter().map(prefab).collect::<Vec<Json>>(),
        "total_found": found.len(),
        "query_used": query,
    };
    result.insert_some("hint", hint);
    Ok(Output::json(result))
}

/// Returns what was found, and what to try if that is nothing.
async fn find(
    tools: &CatalogTools,
    scope: &Scope,
    search: Search,
    query: String,
    options: SearchOptions,
) -> Result<(Vec<PrefabHit>, Option<&'static str>), ToolError> {
    let LocalCatalog { catalog, runner } = (tools.open)().await?;
    let access = Access::of(scope).await;
    let searched = catalog.clone();
    // The first search reads or builds the index.
    let search = move || {
        catalog.hide_parameters(runner.all_hidden());
        let found = search(&catalog, &access, &query, &options)?;
        let hint = match &found[..] {
            [] => Some(catalog.hint(&access, &options)?),
            found => found.iter().all(PrefabHit::is_weak).then_some(ALL_WEAK),
        };
        Ok::<_, CatalogError>((found, hint))
    };
    let found = tokio::task::spawn_blocking(search).await;
    for warning in searched.take_search_warnings() {
        (tools.report)(&warning);
    }
    if let Some(embeddings) = &tools.embeddings {
        embeddings.start(&searched, Arc::clone(&tools.report));
    }
    found.map_err(|_| unavailable())?.map_err(|_| unavailable())
}

/// A found prefab, with the names and descriptions of its best functions.
fn prefab(hit: &PrefabHit) -> Json {
    hit.to_json(FunctionHit::to_json).into()
}
