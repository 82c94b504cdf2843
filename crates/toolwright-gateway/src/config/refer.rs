//! Names that refer to entries of other tables: upstreams and tools.

use std::collections::BTreeMap;

use toolwright::catalog::tools;
use toolwright::upstream::providers;

use super::error::ConfigError;
use super::upstream::{OFFLINE, Upstream};
use super::value::Value;

/// The name that selects all tools of the catalog.
pub const CATALOG: &str = "catalog";

/// The names that can be referred to.
pub(super) struct Names<'n> {
    upstreams: Vec<&'n str>,
    /// Absent without the table `[tools]`
    tools: Option<Vec<String>>,
}

impl<'n> Names<'n> {
    /// Collects the names of configured, built-in and offline upstreams, and of tools.
    pub(super) fn new(
        upstreams: &'n BTreeMap<String, Upstream>,
        tools: Option<Vec<String>>,
    ) -> Names<'n> {
        let mut names: Vec<&str> = upstreams.keys().map(String::as_str).collect();
        for id in providers::all().map(|provider| provider.id).chain([OFFLINE]) {
            if !upstreams.contains_key(id) {
                names.push(id);
            }
        }
        Names { upstreams: names, tools }
    }

    /// Refuses the name of an unknown upstream.
    pub(super) fn check_upstream(&self, name: &str, value: &Value<'_>) -> Result<(), ConfigError> {
        check("upstream", name, &self.upstreams, value)
    }

    /// Refuses the name of an unknown tool.
    pub(super) fn check_tool(&self, name: &str, value: &Value<'_>) -> Result<(), ConfigError> {
        if name == CATALOG || tools::NAMES.contains(&name) {
            return Ok(());
        }
        let Some(tools) = &self.tools else {
            let hint = "add the table [tools] with the folder that they work in: root = \".\"";
            return Err(value.error("the gateway has no tools").with_hint(hint));
        };
        check_tool(name, tools, value)
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
