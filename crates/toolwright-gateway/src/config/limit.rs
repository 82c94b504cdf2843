//! `[limits]`: how much a client may send, and how long it may take.

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;
use crate::http::Limits;

/// The fewest bytes that a server can read headers into.
const LEAST_HEADER_BYTES: usize = 8192;

/// Reads `[limits]`.
pub(super) fn read(mut table: Table<'_>) -> Result<Limits, ConfigError> {
    let usual = Limits::default();
    let limits = Limits {
        body: table.take_or("body", usual.body, Value::size)?,
        header_bytes: table.take_or("header_bytes", usual.header_bytes, header_bytes)?,
        headers: table.take_or("headers", usual.headers, |value| value.count(1))?,
        connections: table.take_or("connections", usual.connections, |value| value.count(1))?,
        memory: table.take_or("memory", usual.memory, Value::size)?,
        header_timeout: table.take_or("header_timeout", usual.header_timeout, Value::deadline)?,
        body_timeout: table.take_or("body_timeout", usual.body_timeout, Value::deadline)?,
        idle_timeout: table.take_or("idle_timeout", usual.idle_timeout, Value::deadline)?,
        write_timeout: table.take_or("write_timeout", usual.write_timeout, Value::deadline)?,
        drain: table.take_or("drain", usual.drain, Value::duration)?,
    };
    if limits.budget() < limits.body {
        let what = format!(
            "three quarters of `memory` ({} bytes) are less than `body` ({} bytes), so the largest \
             body never fits",
            limits.memory, limits.body
        );
        return Err(table.error(what));
    }
    table.finish()?;
    Ok(limits)
}

fn header_bytes(value: &Value<'_>) -> Result<usize, ConfigError> {
    match value.size()? {
        bytes if bytes < LEAST_HEADER_BYTES => {
            Err(value.error(format!("this must be {LEAST_HEADER_BYTES} bytes or more")))
        }
        bytes => Ok(bytes),
    }
}
