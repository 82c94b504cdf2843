//! `[responses]`: settings of stored responses of the Responses API.

use std::time::Duration;

use toolwright_runtime::store::expiring::Limits;

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;

/// Settings of stored responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Responses {
    /// Whether responses are stored
    pub store: bool,
    /// Limits of each client
    pub limits: Limits,
}

impl Default for Responses {
    fn default() -> Responses {
        let lifetime = Duration::from_hours(30 * 24);
        Responses { store: true, limits: Limits { lifetime, bytes: 256_000_000, entries: 10_000 } }
    }
}

/// Reads `[responses]`.
pub(super) fn read(mut table: Table<'_>) -> Result<Responses, ConfigError> {
    let Responses { store, limits } = Responses::default();
    let responses = Responses {
        store: table.take_or("store", store, Value::flag)?,
        limits: Limits {
            lifetime: table.take_or("max_age", limits.lifetime, Value::deadline)?,
            bytes: table.take_or("max_bytes", limits.bytes, Value::size)?,
            entries: table.take_or("max_entries", limits.entries, |value| value.count(1))?,
        },
    };
    table.finish()?;
    Ok(responses)
}
