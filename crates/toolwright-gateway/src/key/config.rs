//! `[keys.NAME]`: a client, the hash of its key, and its permissions.

use std::num::NonZeroU64;

use super::{Allow, DEFAULT_CALLS, InvalidKeyHash, Key, Pattern, Rates};
use crate::config::{Names, Result, Table, Value, name};

/// Reads `[keys]`.
pub(crate) fn read(table: Table<'_>, names: &Names) -> Result<Vec<Key>> {
    let mut keys: Vec<Key> = Vec::new();
    for (name, entry) in table.entries() {
        name::check(&name, &entry)?;
        let error = entry.error("");
        let key = key(name, entry.table()?, names)?;
        if let Some(twin) = keys.iter().find(|other| other.hash == key.hash) {
            let what =
                format!("this is also the key of `{}`; each client needs its own", twin.name);
            return Err(error.with_what(what));
        }
        keys.push(key);
    }
    Ok(keys)
}

fn key(name: String, mut table: Table<'_>, names: &Names) -> Result<Key> {
    let hint = format!("`toolwright key {name}` makes a key and prints its hash");
    let Some(hash) = table.take("hash") else {
        return Err(table.error("the key `hash` is missing").with_hint(hint));
    };
    let parsed = hash.text()?.parse();
    let hash =
        parsed.map_err(|error: InvalidKeyHash| hash.error(error.to_string()).with_hint(hint))?;
    let key = Key {
        hash,
        tenant: table.take_some("tenant", Value::words)?.unwrap_or_else(|| name.clone()),
        models: allow(table.take("models"), |pattern, value| {
            pattern.upstream().map_or(Ok(()), |name| names.check_upstream(name, value))
        })?,
        tools: allow(table.take("tools"), |_, _| Ok(()))?,
        approve: match table.take("approve") {
            None => Allow::NONE,
            list => allow(list, |_, _| Ok(()))?,
        },
        rates: Rates {
            requests_per_minute: table.take_some("requests_per_minute", rate)?,
            tokens_per_minute: table.take_some("tokens_per_minute", rate)?,
            calls_per_minute: match table.take_some("calls_per_minute", rate)? {
                None => NonZeroU64::new(DEFAULT_CALLS),
                calls => calls,
            },
        },
        name,
    };
    table.finish()?;
    Ok(key)
}

fn allow(
    list: Option<Value<'_>>,
    check: impl Fn(&Pattern, &Value<'_>) -> Result<()>,
) -> Result<Allow> {
    let Some(list) = list else { return Ok(Allow::All) };
    let mut patterns = Vec::new();
    for value in list.elements()? {
        let pattern = Pattern::new(value.words()?);
        check(&pattern, &value)?;
        patterns.push(pattern);
    }
    Ok(Allow::Only(patterns))
}

fn rate(value: &Value<'_>) -> Result<NonZeroU64> {
    let none = || value.error("this must be 1 or more; leave it out for no limit");
    NonZeroU64::new(value.number(1)?).ok_or_else(none)
}
