//! `[tls]`: the certificate of the server.

use std::path::PathBuf;

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate chain, in PEM
    pub cert: PathBuf,
    /// Its private key, in PEM
    pub key: PathBuf,
}

/// Reads `[tls]`.
pub(super) fn read(mut table: Table<'_>) -> Result<Tls, ConfigError> {
    let cert = table.take_some("cert", Value::existing_file)?;
    let key = table.take_some("key", Value::existing_file)?;
    let (Some(cert), Some(key)) = (cert, key) else {
        return Err(table.error("`cert` and `key` are both needed: files in PEM"));
    };
    table.finish()?;
    Ok(Tls { cert, key })
}
