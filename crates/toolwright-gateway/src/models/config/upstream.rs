//! `[upstreams.NAME]`: the dialect, address, credential and limits of an upstream.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use toolwright_core::profile::{Overrides, Setting, UnknownSetting};
use toolwright_dialects::dialect::{self, Dialect, lookup, vendors::PRESETS};
use toolwright_runtime::upstream::{Proxy, providers};
use toolwright_transport::secret::SecretString;

use crate::config::{FilePosition, OFFLINE, Result, Table, Value, name, secret};

/// The settings of an upstream.
#[derive(Debug, Clone)]
pub struct UpstreamSettings {
    /// The id of its dialect or preset
    pub dialect: String,
    /// The base URL; `None` for the vendor's default
    pub base_url: Option<String>,
    /// The credential
    pub access: Access,
    /// The API version (`anthropic-version`)
    pub version: Option<String>,
    /// The AWS region, for Bedrock
    pub region: Option<String>,
    /// Maximum time to connect
    pub connect: Duration,
    /// Maximum time to the first byte of a response
    pub first_byte: Duration,
    /// Maximum time between two reads of a response
    pub idle: Duration,
    /// Maximum number of concurrent requests
    pub concurrency: usize,
    /// Maximum number of retries
    pub retries: u32,
    /// A file with additional certificate authorities
    pub ca: Option<PathBuf>,
    /// The proxy
    pub proxy: ProxySetting,
    /// Whether a leading `<think>…</think>` is reasoning; `None` for the vendor's default
    pub think_tags: Option<bool>,
    /// Headers of each request
    pub headers: Vec<(HeaderName, SecretString)>,
    /// Models that the gateway lists
    pub models: Vec<String>,
    /// Overrides of the vendor's profile: `max_tokens` and `drop`
    pub overrides: Overrides,
    /// Position in the file
    pub position: Option<FilePosition>,
}

/// How an upstream is reached.
#[derive(Debug, Clone)]
pub enum ProxySetting {
    /// Through the proxy that the environment names (`HTTPS_PROXY`, `NO_PROXY`, …)
    FromEnv,
    /// Directly
    Direct,
    /// Through the proxy with this URL
    Url(SecretString),
}

/// The credential for an upstream.
#[derive(Debug, Clone)]
pub enum Access {
    /// From the vendor's environment variables, if the vendor is built in; otherwise none
    FromEnv,
    /// This key
    Key(SecretString),
    /// The credential that the client sent
    Client,
    /// AWS keys
    Aws {
        /// The access key id
        access_key: SecretString,
        /// The secret access key
        secret_key: SecretString,
        /// The session token of temporary keys
        session_token: Option<SecretString>,
    },
    /// The keys of a profile in the files of the AWS tools
    Profile(String),
}

impl UpstreamSettings {
    /// Creates an upstream with defaults.
    pub fn new(dialect: impl Into<String>) -> UpstreamSettings {
        UpstreamSettings {
            dialect: dialect.into(),
            base_url: None,
            access: Access::FromEnv,
            version: None,
            region: None,
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(10),
            idle: Duration::from_mins(2),
            concurrency: 256,
            retries: 2,
            ca: None,
            proxy: ProxySetting::FromEnv,
            think_tags: None,
            headers: Vec::new(),
            models: Vec::new(),
            overrides: Overrides::NONE,
            position: None,
        }
    }
}

