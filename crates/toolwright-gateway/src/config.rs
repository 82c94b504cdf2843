//! Parses and checks `toolwright.toml`. Every setting is optional, and so is the file.
//!
//! ```text
//! file (text, positions) → table (keys) → value (types) → one module for each table
//!                                       Config and environment → remote (upstreams)
//! ```
//!
//! An unknown key is an error with a suggestion, and every error has its position in the file.
//! Secrets are read here, so that a missing one fails at startup. Relative paths start at the
//! folder of the file.

mod alias;
mod catalog;
mod error;
mod file;
mod key;
mod limits;
pub mod listen;
mod mcp;
pub mod name;
mod plans;
mod record;
mod refer;
mod remote;
mod responses;
mod secret;
mod size;
mod table;
mod tls;
mod tool_sets;
mod tools;
mod upstream;
mod value;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use alias::Alias;
pub use catalog::{Catalog, Prefab, PrefabGateway};
pub use error::{ConfigError, FilePosition};
pub use file::Env;
pub use limits::Limits;
pub use mcp::{MAX_MCP_NAME, McpLogin, McpPlace, McpServer, McpSlot, McpValue, PinMode};
pub use name::{quoted, text};
pub use plans::{Plans, Resume, Temporal};
pub use record::{Ledger, Log, LogFormat, Losses, OnFailure};
pub use refer::{CATALOG, MCP};
pub use responses::Responses;
pub use tls::Tls;
pub use tools::{Tools, default_limits};
pub use upstream::{Access, ProxySetting, Upstream};

use crate::key::Key;
use file::File;
use refer::Names;
use table::Table;
use value::Value;

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
    pub upstreams: BTreeMap<String, Upstream>,
    /// Aliases by name
    pub models: BTreeMap<String, Alias>,
    /// The tools that the gateway runs itself
    pub tools: Option<Tools>,
    /// Clients, in the order of the file
    pub keys: Vec<Key>,
    /// Limits of the HTTP server
    pub limits: Limits,
    /// The certificate; without one the server uses plain HTTP
    pub tls: Option<Tls>,
    /// Settings of the log
    pub log: Log,
    /// Settings of the ledger
    pub ledger: Ledger,
    /// Settings of the loss reports at `/v1/losses`
    pub losses: Losses,
    /// Settings of stored responses of the Responses API
    pub responses: Responses,
    /// Settings of runs of plans
    pub plans: Plans,
    /// The Temporal server that runs plans as well
    pub temporal: Option<Temporal>,
    /// Settings of the catalog and its prefabs
    pub catalog: Arc<Catalog>,
    /// The prefab gateway where functions are described and called, if not here
    pub prefab_gateway: Option<PrefabGateway>,
    /// MCP servers by name
    pub mcp: BTreeMap<String, McpServer>,
    /// Whether the gateway has the tools that MCP's conformance suite calls; set by the command line
    pub mcp_fixtures: bool,
    /// Names and patterns of the tools of each named set
    pub tool_sets: BTreeMap<String, Vec<String>>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            file: None,
            listen: listen::DEFAULT,
            data: PathBuf::from(".toolwright"),
            open: false,
            upstreams: BTreeMap::new(),
            models: BTreeMap::new(),
            tools: None,
            keys: Vec::new(),
            limits: Limits::default(),
            tls: None,
            log: Log::default(),
            ledger: Ledger::default(),
            losses: Losses::default(),
            responses: Responses::default(),
            plans: Plans::default(),
            temporal: None,
            catalog: Arc::default(),
            prefab_gateway: None,
            mcp: BTreeMap::new(),
            mcp_fixtures: false,
            tool_sets: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Reads the named file, or else `toolwright.toml` in the working directory. A named file must
    /// exist; without any file, every setting has its default.
    pub fn load(path: Option<&Path>, env: Env<'_>) -> Result<Config, ConfigError> {
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
    pub fn load_data(path: Option<&Path>) -> Result<PathBuf, ConfigError> {
        let read = load_part(path, data)?;
        Ok(read.unwrap_or_else(|| Config::default().data))
    }

    /// Reads the Temporal server alone, from the same file.
    pub fn load_temporal(path: Option<&Path>) -> Result<Option<Temporal>, ConfigError> {
        let read = load_part(path, |_, root| Ok(plans::read(root.table("plans")?)?.1))?;
        Ok(read.flatten())
    }

    /// Parses the text of a file that is in a folder.
    pub fn parse(text: &str, folder: &Path, env: Env<'_>) -> Result<Config, ConfigError> {
        let file = File::new(text, folder, env);
        let mut root = file.root()?;
        let usual = Config::default();
        let upstreams = upstreams(root.table("upstreams")?)?;
        let tools = root.take("tools").map(|value| tools::read(value.table()?)).transpose()?;
        let (tools, tool_names) = tools.unzip();
        let mut mcp = mcp::read(root.table("mcp")?)?;
        let mut catalog = catalog::read(root.table("catalog")?, root.table("prefabs")?)?;
        mcp::connect_slots(&mut mcp, catalog.fills_mut())?;
        let names = Names::new(&upstreams, tool_names, &mcp);
        let tool_sets = tool_sets::read(root.table("tool_sets")?, &names, &mcp)?;
        let names = names.with_sets(&tool_sets);
        let (plans, temporal) = plans::read(root.table("plans")?)?;
        let config = Config {
            file: None,
            listen: root.take_or("listen", usual.listen, address)?,
            data: data(&file, &mut root)?,
            open: root.take_or("open", usual.open, Value::flag)?,
            models: alias::read(root.table("models")?, &names)?,
            tools,
            keys: key::read(root.table("keys")?, &names)?,
            limits: limits::read(root.table("limits")?)?,
            tls: root.take("tls").map(|value| tls::read(value.table()?)).transpose()?,
            log: record::log(root.table("log")?)?,
            ledger: record::ledger(root.table("ledger")?)?,
            losses: record::losses(root.table("losses")?)?,
            responses: responses::read(root.table("responses")?)?,
            plans,
            temporal,
            catalog: Arc::new(catalog),
            prefab_gateway: catalog::prefab_gateway(root.table("prefab_gateway")?)?,
            mcp,
            mcp_fixtures: false,
            tool_sets,
            upstreams,
        };
        root.finish()?;
        Ok(config)
    }
}

/// Reads the named file, or else `toolwright.toml`, if it exists.
fn read(path: Option<&Path>) -> Result<Option<(&Path, String)>, ConfigError> {
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
    part: impl FnOnce(&File<'_>, &mut Table<'_>) -> Result<T, ConfigError>,
) -> Result<Option<T>, ConfigError> {
    let Some((path, text)) = read(path)? else { return Ok(None) };
    let file = File::new(&text, path.parent().unwrap_or(Path::new("")), &|_| None);
    let part = file.root().and_then(|mut root| part(&file, &mut root));
    part.map(Some).map_err(|error| error.with_file(path))
}

fn data(file: &File<'_>, root: &mut Table<'_>) -> Result<PathBuf, ConfigError> {
    root.take_or("data", file.path(".toolwright"), Value::path)
}

fn upstreams(table: Table<'_>) -> Result<BTreeMap<String, Upstream>, ConfigError> {
    let entries = table.entries().into_iter();
    entries.map(|(name, entry)| Ok((name.clone(), upstream::read(&name, entry)?))).collect()
}

fn address(value: &Value<'_>) -> Result<SocketAddr, ConfigError> {
    listen::parse(value.text()?).map_err(|refused| {
        let error = value.error(refused.what());
        refused.hint().map_or(error.clone(), |hint| error.with_hint(hint))
    })
}
