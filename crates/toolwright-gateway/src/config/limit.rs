//! `[limits]`: how much a client may send, and how long it may take.

use std::time::Duration;

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;

/// What the listener lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes
    pub body: usize,
    /// The most bytes that the headers of a request may have together
    pub header_bytes: usize,
    /// The most headers that a request may have
    pub headers: usize,
    /// How many connections may be open at once
    pub connections: usize,
    /// How many bytes of bodies may be in memory at once
    pub memory: usize,
    /// How long the headers of a request may take
    pub header_timeout: Duration,
    /// How long a body may pause
    pub body_timeout: Duration,
    /// How long requests under way may take to end when the gateway stops
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 32_000_000,
            header_bytes: 64_000,
            headers: 100,
            connections: 10_000,
            memory: 512_000_000,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}

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
        drain: table.take_or("drain", usual.drain, Value::duration)?,
    };
    if limits.memory < limits.body {
        let what = format!(
            "`memory` ({} bytes) is less than `body` ({} bytes), so the largest body never fits",
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
