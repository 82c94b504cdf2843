//! `[plans]`: how long runs of plans are kept.

use std::time::Duration;

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;

/// How long runs of plans are kept. Runs that have not ended are kept as well, and do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plans {
    /// Maximum time since a run ended
    pub max_age: Duration,
    /// Maximum number of ended runs of each tenant
    pub max_runs: usize,
}

impl Default for Plans {
    fn default() -> Plans {
        Plans { max_age: Duration::from_hours(30 * 24), max_runs: 10_000 }
    }
}

/// Reads `[plans]`.
pub(super) fn read(mut table: Table<'_>) -> Result<Plans, ConfigError> {
    let Plans { max_age, max_runs } = Plans::default();
    let plans = Plans {
        max_age: table.take_or("max_age", max_age, Value::deadline)?,
        max_runs: table.take_or("max_runs", max_runs, |value| value.count(1))?,
    };
    table.finish()?;
    Ok(plans)
}
