//! Credentials: what is configured, prepared once, and added to each request.

mod aws_profile;
mod credential;
pub(crate) mod refresh;
mod sigv4;

pub use aws_profile::{AwsProfile, ProfileError, REGIONS};
pub(crate) use credential::{API_KEY, CredentialError, CredentialRefusal, PreparedCredential};
pub use credential::{AwsKeys, ClientCredential, Credential, X_API_KEY, X_GOOG_API_KEY};
pub(crate) use sigv4::Signer;