/// Reads one entry of `[upstreams]`.
pub(crate) fn read(id: &str, entry: Value<'_>) -> Result<UpstreamSettings> {
    name::check(id, &entry)?;
    if id == OFFLINE {
        let what = "`offline` is built in and has no configuration";
        return Err(entry.error(what).with_hint("choose another name"));
    }
    let position = entry.error("").position();
    let mut table = entry.table()?;
    let mut upstream =
        UpstreamSettings { position, ..UpstreamSettings::new(dialect(id, &mut table)?) };
    let own = upstream.dialect.clone();
    upstream.base_url = table.take_some("base_url", base_url)?;
    upstream.access = access(&own, &mut table)?;
    upstream.version = table.take_some("version", |value| only(&own, "anthropic", value))?;
    upstream.region = table.take_some("region", |value| only(&own, "bedrock", value))?;
    upstream.connect = table.take_or("connect", upstream.connect, Value::deadline)?;
    upstream.first_byte = table.take_or("first_byte", upstream.first_byte, Value::deadline)?;
    upstream.idle = table.take_or("idle", upstream.idle, Value::deadline)?;
    upstream.concurrency =
        table.take_or("concurrency", upstream.concurrency, |value| value.count(1))?;
    upstream.retries = table.take_or("retries", upstream.retries, retries)?;
    upstream.ca = table.take_some("ca", Value::existing_file)?;
    upstream.proxy = table.take_or("proxy", ProxySetting::FromEnv, proxy)?;
    upstream.think_tags = table.take_some("think_tags", Value::flag)?;
    upstream.headers = headers(table.table("headers")?)?;
    upstream.models = table.take("models").map_or(Ok(Vec::new()), Value::texts)?;
    upstream.overrides.max_tokens = table.take_some("max_tokens", |value| value.number(1))?;
    for name in table.list("drop")? {
        upstream.overrides.drop.push(setting(&name)?);
    }
    table.finish()?;
    Ok(upstream)
}

fn dialect(id: &str, table: &mut Table<'_>) -> Result<String> {
    let Some(value) = table.take("dialect") else {
        return usual_dialect(id).map(str::to_owned).ok_or_else(|| {
            let what = format!("the key `dialect` is missing; accepted: {}", dialects().join(", "));
            table.error(what)
        });
    };
    let named = value.words()?;
    if lookup(&named).is_some() {
        return Ok(named);
    }
    let what = match named.as_str() {
        "mcp" => "mcp has tools and no models, so it is no dialect of an upstream".to_owned(),
        _ => format!("there is no such dialect; accepted: {}", dialects().join(", ")),
    };
    Err(value.error(what).with_suggestion(&named, dialects()))
}

/// Returns the dialect of an upstream that is named like one.
fn usual_dialect(id: &str) -> Option<&str> {
    providers::find(id).map(|provider| provider.dialect).or_else(|| lookup(id).map(|_| id))
}

/// Returns the ids of dialects and presets.
fn dialects() -> Vec<&'static str> {
    let dialects = Dialect::ALL.into_iter().filter(|dialect| dialect::codec(*dialect).is_some());
    dialects.map(Dialect::id).chain(PRESETS.iter().map(|vendor| vendor.id)).collect()
}

fn base_url(value: &Value<'_>) -> Result<String> {
    let text = value.words()?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Err(value.error("an address starts with https:// or http://"));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The text before an `@` is a credential and is not repeated.
    if host.contains('@') {
        return Err(value.error("an address must not contain a credential").with_hint("use `key`"));
    }
    if rest.contains(['?', '#']) {
        return Err(value.error("an address must not have a query or a fragment"));
    }
    match text.parse::<http::Uri>() {
        Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) => Ok(text),
        _ => Err(value.error("this is not an address, such as https://api.example.com")),
    }
}

