//! `[tool_sets.NAME]`: named sets of tools.

use std::collections::BTreeMap;

use super::error::ConfigError;
use super::mcp::{self, McpServer};
use super::refer::{CATALOG, Names};
use super::table::Table;
use super::value::Value;

/// Reads `[tool_sets]`: the names and patterns of each set.
pub(super) fn read(
    table: Table<'_>,
    names: &Names<'_>,
    servers: &BTreeMap<String, McpServer>,
) -> Result<BTreeMap<String, Vec<String>>, ConfigError> {
    let sets = table.entries().into_iter().map(|(name, entry)| {
        if !mcp::is_name(&name) || name == CATALOG {
            let what = "the name of a tool set has at most 32 ASCII letters, digits, `_` and `-`, \
                        and is not `catalog`";
            return Err(entry.error(what));
        }
        if servers.contains_key(&name) {
            let what = format!("`{name}` is the name of an MCP server, which /mcp/{name} serves");
            return Err(entry.error(what).with_hint("give the set another name"));
        }
        Ok((name, set(entry, names)?))
    });
    sets.collect()
}

fn set(value: Value<'_>, names: &Names<'_>) -> Result<Vec<String>, ConfigError> {
    let mut table = value.table()?;
    let Some(list) = table.take("tools") else {
        return Err(table.error("the key `tools` is missing: names of tools, or patterns with `*`"));
    };
    let mut tools = Vec::new();
    for tool in list.elements()? {
        if !tool.text()?.contains(['*', '?']) {
            names.check_tool(tool.text()?, &tool)?;
        }
        tools.push(tool.words()?);
    }
    table.finish()?;
    Ok(tools)
}
