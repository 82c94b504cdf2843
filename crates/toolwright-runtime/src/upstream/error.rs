//! Why an upstream cannot be set up.

use toolwright_transport::TransportError;

use super::auth::ProfileError;

/// Why a remote cannot be created. No message contains a key or an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The base URL is invalid
    #[error("upstream `{id}`: its base_url {why}")]
    Address {
        /// The upstream
        id: String,
        /// What is wrong, and the remedy
        why: &'static str,
    },
    /// The key is not a valid header value
    #[error(
        "upstream `{id}`: its key has characters that are not valid in an HTTP header; check for \
         line breaks and spaces around it"
    )]
    Credential {
        /// The upstream
        id: String,
    },
    /// An AWS profile has no keys
    #[error("upstream `{id}`: {source}")]
    Profile {
        /// The upstream
        id: String,
        /// Why
        source: ProfileError,
    },
    /// A header is invalid
    #[error("upstream `{id}`: the header `{name}` {why}")]
    Header {
        /// The upstream
        id: String,
        /// The header
        name: String,
        /// What is wrong with it
        why: &'static str,
    },
    /// The proxy or the certificates are invalid
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why a provider cannot be used. No message contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// No variable holds its key
    #[error("upstream `{id}` needs a key: set {variables}")]
    NoKey {
        /// The provider
        id: &'static str,
        /// The variables that may hold the key
        variables: String,
    },
    /// No variable names the AWS region
    #[error("upstream `bedrock` needs a region: set AWS_REGION, or AWS_DEFAULT_REGION")]
    NoRegion,
    /// The AWS region is not a valid region name
    #[error(
        "upstream `bedrock`: its region has characters other than small letters, digits and '-'; \
         set AWS_REGION to one such as us-east-1"
    )]
    Region,
    /// The AWS profile that a variable names has no keys
    #[error("upstream `bedrock` needs keys: {0}")]
    Profile(ProfileError),
    /// The value of a variable is invalid
    #[error("the variable {variable} is invalid: {source}")]
    Variable {
        /// The variable
        variable: &'static str,
        /// Why
        source: RemoteError,
    },
    /// The remote cannot be created
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The proxy is invalid
    #[error(transparent)]
    Transport(#[from] TransportError),
}
