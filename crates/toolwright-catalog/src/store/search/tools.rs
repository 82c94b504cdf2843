//! Search among tools that are not in the catalog, such as those of MCP servers.

use std::sync::Arc;

use toolwright_core::Tool;
use toolwright_search::{Document, Index, Options};

/// Returns the tools that serve a need best, at most `limit`: those that its words find, the best first, and then
/// others in their order.
pub fn rank_tools(mut tools: Vec<Arc<Tool>>, need: &str, limit: usize) -> Vec<Arc<Tool>> {
    let mut index = Index::new();
    for tool in &tools {
        let (id, name) = (tool.name.clone(), tool.name.clone());
        let description = tool.description.clone().unwrap_or_default();
        index.add(Document { id, name, description, ..Document::default() });
    }
    let hits = index.recommend(need, &Options::default().with_limit(limit));
    let rank = |tool: &Arc<Tool>| hits.iter().position(|hit| hit.id == tool.name);
    tools.sort_by_cached_key(|tool| rank(tool).unwrap_or(usize::MAX));
    tools.truncate(limit);
    tools
}
