//! Why an HTTP client cannot be set up.

use std::path::PathBuf;

/// Why an HTTP client cannot be set up. No message contains a key or the address of a proxy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// A header is invalid
    #[error("the header `{name}` {why}")]
    Header {
        /// The header
        name: String,
        /// What is wrong with it
        why: &'static str,
    },
    /// An entry of an address policy is invalid
    #[error(
        "`{entry}` is not a host name, `*.` and a domain, an IP address (each with or without a \
         port), or a network such as 10.0.0.0/8"
    )]
    AllowedAddress {
        /// The entry
        entry: String,
    },
    /// The proxy URL is invalid
    #[error("the proxy's address {why}")]
    Proxy {
        /// What is wrong, and the remedy
        why: &'static str,
    },
    /// The proxy URL in an environment variable is invalid
    #[error("the variable {variable} is invalid: the proxy's address {why}")]
    ProxyVariable {
        /// The variable
        variable: &'static str,
        /// What is wrong, and the remedy
        why: &'static str,
    },
    /// A certificate file cannot be read
    #[error("cannot read the certificates in {}: {source}", path.display())]
    File {
        /// The file
        path: PathBuf,
        /// Why
        source: std::io::Error,
    },
    /// The certificates are invalid
    #[error("the extra CA cannot be trusted: {why}")]
    Certificates {
        /// What is wrong with them
        why: String,
    },
}
