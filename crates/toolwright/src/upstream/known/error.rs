//! Why a known upstream cannot be used, for whoever asks for it by name.

use super::super::{ProfileError, RemoteError};

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
