//! `[models]`: aliases of models, each with its targets in order.

use std::collections::BTreeMap;

use crate::config::{Names, OFFLINE, Result, Table, Value, name};

/// An alias of models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alias {
    /// The targets, tried in order: `upstream/model`, another alias, or a vendor's id
    pub targets: Vec<String>,
    /// The tools that the gateway runs for requests to the alias
    pub tools: Vec<String>,
    /// Limit on output tokens to send if the client sets none; overrides that of the upstream
    pub max_tokens: Option<u64>,
}

/// Reads `[models]`.
pub(crate) fn read(table: Table<'_>, names: &Names) -> Result<BTreeMap<String, Alias>> {
    let mut aliases = BTreeMap::new();
    let mut errors = Vec::new();
    for (name, entry) in table.entries() {
        name::check(&name, &entry)?;
        if name == OFFLINE {
            return Err(entry.error("`offline` is the name of the built-in upstream"));
        }
        errors.push((name.clone(), entry.error("")));
        aliases.insert(name, alias(entry, names)?);
    }
    for (name, error) in errors {
        if let Some(path) = cycle(&name, &aliases) {
            let what = format!("the alias leads back to itself: {}", path.join(" → "));
            return Err(error.with_what(what));
        }
    }
    Ok(aliases)
}

fn alias(entry: Value<'_>, names: &Names) -> Result<Alias> {
    if !entry.is_table() {
        return Ok(Alias { targets: targets(entry, names)?, ..Alias::default() });
    }
    let mut table = entry.table()?;
    let Some(list) = table.take("use") else {
        return Err(table.error("the key `use` is missing: the models to try, in order"));
    };
    let targets = targets(list, names)?;
    let mut tools = Vec::new();
    for tool in table.list("tools")? {
        // Functions of the catalog are known when it is opened.
        if !tool.text()?.contains('/') {
            names.check_tool(tool.text()?, &tool)?;
        }
        tools.push(tool.words()?);
    }
    let max_tokens = table.take_some("max_tokens", |value| value.number(1))?;
    table.finish()?;
    Ok(Alias { targets, tools, max_tokens })
}

fn targets(entry: Value<'_>, names: &Names) -> Result<Vec<String>> {
    if entry.is_text() {
        return Ok(vec![target(&entry, names)?]);
    }
    let empty = entry.error("the list is empty; name one model or more");
    let elements = entry.elements()?;
    if elements.is_empty() {
        return Err(empty);
    }
    elements.iter().map(|element| target(element, names)).collect()
}

fn target(value: &Value<'_>, names: &Names) -> Result<String> {
    let text = value.words()?;
    match text.split_once('/') {
        None => Ok(text),
        Some((_, "")) => Err(value.error("the name of a model must follow the `/`")),
        Some((upstream, _)) => {
            names.check_upstream(upstream, value)?;
            Ok(text)
        }
    }
}

/// Returns the path from an alias back to itself, if there is a cycle.
fn cycle(name: &str, aliases: &BTreeMap<String, Alias>) -> Option<Vec<String>> {
    let mut seen: Vec<&str> = Vec::new();
    let mut paths = vec![vec![name]];
    while let Some(path) = paths.pop() {
        let last = path.last().copied().unwrap_or_default();
        let Some(alias) = aliases.get(last) else { continue };
        for target in alias.targets.iter().map(String::as_str) {
            let mut longer = path.clone();
            longer.push(target);
            if target == name {
                return Some(longer.into_iter().map(str::to_owned).collect());
            }
            if !seen.contains(&target) {
                seen.push(target);
                paths.push(longer);
            }
        }
    }
    None
}
