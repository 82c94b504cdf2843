//! Names that refer to entries of other tables: upstreams and tools.

use std::collections::BTreeMap;

use toolwright_catalog::tools;
use toolwright_runtime::upstream::providers;

use super::error::ConfigError;
use super::mcp::McpServer;
use super::upstream::{OFFLINE, Upstream};
use super::value::Value;

/// The name that selects all tools of the catalog.
pub const CATALOG: &str = "catalog";

/// What the name of all tools of an MCP server begins with.
pub const MCP: &str = "mcp:";

/// The names that can be referred to.
pub(super) struct Names<'n> {
    upstreams: Vec<&'n str>,
    /// Absent without the table `[tools]`
    tools: Option<Vec<String>>,
    mcp: &'n BTreeMap<String, McpServer>,
    /// The names of tool sets
    sets: Vec<String>,
}

impl<'n> Names<'n> {
    /// Collects the names of configured, built-in and offline upstreams, and of tools.
    pub(super) fn new(
        upstreams: &'n BTreeMap<String, Upstream>,
        tools: Option<Vec<String>>,
        mcp: &'n BTreeMap<String, McpServer>,
    ) -> Names<'n> {
        let mut names: Vec<&str> = upstreams.keys().map(String::as_str).collect();
        for id in providers::all().map(|provider| provider.id).chain([OFFLINE]) {
            if !upstreams.contains_key(id) {
                names.push(id);
            }
        }
        Names { upstreams: names, tools, mcp, sets: Vec::new() }
    }

    /// Adds the names of tool sets.
    pub(super) fn with_sets(mut self, sets: &BTreeMap<String, Vec<String>>) -> Names<'n> {
        self.sets = sets.keys().cloned().collect();
        self
    }

    /// Refuses the name of an unknown upstream.
    pub(super) fn check_upstream(&self, name: &str, value: &Value<'_>) -> Result<(), ConfigError> {
        check("upstream", name, &self.upstreams, value)
    }

    /// Refuses the name of an unknown tool.
    pub(super) fn check_tool(&self, name: &str, value: &Value<'_>) -> Result<(), ConfigError> {
        let is_set = self.sets.iter().any(|set| set == name);
        if is_set || name == CATALOG || tools::NAMES.contains(&name) || self.is_of_mcp(name) {
            return Ok(());
        }
        let Some(tools) = &self.tools else {
            let hint = "add the table [tools] with the folder that they work in: root = \".\"";
            return Err(value.error("the gateway has no tools").with_hint(hint));
        };
        check_tool(name, tools, value)
    }

    /// Whether a name may be one of a tool of an MCP server, or of all of them. Which tools there are is known
    /// when the servers run.
    fn is_of_mcp(&self, name: &str) -> bool {
        let server = name.strip_prefix(MCP);
        self.mcp.iter().any(|(own, settings)| {
            let begins = name.starts_with(&settings.prefix(own));
            server == Some(own) || begins || settings.names.values().any(|own| own == name)
        })
    }
}

/// Refuses a name that is not in a list of tools.
pub(super) fn check_tool(
    name: &str,
    tools: &[String],
    value: &Value<'_>,
) -> Result<(), ConfigError> {
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    check("tool", name, &names, value)
}

fn check(what: &str, name: &str, names: &[&str], value: &Value<'_>) -> Result<(), ConfigError> {
    if names.contains(&name) {
        return Ok(());
    }
    let refused = format!("there is no {what} `{name}`; there are: {}", names.join(", "));
    Err(value.error(refused).with_suggestion(name, names.iter().copied()))
}
