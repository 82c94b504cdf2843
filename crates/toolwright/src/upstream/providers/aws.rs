//! What the environment has of an AWS account: keys, a profile with keys, a region.

use crate::upstream::auth::{AwsKeys, AwsProfile, ProfileError};
use crate::upstream::environment::{Environment, get, secret};
use crate::upstream::error::KnownError;

pub(super) const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
pub(super) const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// The keys of an AWS account, which sign for one region.
pub(super) fn keys(environment: Environment<'_>) -> Result<Option<AwsKeys>, KnownError> {
    let (Some(access), Some(hidden)) =
        (get(environment, ACCESS_KEY), secret(environment, SECRET_KEY))
    else {
        return Ok(None);
    };
    let keys = AwsKeys::new(access, hidden, region(environment).ok_or(KnownError::NoRegion)?);
    Ok(Some(match secret(environment, SESSION_TOKEN) {
        Some(token) => keys.with_session_token(token),
        None => keys,
    }))
}

/// The profile with the keys of an AWS account, if there are any. One that somebody named must have
/// some; others are for AWS's own tools, and may get their keys in other ways.
pub(super) fn profile(environment: Environment<'_>) -> Result<Option<AwsProfile>, KnownError> {
    let profile = AwsProfile::of_environment(environment);
    match profile.read() {
        Ok(_) => Ok(Some(profile)),
        Err(ProfileError::NoRegion(_)) => Err(KnownError::NoRegion),
        Err(error) if profile.is_named() => Err(KnownError::Profile(error)),
        Err(_) => Ok(None),
    }
}

/// The region of AWS that the environment names, or else the profile that it names.
pub fn region(environment: Environment<'_>) -> Option<String> {
    AwsProfile::of_environment(environment).region()
}

/// Whether a text can be the name of a region, and with it a part of a host.
pub(super) fn is_region(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
