//! Creates upstreams from the configuration and the environment. Last step of reading.
//!
//! A configured upstream takes precedence over one from the environment. Omitted settings have the
//! defaults of the dialect, with one exception: the default key is sent to the default address
//! only. An upstream at another address gets the key that its table names, or none.

use std::collections::BTreeMap;
use std::path::Path;

use toolwright_dialects::dialect::lookup;
use toolwright_runtime::upstream::providers::{self, Provider};
use toolwright_runtime::upstream::{
    AwsKeys, AwsProfile, Credential, Deadlines, Proxy, REGIONS, Remote, RemoteError, Trust,
};

use super::upstream::{Access, ProxySetting, UpstreamSettings};
use crate::config::{ConfigError, Env, Result, name};

/// Creates every upstream over HTTP, by the name that prefixes its models: those of a file, and those that the
/// environment has keys for.
pub(crate) fn remotes(
    upstreams: &BTreeMap<String, UpstreamSettings>,
    file: Option<&Path>,
    env: Env<'_>,
) -> Result<BTreeMap<String, Remote>> {
    let mut remotes = BTreeMap::new();
    for (name, upstream) in upstreams {
        let created = remote(name, upstream, env).map_err(|what| {
            let error = ConfigError::new(format!("upstreams.{}", name::quoted(name)), what);
            let error = match upstream.position {
                Some(position) => error.with_position(position),
                None => error,
            };
            file.map_or(error.clone(), |file| error.with_file(file))
        });
        remotes.insert(name.clone(), created?);
    }
    let fresh = providers::all().filter(|provider| !upstreams.contains_key(provider.id));
    for provider in fresh.filter(|provider| provider.is_configured(env)) {
        let remote = provider
            .remote(env)
            .map_err(|error| ConfigError::new("", format!("found in the environment: {error}")))?;
        remotes.insert(provider.id.to_owned(), remote);
    }
    Ok(remotes)
}

/// Variables that take precedence over a profile.
const AWS_KEYS: [&str; 2] = ["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"];

fn remote(name: &str, upstream: &UpstreamSettings, env: Env<'_>) -> Result<Remote, String> {
    let Some(codec) = lookup(&upstream.dialect) else {
        return Err(format!("there is no dialect `{}`", upstream.dialect));
    };
    let provider = providers::for_dialect(&upstream.dialect);
    // Region and profile of the configuration take precedence over the environment.
    let env = &|variable: &str| match (&upstream.region, &upstream.access) {
        (Some(region), _) if REGIONS.contains(&variable) => Some(region.clone()),
        (_, Access::Profile(profile)) if variable == "AWS_PROFILE" => Some(profile.clone()),
        (_, Access::Profile(_)) if AWS_KEYS.contains(&variable) => None,
        _ => env(variable),
    };
    let remote = match (&upstream.access, &upstream.base_url, provider) {
        (Access::FromEnv | Access::Profile(_), None, Some(provider)) => {
            provider.remote_as(name, env).map_err(text)?
        }
        (_, None, None) => return Err("the key `base_url` is missing".to_owned()),
        (_, Some(base_url), provider) => {
            let credential = credential(upstream, provider.as_ref(), env)?;
            Remote::new(name, codec, base_url, credential).map_err(text)?
        }
        (_, None, Some(provider)) => {
            let credential = credential(upstream, Some(&provider), env)?;
            let base_url = provider.address(env).map_err(text)?;
            Remote::new(name, codec, &base_url, credential).map_err(text)?
        }
    };
    let proxy = match &upstream.proxy {
        ProxySetting::FromEnv => Proxy::from_env(env).map_err(text)?,
        ProxySetting::Direct => Proxy::none(),
        ProxySetting::Url(url) => Proxy::new(url.expose()).map_err(text)?,
    };
    set_up(remote.with_proxy(&proxy), upstream).map_err(text)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn set_up(remote: Remote, upstream: &UpstreamSettings) -> Result<Remote, RemoteError> {
    let deadlines = Deadlines::new()
        .with_connect(upstream.connect)
        .with_first_byte(upstream.first_byte)
        .with_idle(upstream.idle);
    let mut remote = remote
        .with_deadlines(deadlines)
        .with_concurrency(upstream.concurrency)
        .with_retries(upstream.retries);
    if let Some(think_tags) = upstream.think_tags {
        remote = remote.with_think_tags(think_tags);
    }
    if let Some(version) = &upstream.version {
        remote = remote.with_version(version)?;
    }
    for (header, value) in &upstream.headers {
        remote = remote.with_header(header.as_str(), value.expose())?;
    }
    match &upstream.ca {
        Some(file) => remote.with_trust(&Trust::with_ca_file(file)?),
        None => Ok(remote),
    }
}

/// Returns the credential of an upstream whose table sets it, or that has another address.
fn credential(
    upstream: &UpstreamSettings,
    provider: Option<&Provider>,
    env: Env<'_>,
) -> Result<Credential, String> {
    Ok(match &upstream.access {
        Access::FromEnv => Credential::None,
        Access::Client => Credential::Client,
        Access::Profile(_) => Credential::Profile(AwsProfile::from_env(env)),
        Access::Key(key) => match provider {
            Some(provider) => provider.credential(key.clone()),
            None => Credential::Bearer(key.clone()),
        },
        Access::Aws { access_key, secret_key, session_token } => {
            let Some(region) = providers::region(env) else {
                return Err("the key `region` is missing: signatures are for one".to_owned());
            };
            let keys = AwsKeys::new(access_key.expose().as_str(), secret_key.clone(), region);
            Credential::SigV4(match session_token {
                Some(token) => keys.with_session_token(token.clone()),
                None => keys,
            })
        }
    })
}