fn access(dialect: &str, table: &mut Table<'_>) -> Result<Access> {
    let key = table.take("key");
    if let Some(value) = table.take("profile") {
        let taken = ["access_key", "secret_key", "session_token"].map(|key| table.take(key));
        if key.is_some() || taken.iter().any(Option::is_some) {
            return Err(value.error("an upstream has either `profile` or keys, not both"));
        }
        return only(dialect, Dialect::Bedrock.id(), &value).map(Access::Profile);
    }
    let [access_key, secret_key, session_token] =
        ["access_key", "secret_key", "session_token"].map(|key| table.take(key));
    let aws = [&access_key, &secret_key, &session_token].into_iter().flatten().next();
    if let Some(first) = aws {
        if dialect != Dialect::Bedrock.id() {
            return Err(first.error("this is valid only for the dialect bedrock"));
        }
        if key.is_some() {
            let what = "an upstream has either `key` or keys of AWS, not both";
            return Err(first.error(what));
        }
        let (Some(access_key), Some(secret_key)) = (&access_key, &secret_key) else {
            return Err(first.error("`access_key` and `secret_key` belong together"));
        };
        return Ok(Access::Aws {
            access_key: secret::fetch(access_key)?,
            secret_key: secret::fetch(secret_key)?,
            session_token: session_token.as_ref().map(secret::fetch).transpose()?,
        });
    }
    match key {
        None => Ok(Access::FromEnv),
        Some(value) if value.text()? == "client" => Ok(Access::Client),
        Some(value) => secret::fetch(&value).map(Access::Key),
    }
}

fn proxy(value: &Value<'_>) -> Result<ProxySetting> {
    let text = value.words()?;
    if text == "none" {
        return Ok(ProxySetting::Direct);
    }
    let url = match secret::find(value)? {
        Some(secret) => secret,
        // The text before an `@` is a credential and is not repeated.
        None if text.contains('@') => secret::fetch(value)?,
        None => SecretString::from(text),
    };
    match Proxy::new(url.expose()) {
        Ok(_) => Ok(ProxySetting::Url(url)),
        Err(error) => Err(value.error(error.to_string()).with_hint("or write \"none\"")),
    }
}

/// Reads a text that is valid for one dialect only.
fn only(dialect: &str, meant: &str, value: &Value<'_>) -> Result<String> {
    if dialect == meant {
        value.words()
    } else {
        Err(value.error(format!("this is valid only for the dialect {meant}")))
    }
}

/// Parses the name of a request setting in `drop`.
fn setting(value: &Value<'_>) -> Result<Setting> {
    let name = value.words()?;
    name.parse().map_err(|unknown: UnknownSetting| {
        value.error(unknown.to_string()).with_suggestion(&name, Setting::ALL.map(Setting::name))
    })
}

/// Maximum number of retries that can be configured.
const MOST_RETRIES: u64 = 10;

fn retries(value: &Value<'_>) -> Result<u32> {
    let number = value.number(0)?;
    let few = u32::try_from(number).ok().filter(|_| number <= MOST_RETRIES);
    few.ok_or_else(|| value.error(format!("this must be a whole number from 0 to {MOST_RETRIES}")))
}

/// Headers that belong to the connection, or that `key` and `version` set.
const TAKEN: &[(&str, &str)] = &[
    ("host", "base_url"),
    ("content-length", ""),
    ("transfer-encoding", ""),
    ("connection", ""),
    ("anthropic-version", "version"),
];

fn headers(table: Table<'_>) -> Result<Vec<(HeaderName, SecretString)>> {
    let mut headers = Vec::new();
    for (name, value) in table.entries() {
        let header: HeaderName =
            name.parse().map_err(|_| value.error("this is not the name of a header"))?;
        if let Some((_, instead)) = TAKEN.iter().find(|(taken, _)| *taken == header.as_str()) {
            let error = value.error("this header cannot be configured");
            return Err(match *instead {
                "" => error,
                instead => error.with_hint(format!("use `{instead}`")),
            });
        }
        let text = match secret::find(&value)? {
            Some(secret) => secret,
            // The value of a credential header is a secret.
            None if is_credential(header.as_str()) => secret::fetch(&value)?,
            None => SecretString::from(value.text()?),
        };
        if http::HeaderValue::from_str(text.expose()).is_err() {
            return Err(value.error("this has characters that are not valid in a header"));
        }
        headers.push((header, text));
    }
    Ok(headers)
}

fn is_credential(header: &str) -> bool {
    ["authorization", "api-key", "token", "secret", "cookie"]
        .iter()
        .any(|word| header.contains(word))
}
