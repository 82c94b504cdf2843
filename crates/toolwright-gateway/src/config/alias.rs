//! `[models]`: names of our own for models, each with what is tried in order.

use std::collections::BTreeMap;

use super::error::ConfigError;
use super::name;
use super::table::Table;
use super::upstream::OFFLINE;
use super::value::Value;

/// What an alias stands for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alias {
    /// Models, tried in order: `upstream/model`, another alias, or a vendor's own id
    pub targets: Vec<String>,
    /// The tools that the gateway runs itself for whoever uses the alias
    pub tools: Vec<String>,
}

/// Reads `[models]`. `upstreams` are the names that a target may begin with.
pub(super) fn read(
    table: Table<'_>,
    upstreams: &[&str],
) -> Result<BTreeMap<String, Alias>, ConfigError> {
    let mut aliases = BTreeMap::new();
    let mut places = Vec::new();
    for (name, entry) in table.entries() {
        name::check(&name, &entry)?;
        if name == OFFLINE {
            return Err(entry.error("`offline` is the name of an upstream that is always there"));
        }
        places.push((name.clone(), entry.error("")));
        aliases.insert(name, alias(entry, upstreams)?);
    }
    for (name, place) in places {
        if let Some(way) = cycle(&name, &aliases) {
            let what = format!("the alias leads back to itself: {}", way.join(" → "));
            return Err(place.with_what(what));
        }
    }
    Ok(aliases)
}

fn alias(entry: Value<'_>, upstreams: &[&str]) -> Result<Alias, ConfigError> {
    if !entry.is_table() {
        return Ok(Alias { targets: targets(entry, upstreams)?, tools: Vec::new() });
    }
    let mut table = entry.table()?;
    let Some(list) = table.take("use") else {
        return Err(table.error("the key `use` is missing: the models to try, in order"));
    };
    let targets = targets(list, upstreams)?;
    let tools = table.take("tools").map(Value::texts).transpose()?.unwrap_or_default();
    table.finish()?;
    Ok(Alias { targets, tools })
}

fn targets(entry: Value<'_>, upstreams: &[&str]) -> Result<Vec<String>, ConfigError> {
    if entry.is_text() {
        return Ok(vec![target(&entry, upstreams)?]);
    }
    let empty = entry.error("the list is empty; name one model or more");
    let elements = entry.elements()?;
    if elements.is_empty() {
        return Err(empty);
    }
    elements.iter().map(|element| target(element, upstreams)).collect()
}

fn target(value: &Value<'_>, upstreams: &[&str]) -> Result<String, ConfigError> {
    let text = value.words()?;
    match text.split_once('/') {
        None => Ok(text),
        Some((_, "")) => Err(value.error("the name of a model must follow the `/`")),
        Some((upstream, _)) => {
            check_upstream(upstream, upstreams, value)?;
            Ok(text)
        }
    }
}

/// Refuses what is not the name of an upstream.
pub(super) fn check_upstream(
    upstream: &str,
    upstreams: &[&str],
    value: &Value<'_>,
) -> Result<(), ConfigError> {
    if upstreams.contains(&upstream) {
        return Ok(());
    }
    let what = format!("there is no upstream `{upstream}`; there are: {}", upstreams.join(", "));
    Err(value.error(what).with_nearest(upstream, upstreams.iter().copied()))
}

/// The way from an alias back to itself, if there is one.
fn cycle(name: &str, aliases: &BTreeMap<String, Alias>) -> Option<Vec<String>> {
    let mut seen: Vec<&str> = Vec::new();
    let mut ways = vec![vec![name]];
    while let Some(way) = ways.pop() {
        let last = way.last().copied().unwrap_or_default();
        let Some(alias) = aliases.get(last) else { continue };
        for target in alias.targets.iter().map(String::as_str) {
            let mut longer = way.clone();
            longer.push(target);
            if target == name {
                return Some(longer.into_iter().map(str::to_owned).collect());
            }
            if !seen.contains(&target) {
                seen.push(target);
                ways.push(longer);
            }
        }
    }
    None
}
