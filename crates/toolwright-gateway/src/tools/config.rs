//! `[tools]`: the tools that the gateway runs itself.

pub mod sets;

use std::path::PathBuf;
use std::time::Duration;

use toolwright_runtime::Limits;
use toolwright_runtime::builtin::{self, Root};

use crate::config::{Result, Table, Value, check_tool};

/// Settings of the gateway's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// The folder that the tools work in
    pub root: PathBuf,
    /// Tools with effects that may run without approval
    pub allow: Vec<String>,
    /// Limits of a run
    pub limits: Limits,
}

impl Default for ToolSettings {
    /// The settings of a command without the table: the working directory.
    fn default() -> ToolSettings {
        ToolSettings { root: PathBuf::from("."), allow: Vec::new(), limits: default_limits() }
    }
}

/// Default limit on turns of one request.
const DEFAULT_TURNS: u32 = 20;

/// Default limit on calls of one request.
const DEFAULT_CALLS: u32 = 100;

/// Default limit on the duration of one request.
const DEFAULT_DURATION: Duration = Duration::from_mins(10);

/// Limits of a run that the configuration does not set.
pub fn default_limits() -> Limits {
    Limits::turns(DEFAULT_TURNS).with_calls(DEFAULT_CALLS).with_duration(DEFAULT_DURATION)
}

fn count(value: &Value<'_>) -> Result<u32> {
    u32::try_from(value.number(1)?).map_err(|_| value.error("this is too large"))
}

/// Reads `[tools]`; also returns the names of all tools.
pub(crate) fn read(mut table: Table<'_>) -> Result<(ToolSettings, Vec<String>)> {
    let Some(value) = table.take("root") else {
        let what = "the key `root` is missing: the folder that the tools work in";
        return Err(table.error(what));
    };
    let root = value.existing_folder()?;
    let opened =
        Root::open(&root).map_err(|error| value.error(format!("{}: {error}", root.display())))?;
    let handlers = builtin::handlers(opened);
    let names: Vec<String> = handlers.iter().map(|handler| handler.tool().name.clone()).collect();
    let mut allow = Vec::new();
    for tool in table.list("allow")? {
        check_tool(tool.text()?, &names, &tool)?;
        allow.push(tool.words()?);
    }
    let turns = table.take_or("max_turns", DEFAULT_TURNS, count)?;
    let calls = table.take_or("max_calls", DEFAULT_CALLS, count)?;
    let duration = table.take_or("max_duration", DEFAULT_DURATION, Value::deadline)?;
    let limits = Limits::turns(turns).with_calls(calls).with_duration(duration);
    table.finish()?;
    Ok((ToolSettings { root, allow, limits }, names))
}
