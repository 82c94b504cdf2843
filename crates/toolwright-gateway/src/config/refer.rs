//! Names that refer to entries of other tables: upstreams and tools.

use toolwright_catalog::tools;
use toolwright_runtime::upstream::providers;

use super::error::Result;
use super::value::Value;

/// The name that selects all tools of the catalog.
pub const CATALOG: &str = "catalog";

/// What the name of all tools of an MCP server begins with.
pub const MCP: &str = "mcp:";

/// The built-in upstream, which has no table.
pub const OFFLINE: &str = "offline";

/// The names that can be referred to.
#[derive(Debug, Default)]
pub struct Names {
    /// The configured upstreams
    pub upstreams: Vec<String>,
    /// The built-in tools; absent without the table `[tools]`
    pub tools: Option<Vec<String>>,
    /// The MCP servers, with what the names of their tools begin with
    pub servers: Vec<(String, String)>,
    /// Names that MCP servers give to their tools
    pub renamed: Vec<String>,
    /// The tool sets
    pub sets: Vec<String>,
}

impl Names {
    /// Refuses the name of an unknown upstream.
    pub(crate) fn check_upstream(&self, name: &str, value: &Value<'_>) -> Result<()> {
        let mut known: Vec<&str> = self.upstreams.iter().map(String::as_str).collect();
        for id in providers::all().map(|provider| provider.id).chain([OFFLINE]) {
            if !known.contains(&id) {
                known.push(id);
            }
        }
        check("upstream", name, &known, value)
    }

    /// Refuses the name of an unknown tool.
    pub(crate) fn check_tool(&self, name: &str, value: &Value<'_>) -> Result<()> {
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
        let mut servers = self.servers.iter();
        servers.any(|(own, prefix)| server == Some(own) || name.starts_with(prefix))
            || self.renamed.iter().any(|tool| tool == name)
    }
}

/// Refuses a name that is not in a list of tools.
pub(crate) fn check_tool(name: &str, tools: &[String], value: &Value<'_>) -> Result<()> {
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    check("tool", name, &names, value)
}

fn check(what: &str, name: &str, names: &[&str], value: &Value<'_>) -> Result<()> {
    if names.contains(&name) {
        return Ok(());
    }
    let refused = format!("there is no {what} `{name}`; there are: {}", names.join(", "));
    Err(value.error(refused).with_suggestion(name, names.iter().copied()))
}
