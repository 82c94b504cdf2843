//! `[tool_sets.NAME]`: named sets of tools.

use std::collections::BTreeMap;

use crate::config::{CATALOG, Names, Result, Table, Value, name};

/// Reads `[tool_sets]`: the names and patterns of each set.
pub(crate) fn read(table: Table<'_>, names: &Names) -> Result<BTreeMap<String, Vec<String>>> {
    let sets = table.entries().into_iter().map(|(name, entry)| {
        if !name::is_label(&name) || name == CATALOG {
            let what = "the name of a tool set has at most 32 ASCII letters, digits, `_` and `-`, \
                        and is not `catalog`";
            return Err(entry.error(what));
        }
        if names.servers.iter().any(|(server, _)| *server == name) {
            let what = format!("`{name}` is the name of an MCP server, which /mcp/{name} serves");
            return Err(entry.error(what).with_hint("give the set another name"));
        }
        Ok((name, set(entry, names)?))
    });
    sets.collect()
}

fn set(value: Value<'_>, names: &Names) -> Result<Vec<String>> {
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
