//! Why an upstream cannot be set up, for whoever configures it.

use std::path::PathBuf;

use super::ProfileError;

/// An upstream cannot be set up as asked. No message has a key or an address in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address does not do
    #[error("upstream `{id}`: its base_url {why}")]
    Address {
        /// The upstream
        id: String,
        /// What is wrong and what to write instead
        why: &'static str,
    },
    /// The credential cannot be sent
    #[error(
        "upstream `{id}`: its key has characters that no HTTP header can carry; look for line \
         breaks and spaces around it"
    )]
    Credential {
        /// The upstream
        id: String,
    },
    /// There are no keys in a profile of AWS
    #[error("upstream `{id}`: {source}")]
    Profile {
        /// The upstream
        id: String,
        /// Why
        source: ProfileError,
    },
    /// A header cannot be sent
    #[error("upstream `{id}`: the header `{name}` {why}")]
    Header {
        /// The upstream
        id: String,
        /// The header
        name: String,
        /// What is wrong with it
        why: &'static str,
    },
    /// The proxy does not do
    #[error("the proxy's address {why}")]
    Proxy {
        /// What is wrong and what to write instead
        why: &'static str,
    },
    /// A file of certificates cannot be read
    #[error("cannot read the certificates in {}: {source}", path.display())]
    File {
        /// The file
        path: PathBuf,
        /// Why
        source: std::io::Error,
    },
    /// Certificates do not do
    #[error("the extra CA cannot be trusted: {why}")]
    Certificates {
        /// What is wrong with them
        why: String,
    },
}
