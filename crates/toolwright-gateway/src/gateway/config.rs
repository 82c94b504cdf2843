//! The configuration: all tables of `toolwright.toml` together. Every setting is optional, and so is the file.
//!
//! Each feature reads its own tables; here they are put together, because names in one table refer to another.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_runtime::upstream::Remote;

use crate::catalog::config::{self as catalog, CatalogSettings, PrefabGateway};
use crate::config::{ConfigError, Env, File, Names, Result, Table, Value};
use crate::http::address::{self, is_loopback};
use crate::http::config::{self as http, Limits, TlsFiles};
use crate::key::{self, Key};
use crate::mcp::config::{self as mcp, McpServer};
use crate::models::config::{Alias, UpstreamSettings, read_aliases, read_upstream, remotes};
use crate::plans::config::{self as plans, PlanSettings, TemporalServer};
use crate::responses::config::{self as responses, ResponseSettings};
use crate::telemetry::config::{self as telemetry, TelemetrySettings};
use crate::tools::config::{self as tools, ToolSettings, sets};

/// The file that is read by default.
pub const FILE: &str = "toolwright.toml";

/// The configuration of the gateway.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that it was read from, if any
    pub file: Option<PathBuf>,
    /// The address to listen on
    pub listen: SocketAddr,
    /// The folder for persistent data
    pub data: PathBuf,
    /// Whether clients on other machines may use the gateway without a key
    pub open: bool,
    /// Upstreams by name
    pub upstreams: BTreeMap<String, UpstreamSettings>,
    /// Aliases by name
    pub models: BTreeMap<String, Alias>,
    /// The tools that the gateway runs itself
    pub tools: Option<ToolSettings>,
    /// Clients, in the order of the file
    pub keys: Vec<Key>,
    /// Limits of the HTTP server
    pub limits: Limits,
    /// The certificate; without one the server uses plain HTTP
    pub tls: Option<TlsFiles>,
    /// Settings of the records of exchanges
    pub telemetry: TelemetrySettings,
    /// Settings of stored responses of the Responses API
    pub responses: ResponseSettings,
    /// Settings of runs of plans
    pub plans: PlanSettings,
    /// The Temporal server that runs plans as well
    pub temporal: Option<TemporalServer>,
    /// Settings of the catalog and its prefabs
    pub catalog: Arc<CatalogSettings>,
    /// The prefab gateway where functions are described and called, if not here
    pub prefab_gateway: Option<PrefabGateway>,
    /// MCP servers by name
    pub mcp: BTreeMap<String, McpServer>,
    /// Names and patterns of the tools of each named set
    pub tool_sets: BTreeMap<String, Vec<String>>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            file: None,
            listen: address::DEFAULT,
            data: PathBuf::from(".toolwright"),
            open: false,
            upstreams: BTreeMap::new(),
            models: BTreeMap::new(),
            tools: None,
            keys: Vec::new(),
            limits: Limits::default(),
            tls: None,
            telemetry: TelemetrySettings::default(),
            responses: ResponseSettings::default(),
            plans: PlanSettings::default(),
            temporal: None,
            catalog: Arc::default(),
            prefab_gateway: None,
            mcp: BTreeMap::new(),
            tool_sets: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Reads the named file, or else `toolwright.toml` in the working directory. A named file must
    /// exist; without any file, every setting has its default.
    pub fn load(path: Option<&Path>, env: Env<'_>) -> Result<Config> {
        let Some((file, text)) = read(path)? else {
            let prefab_gateway = catalog::find_prefab_gateway(None, Path::new(""), env)?;
            return Ok(Config { prefab_gateway, ..Config::default() });
        };
        let folder = file.parent().unwrap_or(Path::new(""));
        let refused = |error: ConfigError| error.with_file(file);
        let mut config = Config::parse(&text, folder, env).map_err(refused)?;
        let configured = config.prefab_gateway.take();
        let prefab_gateway = catalog::find_prefab_gateway(configured, folder, env)?;
        Ok(Config { file: Some(file.to_owned()), prefab_gateway, ..config })
    }

    /// Reads the data folder from the file that [`load`](Config::load) reads, and nothing else.
    pub fn load_data(path: Option<&Path>) -> Result<PathBuf> {
        let read = load_part(path, data)?;
        Ok(read.unwrap_or_else(|| Config::default().data))
    }

    /// Reads the Temporal server alone, from the same file.
    pub fn load_temporal(path: Option<&Path>) -> Result<Option<TemporalServer>> {
        let read = load_part(path, |_, root| Ok(plans::read(root.table("plans")?)?.1))?;
        Ok(read.flatten())
    }

    /// Parses the text of a file that is in a folder.
    pub fn parse(text: &str, folder: &Path, env: Env<'_>) -> Result<Config> {
        let file = File::new(text, folder, env);
        let mut root = file.root()?;
        let usual = Config::default();
        let upstreams = upstreams(root.table("upstreams")?)?;
        let tools = root.take("tools").map(|value| tools::read(value.table()?)).transpose()?;
        let (tools, tool_names) = tools.unzip();
        let mut mcp = mcp::read(root.table("mcp")?)?;
        let mut catalog = catalog::read(root.table("catalog")?, root.table("prefabs")?)?;
        mcp::connect_slots(&mut mcp, catalog.fills_mut())?;
        let mut names = Names {
            upstreams: upstreams.keys().cloned().collect(),
            tools: tool_names,
            servers: mcp.iter().map(|(name, own)| (name.clone(), own.prefix(name))).collect(),
            renamed: mcp.values().flat_map(|own| own.names.values().cloned()).collect(),
            sets: Vec::new(),
        };
        let tool_sets = sets::read(root.table("tool_sets")?, &names)?;
        names.sets = tool_sets.keys().cloned().collect();
        let (plans, temporal) = plans::read(root.table("plans")?)?;
        let config = Config {
            file: None,
            listen: root.take_or("listen", usual.listen, listen)?,
            data: data(&file, &mut root)?,
            open: root.take_or("open", usual.open, Value::flag)?,
            models: read_aliases(root.table("models")?, &names)?,
            tools,
            keys: key::config::read(root.table("keys")?, &names)?,
            limits: http::read(root.table("limits")?)?,
            tls: root.take("tls").map(|value| http::read_tls(value.table()?)).transpose()?,
            telemetry: TelemetrySettings {
                log: telemetry::log(root.table("log")?)?,
                ledger: telemetry::ledger(root.table("ledger")?)?,
                losses: telemetry::losses(root.table("losses")?)?,
            },
            responses: responses::read(root.table("responses")?)?,
            plans,
            temporal,
            catalog: Arc::new(catalog),
            prefab_gateway: catalog::prefab_gateway(root.table("prefab_gateway")?)?,
            mcp,
            tool_sets,
            upstreams,
        };
        root.finish()?;
        Ok(config)
    }

    /// Creates every upstream over HTTP, by the name that prefixes its models.
    pub fn remotes(&self, env: Env<'_>) -> Result<BTreeMap<String, Remote>> {
        remotes(&self.upstreams, self.file.as_deref(), env)
    }

    /// Refuses an address that is reachable from other machines, unless keys are configured or
    /// `open` is set. `address` is the one that is or will be bound.
    pub fn check_listen(&self, address: SocketAddr) -> Result<()> {
        if is_loopback(address) || !self.keys.is_empty() || self.open {
            return Ok(());
        }
        let what = format!(
            "{address} can be reached from other machines, and there are no keys: anyone could \
             use your upstreams"
        );
        Err(ConfigError::new("listen", what).with_hint(
            "create a key with `toolwright key NAME`, or allow access without keys with `open = \
             true` (--open)",
        ))
    }
}

