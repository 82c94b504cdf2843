//! `[catalog]`, `[prefabs.ID]` and `[prefab_gateway]`: limits of the catalog, and the secrets, hidden parameters and
//! visibility of its prefabs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use http::Uri;
use toolwright_catalog::files::FileLimits;
use toolwright_catalog::{PrefabId, Visibility};
use toolwright_runtime::Fill;
use toolwright_transport::secret::SecretString;

use crate::config::fill::{allowed, fill};
use crate::config::{ConfigError, Env, Result, Table, Value, secret};

/// The variable with the address of a prefab gateway.
const VARIABLE: &str = "GATEWAY_API_URL";

/// The settings file of agents that use prefab gateways.
const SETTINGS: &str = "settings.toml";

/// Settings of the catalog.
#[derive(Debug, Clone, Default)]
pub struct CatalogSettings {
    /// The address that clients use, for links to files; `None` for the address of each request
    pub public_url: Option<String>,
    /// Limits of files
    pub files: FileLimits,
    /// Addresses that HTTP functions may reach besides public ones: names, addresses, networks
    pub allow: Vec<String>,
    /// A file in the format of CC-CEDICT, which translates queries
    pub dictionary: Option<PathBuf>,
    /// The embedding model that compares meanings
    pub embeddings: Option<String>,
    /// The model that chooses among recommended prefabs
    pub filter_model: Option<String>,
    /// The visibility of prefabs that do not say; `None` for public without keys, private with keys
    pub visibility: Option<Visibility>,
    /// Settings of prefabs by their ids
    pub prefabs: BTreeMap<String, ConfiguredPrefab>,
}

impl CatalogSettings {
    /// Returns the values of hidden parameters with their keys in the configuration.
    pub(crate) fn fills_mut(&mut self) -> impl Iterator<Item = (String, &mut Fill)> {
        self.prefabs.iter_mut().flat_map(|(id, prefab)| {
            prefab.hide.iter_mut().flat_map(move |(function, fills)| {
                let key = format!("prefabs.{id}.hide.{function}");
                fills.iter_mut().map(move |(name, fill)| (format!("{key}.{name}"), fill))
            })
        })
    }
}

/// Settings of a prefab.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredPrefab {
    /// Who may see it, in place of what its manifest says
    pub visibility: Option<Visibility>,
    /// Secrets by their names
    pub secrets: BTreeMap<String, SecretString>,
    /// Hidden parameters of each function with their values
    pub hide: BTreeMap<String, Vec<(String, Fill)>>,
    /// Files and folders that its processes may read
    pub read: Vec<PathBuf>,
    /// Files and folders that its processes may read and change
    pub write: Vec<PathBuf>,
}

/// A prefab gateway on another server, where functions are described and called.
#[derive(Debug, Clone)]
pub struct PrefabGateway {
    /// Its address, without `/v1`
    pub base_url: String,
    /// The internal token for calls
    pub token: Option<SecretString>,
}

/// Reads `[prefab_gateway]`.
pub(crate) fn prefab_gateway(mut table: Table<'_>) -> Result<Option<PrefabGateway>> {
    let base_url = table.take_some("base_url", public_url)?;
    let token = table.take_some("token", secret::fetch)?;
    table.finish()?;
    Ok(base_url.map(|base_url| PrefabGateway { base_url, token }))
}

/// Finds the prefab gateway: `GATEWAY_API_URL` comes before the configuration, and that before
/// `settings.toml` in the same folder, a file of agents that use prefab gateways.
pub(crate) fn find_prefab_gateway(
    configured: Option<PrefabGateway>,
    folder: &Path,
    env: Env<'_>,
) -> Result<Option<PrefabGateway>> {
    let (from, found) = if let Some(url) = env(VARIABLE).filter(|url| !url.is_empty()) {
        (VARIABLE, url)
    } else if configured.is_some() {
        return Ok(configured);
    } else if let Some(url) = in_settings(&folder.join(SETTINGS)) {
        (SETTINGS, url)
    } else {
        return Ok(None);
    };
    let Some(base_url) = http_url(&found) else {
        return Err(ConfigError::new(
            from,
            "the address of the prefab gateway is not an http or https URL",
        ));
    };
    let token = configured.and_then(|own| own.token);
    Ok(Some(PrefabGateway { base_url, token }))
}

/// The address in a settings file, if there is one.
fn in_settings(file: &Path) -> Option<String> {
    let settings: toml::Table = toml::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
    let tables = [Some(&settings), settings.get("default").and_then(toml::Value::as_table)];
    let mut tables = tables.into_iter().flatten();
    tables
        .find_map(|table| table.get("prefab_gateway")?.get("base_url")?.as_str().map(str::to_owned))
}

/// Reads `[catalog]` and `[prefabs]`.
pub(crate) fn read(mut table: Table<'_>, prefabs: Table<'_>) -> Result<CatalogSettings> {
    let usual = FileLimits::default();
    let mut files = usual;
    files.file_bytes = table.take_or("max_file", usual.file_bytes, bytes)?;
    files.tenant_bytes = table.take_or("max_storage", usual.tenant_bytes, bytes)?;
    let catalog = CatalogSettings {
        public_url: table.take_some("public_url", public_url)?,
        files,
        allow: allowed(table.list("allow_addresses")?)?,
        dictionary: table.take_some("dictionary", Value::existing_file)?,
        embeddings: table.take_some("embeddings", Value::words)?,
        filter_model: table.take_some("filter_model", Value::words)?,
        visibility: table.take_some("visibility", visibility)?,
        prefabs: prefabs
            .entries()
            .into_iter()
            .map(|(id, entry)| {
                if PrefabId::parse(&id).is_none() {
                    return Err(entry.error("this is not the id of a prefab, such as `my-prefab`"));
                }
                Ok((id, prefab(entry.table()?)?))
            })
            .collect::<Result<_>>()?,
    };
    table.finish()?;
    Ok(catalog)
}

fn prefab(mut table: Table<'_>) -> Result<ConfiguredPrefab> {
    let visibility = table.take_some("visibility", visibility)?;
    let secrets = table.table("secrets")?.read_all(|value| secret::fetch(&value))?;
    let hide = table.table("hide")?.read_all(|fills| fills.table()?.read_all(fill))?;
    let paths = |list: Vec<Value<'_>>| list.iter().map(Value::path).collect::<Result<_, _>>();
    let (read, write) = (paths(table.list("read")?)?, paths(table.list("write")?)?);
    table.finish()?;
    Ok(ConfiguredPrefab { visibility, secrets, hide, read, write })
}

fn visibility(value: &Value<'_>) -> Result<Visibility> {
    value.one_of(&[("public", Visibility::Public), ("private", Visibility::Private)])
}

fn public_url(value: &Value<'_>) -> Result<String> {
    let what = "this must be an http or https URL, such as \"https://tools.example\"";
    http_url(value.text()?).ok_or_else(|| value.error(what))
}

/// An http or https URL without a query, without the slash at its end.
fn http_url(text: &str) -> Option<String> {
    let text = text.trim_end_matches('/');
    let parsed: Uri = text.parse().ok()?;
    let is_http = matches!(parsed.scheme_str(), Some("http" | "https"));
    (is_http && parsed.query().is_none()).then(|| text.to_owned())
}

fn bytes(value: &Value<'_>) -> Result<u64> {
    Ok(value.size()? as u64)
}
