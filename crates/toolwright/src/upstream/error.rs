//! Why an upstream cannot be set up.

use std::path::PathBuf;

use super::auth::ProfileError;

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

/// A known upstream cannot be used. No message has a key in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnownError {
    /// Its key is nowhere
    #[error("upstream `{id}` needs a key: set {variables}")]
    NoKey {
        /// The upstream
        id: &'static str,
        /// The variables that it may be in
        variables: String,
    },
    /// AWS is asked in a region, and none is named
    #[error("upstream `bedrock` needs a region: set AWS_REGION, or AWS_DEFAULT_REGION")]
    NoRegion,
    /// The region is none
    #[error(
        "upstream `bedrock`: its region has other characters than small letters, digits and '-'; \
         set AWS_REGION to one such as us-east-1"
    )]
    Region,
    /// The profile of AWS that the environment names has no keys
    #[error("upstream `bedrock` needs keys: {0}")]
    Profile(ProfileError),
    /// A variable's value does not do
    #[error("the variable {variable} does not do: {source}")]
    Variable {
        /// The variable
        variable: &'static str,
        /// Why
        source: RemoteError,
    },
    /// It cannot be set up
    #[error(transparent)]
    Remote(#[from] RemoteError),
}
