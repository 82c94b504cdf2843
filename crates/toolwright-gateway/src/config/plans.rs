//! `[plans]`: how many runs of plans are kept and for how long, and what happens to them after a restart.

use std::time::Duration;

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;

/// Settings of runs of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plans {
    /// Maximum time since a run ended
    pub max_age: Duration,
    /// Maximum number of runs of each tenant
    pub max_runs: usize,
    /// Maximum number of bytes of the runs of each tenant
    pub max_bytes: usize,
    /// What happens to runs that were in progress when the gateway stopped
    pub resume: Resume,
}

/// What happens after a start to runs that were in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// They go on
    Auto,
    /// They wait until somebody resumes them
    Ask,
}

impl Default for Plans {
    fn default() -> Plans {
        Plans {
            max_age: Duration::from_hours(30 * 24),
            max_runs: 10_000,
            max_bytes: 1 << 30,
            resume: Resume::Auto,
        }
    }
}

/// Reads `[plans]`.
pub(super) fn read(mut table: Table<'_>) -> Result<Plans, ConfigError> {
    let Plans { max_age, max_runs, max_bytes, resume } = Plans::default();
    let plans = Plans {
        max_age: table.take_or("max_age", max_age, Value::deadline)?,
        max_runs: table.take_or("max_runs", max_runs, |value| value.count(1))?,
        max_bytes: table.take_or("max_bytes", max_bytes, Value::size)?,
        resume: table.take_or("resume", resume, |value| match value.text()? {
            "auto" => Ok(Resume::Auto),
            "ask" => Ok(Resume::Ask),
            _ => Err(value.error("this must be \"auto\" or \"ask\"")),
        })?,
    };
    table.finish()?;
    Ok(plans)
}
