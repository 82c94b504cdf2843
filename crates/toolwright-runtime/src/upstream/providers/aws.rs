//! AWS accounts in the environment: keys, a profile with keys, a region.

use toolwright_transport::environment::{Environment, get, secret};

use crate::upstream::auth::{AwsKeys, AwsProfile, ProfileError};
use crate::upstream::error::ProviderError;

pub(super) const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
pub(super) const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// The keys of an AWS account, with the region of their signatures.
pub(super) fn keys(environment: Environment<'_>) -> Result<Option<AwsKeys>, ProviderError> {
    let (Some(access), Some(hidden)) =
        (get(environment, ACCESS_KEY), secret(environment, SECRET_KEY))
    else {
        return Ok(None);
    };
    let keys = AwsKeys::new(access, hidden, region(environment).ok_or(ProviderError::NoRegion)?);
    Ok(Some(match secret(environment, SESSION_TOKEN) {
        Some(token) => keys.with_session_token(token),
        None => keys,
    }))
}

/// The AWS profile that has keys. A profile that a variable names must have keys; the default profile
/// may lack them, since other AWS tools obtain keys in other ways.
pub(super) fn profile(environment: Environment<'_>) -> Result<Option<AwsProfile>, ProviderError> {
    let profile = AwsProfile::from_env(environment);
    match profile.read() {
        Ok(_) => Ok(Some(profile)),
        Err(ProfileError::NoRegion(_)) => Err(ProviderError::NoRegion),
        Err(error) if profile.is_named() => Err(ProviderError::Profile(error)),
        Err(_) => Ok(None),
    }
}

/// The AWS region of the environment, or else of the AWS profile.
pub fn region(environment: Environment<'_>) -> Option<String> {
    AwsProfile::from_env(environment).region()
}

/// Whether a text is a valid region name, which becomes a part of the host name.
pub(super) fn is_region(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
