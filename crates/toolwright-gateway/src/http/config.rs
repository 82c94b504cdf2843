//! `[limits]` and `[tls]`: sizes, counts and timeouts of requests, each of which bounds the cost of a hostile or broken
//! client; and the certificate of the server.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Result, Table, Value};

/// Limits on what clients may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the body of a request, in bytes
    pub body: usize,
    /// Maximum size of the head of a request, in bytes
    pub header_bytes: usize,
    /// Maximum number of headers of a request
    pub headers: usize,
    /// Maximum number of connections; more wait to be accepted
    pub connections: usize,
    /// Maximum memory of the process, in bytes
    pub memory: usize,
    /// Maximum time for the head of a request, and for a TLS handshake
    pub header_timeout: Duration,
    /// Maximum time between two reads of a body
    pub body_timeout: Duration,
    /// Maximum time that a connection may wait for its next request
    pub idle_timeout: Duration,
    /// Maximum time that a client may not read its reply
    pub write_timeout: Duration,
    /// Maximum time for requests in flight after the gateway receives a signal to stop
    pub drain_timeout: Duration,
}

impl Limits {
    /// The bytes that requests and replies may take at once, as received and as decoded. Requests
    /// beyond it wait briefly and are then refused. The remaining memory is for the process itself.
    pub fn budget(&self) -> usize {
        self.memory / 4 * 3
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 32 << 20,
            header_bytes: 64 << 10,
            headers: 100,
            connections: 10_000,
            memory: 512 << 20,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(90),
            write_timeout: Duration::from_mins(5),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// Minimum buffer for headers that the server supports, in bytes.
const MIN_HEADER_BYTES: usize = 8192;

/// Reads `[limits]`.
pub(crate) fn read(mut table: Table<'_>) -> Result<Limits> {
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
        drain_timeout: table.take_or("drain_timeout", usual.drain_timeout, Value::duration)?,
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

fn header_bytes(value: &Value<'_>) -> Result<usize> {
    match value.size()? {
        bytes if bytes < MIN_HEADER_BYTES => {
            Err(value.error(format!("this must be {MIN_HEADER_BYTES} bytes or more")))
        }
        bytes => Ok(bytes),
    }
}

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, in PEM
    pub cert: PathBuf,
    /// Its private key, in PEM
    pub key: PathBuf,
}

/// Reads `[tls]`.
pub(crate) fn read_tls(mut table: Table<'_>) -> Result<TlsFiles> {
    let cert = table.take_some("cert", Value::existing_file)?;
    let key = table.take_some("key", Value::existing_file)?;
    let (Some(cert), Some(key)) = (cert, key) else {
        return Err(table.error("`cert` and `key` are both needed: files in PEM"));
    };
    table.finish()?;
    Ok(TlsFiles { cert, key })
}