/// Reads the named file, or else `toolwright.toml`, if it exists.
fn read(path: Option<&Path>) -> Result<Option<(&Path, String)>> {
    let file = path.unwrap_or(Path::new(FILE));
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some((file, text))),
        Err(error) if path.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError::new("", error.to_string()).with_file(file)),
    }
}

/// Reads a part of the file, if there is one. Secrets are not needed.
fn load_part<T>(
    path: Option<&Path>,
    part: impl FnOnce(&File<'_>, &mut Table<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let Some((path, text)) = read(path)? else { return Ok(None) };
    let file = File::new(&text, path.parent().unwrap_or(Path::new("")), &|_| None);
    let part = file.root().and_then(|mut root| part(&file, &mut root));
    part.map(Some).map_err(|error| error.with_file(path))
}

fn data(file: &File<'_>, root: &mut Table<'_>) -> Result<PathBuf> {
    root.take_or("data", file.path(".toolwright"), Value::path)
}

fn upstreams(table: Table<'_>) -> Result<BTreeMap<String, UpstreamSettings>> {
    let entries = table.entries().into_iter();
    entries.map(|(name, entry)| Ok((name.clone(), read_upstream(&name, entry)?))).collect()
}

fn listen(value: &Value<'_>) -> Result<SocketAddr> {
    address::parse(value.text()?).map_err(|refused| {
        let error = value.error(refused.what());
        refused.hint().map_or(error.clone(), |hint| error.with_hint(hint))
    })
}
