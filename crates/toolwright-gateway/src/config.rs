//! `toolwright.toml`, read and checked. It is all optional: no file is the default.
//!
//! ```text
//! file (text, places) → table (keys taken one by one) → value (kinds) → one file for each table
//!                                       Config and environment → remote (upstreams to ask)
//! ```
//!
//! What nobody asked for is an error with a did-you-mean, and every error says where it is.
//! Secrets are fetched here, so that a missing one is told at the start. Paths start from the folder
//! that the file is in.

mod alias;
mod duration;
mod error;
mod file;
mod key;
mod limits;
pub mod listen;
pub(crate) mod name;
mod record;
mod refer;
mod remote;
mod responses;
mod secret;
mod size;
mod table;
mod tls;
mod tools;
mod upstream;
mod value;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use alias::Alias;
pub use error::{ConfigError, Place};
pub use file::Env;
pub use limits::Limits;
pub use record::{Ledger, Log, LogFormat, Losses, OnFailure};
pub use responses::Responses;
pub use tls::Tls;
pub use tools::Tools;
pub use upstream::{Access, Upstream, Way};

use crate::key::Key;
use file::File;
use refer::Names;
use table::Table;
use value::Value;

/// The file that is read if none is named.
pub const FILE: &str = "toolwright.toml";

/// All that the gateway is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that it was read from, if there was one
    pub file: Option<PathBuf>,
    /// The address to listen on
    pub listen: SocketAddr,
    /// The folder for what must outlive the process
    pub data: PathBuf,
    /// Whether everybody may use it beyond loopback, where there are no keys
    pub open: bool,
    /// Upstreams by name
    pub upstreams: BTreeMap<String, Upstream>,
    /// Aliases by name
    pub models: BTreeMap<String, Alias>,
    /// The tools that the gateway runs itself
    pub tools: Option<Tools>,
    /// Clients, in the order of the file
    pub keys: Vec<Key>,
    /// What the listener lets in
    pub limits: Limits,
    /// The certificate; without one it is plain HTTP
    pub tls: Option<Tls>,
    /// What goes to the log
    pub log: Log,
    /// What goes to the ledger
    pub ledger: Ledger,
    /// Losses that can be asked for
    pub losses: Losses,
    /// What is stored for clients of the Responses API
    pub responses: Responses,
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
        }
    }
}

impl Config {
    /// Reads the file that is named, or else `toolwright.toml` where the process runs. A file that
    /// is named must be there; without any, everything has its default.
    pub fn load(path: Option<&Path>, env: Env<'_>) -> Result<Config, ConfigError> {
        let file = path.unwrap_or(Path::new(FILE));
        let refused = |error: ConfigError| error.with_file(file);
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if path.is_none() && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Config::default());
            }
            Err(error) => return Err(refused(ConfigError::new("", error.to_string()))),
        };
        let folder = file.parent().unwrap_or(Path::new(""));
        let config = Config::parse(&text, folder, env).map_err(refused)?;
        Ok(Config { file: Some(file.to_owned()), ..config })
    }

    /// Reads the text of a file that is in a folder.
    pub fn parse(text: &str, folder: &Path, env: Env<'_>) -> Result<Config, ConfigError> {
        let file = File::new(text, folder, env);
        let mut root = file.root()?;
        let usual = Config::default();
        let upstreams = upstreams(root.table("upstreams")?)?;
        let tools = root.take("tools").map(|value| tools::read(value.table()?)).transpose()?;
        let (tools, tool_names) = tools.unzip();
        let names = Names::new(&upstreams, tool_names);
        let config = Config {
            file: None,
            listen: root.take_or("listen", usual.listen, address)?,
            data: root.take_or("data", file.path(".toolwright"), Value::path)?,
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
            upstreams,
        };
        root.refuse_reserved(&RESERVED)?;
        root.finish()?;
        Ok(config)
    }
}

/// Names of tables that are reserved for later versions.
const RESERVED: [&str; 2] = ["mcp", "prefab_gateway"];

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
