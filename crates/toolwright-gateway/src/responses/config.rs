//! `[responses]`: settings of stored responses of the Responses API.

use std::time::Duration;

use toolwright_runtime::store::expiring::Limits;

use crate::config::{Result, Table, Value};

/// Settings of stored responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseSettings {
    /// Whether responses are stored
    pub store: bool,
    /// Limits of each client
    pub limits: Limits,
}

impl Default for ResponseSettings {
    fn default() -> ResponseSettings {
        let lifetime = Duration::from_hours(30 * 24);
        ResponseSettings {
            store: true,
            limits: Limits { lifetime, bytes: 256_000_000, entries: 10_000 },
        }
    }
}

/// Reads `[responses]`.
pub(crate) fn read(mut table: Table<'_>) -> Result<ResponseSettings> {
    let ResponseSettings { store, limits } = ResponseSettings::default();
    let responses = ResponseSettings {
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
