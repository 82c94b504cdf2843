//! `[tools]`: the tools that the gateway runs itself.

use std::path::PathBuf;

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;

/// The toolbox of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// The folder that the tools work in
    pub root: PathBuf,
    /// Tools with effects that may run without a person
    pub allow: Vec<String>,
}

/// Reads `[tools]`.
pub(super) fn read(mut table: Table<'_>) -> Result<Tools, ConfigError> {
    let Some(root) = table.take_some("root", Value::existing_folder)? else {
        let what = "the key `root` is missing: the folder that the tools work in";
        return Err(table.error(what));
    };
    let allow = table.take("allow").map(Value::texts).transpose()?.unwrap_or_default();
    table.finish()?;
    Ok(Tools { root, allow })
}
