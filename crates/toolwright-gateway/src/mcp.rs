//! The MCP servers of the configuration, as sources of tools.

mod caller;
pub mod config;
pub mod features;
mod lists;
mod login;
pub mod named;
pub mod pins;
pub mod routes;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Uri;
use tokio::task::JoinSet;
use tokio::time::sleep;
use toolwright_catalog::runtime::McpFunctions;
use toolwright_core::Tool;
use toolwright_mcp::client::{Address, ServerCommand, ServerUrl};
use toolwright_mcp::server::{Announcer, Features};
use toolwright_mcp::{Client, ListKind, McpSource};
use toolwright_runtime::call::Glob;
use toolwright_runtime::toolbox::ToolSource;
use toolwright_transport::oauth::TokenStore;
use toolwright_transport::{Deadlines, HttpClient, Proxy, TransportError};

use caller::CallerClients;
pub use caller::CallerTokens;
pub use login::{McpTokens, authorization};

use self::config::{McpPlace, McpServer, McpValue, PinMode};
use crate::config::{ConfigError, MCP, Result};
use crate::key;
use crate::tools::Tools;
use features::{MayUse, McpFeatures};
use lists::Lists;
use pins::Pins;

/// Deadline of streams of servers. Calls have deadlines of their own.
const STREAM_DEADLINE: Duration = Duration::from_hours(24);

/// How often it is looked whether changed tools were approved.
const APPROVAL_INTERVAL: Duration = Duration::from_secs(1);

/// The clients of the MCP servers.
#[derive(Default)]
pub struct McpServers {
    servers: BTreeMap<String, Arc<Connected>>,
    /// Announces what changes at the servers
    following: OnceLock<JoinSet<()>>,
}

/// A server and what is known of it.
struct Connected {
    client: Client,
    /// The clients of callers, if the server wants their tokens
    callers: Option<Arc<CallerClients>>,
    lists: Arc<Lists>,
    pins: Option<Arc<Pins>>,
    /// The hash of its address, which decides whether a reload keeps the connection
    digest: blake3::Hash,
    settings: McpServer,
    /// Its tools, in the toolbox
    source: Arc<McpSource>,
}

impl McpServers {
    /// Creates the clients of a configuration. A server whose address has not changed keeps its connection.
    pub fn new(
        settings: &BTreeMap<String, McpServer>,
        data: &Path,
        before: &McpServers,
    ) -> Result<McpServers> {
        McpServers::with_pins(settings, data, before, |pins| pins)
    }

    /// Creates the clients of a configuration, which leave the approved definitions of tools as they are.
    pub fn inspect(settings: &BTreeMap<String, McpServer>, data: &Path) -> Result<McpServers> {
        McpServers::with_pins(settings, data, &McpServers::default(), Pins::read_only)
    }

    fn with_pins(
        servers: &BTreeMap<String, McpServer>,
        data: &Path,
        before: &McpServers,
        set: impl Fn(Pins) -> Pins,
    ) -> Result<McpServers> {
        let tokens: Arc<dyn TokenStore> = Arc::new(McpTokens::new(data));
        let mut connected = BTreeMap::new();
        for (name, settings) in servers {
            let digest = digest(&settings.place);
            let same = before.servers.get(name).filter(|known| known.digest == digest);
            let (client, callers, lists) = if let Some(known) = same {
                (known.client.clone(), known.callers.clone(), known.lists.clone())
            } else {
                let refused = |error: TransportError| {
                    ConfigError::new(format!("mcp.{name}"), error.to_string())
                };
                let address = address(name, &settings.place, &tokens).map_err(refused)?;
                let callers = CallerClients::new(name, &settings.place, &tokens);
                let callers = callers.map_err(refused)?.map(Arc::new);
                (Client::new(name.as_str(), address), callers, Arc::default())
            };
            let mode = settings.pins;
            let pins = (mode != PinMode::Off).then(|| Arc::new(set(Pins::new(data, name, mode))));
            let source = Arc::new(source(&client, callers.as_ref(), pins.as_ref(), settings));
            let settings = settings.clone();
            let own = Connected { client, callers, lists, pins, digest, settings, source };
            connected.insert(name.clone(), Arc::new(own));
        }
        Ok(McpServers { servers: connected, following: OnceLock::new() })
    }

    /// Returns the tools of each server.
    pub fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        self.servers.values().map(|own| Arc::clone(&own.source) as Arc<dyn ToolSource>).collect()
    }

    /// Returns what calls the tools of the servers as functions of prefabs.
    pub fn functions(&self) -> McpFunctions {
        let sources: BTreeMap<String, Arc<McpSource>> =
            self.servers.iter().map(|(name, own)| (name.clone(), own.source.clone())).collect();
        Arc::new(move |server: &str, tool: &str, definition: Tool| match sources.get(server) {
            Some(source) => source.function(tool, definition),
            None => Err(format!("the configuration has no table [mcp.{server}]")),
        })
    }

    /// Returns the client of a server.
    pub fn client(&self, name: &str) -> Option<&Client> {
        self.servers.get(name).map(|own| &own.client)
    }

    /// Returns the tools of a server, called with the gateway's own access to it.
    pub fn source(&self, name: &str) -> Option<McpSource> {
        self.servers
            .get(name)
            .map(|own| source(&own.client, None, own.pins.as_ref(), &own.settings))
    }

    /// Returns the name that a tool has at its server.
    pub fn own_name(&self, server: &str, tool: &str) -> Option<String> {
        self.servers.get(server)?.source.own_name(tool)
    }

    /// Whether it is believed what a server says about the effects of its tools.
    pub fn trusts_annotations(&self, server: &str) -> bool {
        self.servers.get(server).is_some_and(|own| own.settings.trust_annotations)
    }

    /// Returns the name of the server at a URL.
    pub fn at_url(&self, url: &Uri) -> Option<&str> {
        let is_there =
            |place: &McpPlace| matches!(place, McpPlace::Url { url: own, .. } if own == url);
        self.servers
            .iter()
            .find(|(_, own)| is_there(&own.settings.place))
            .map(|(name, _)| name.as_str())
    }

    /// Returns the prompts and resources that a client may use over MCP: all, or those of one server or tool set.
    pub fn features(
        &self,
        tools: &Tools,
        place: Option<&str>,
        client: &Arc<key::Client>,
    ) -> Arc<dyn Features> {
        let client = client.clone();
        let set = place.and_then(|place| tools.set_patterns(place)).map(<[String]>::to_vec);
        let server = place.filter(|_| set.is_none());
        let may_use = move |server: &str, name: &str| {
            let is_in_set = set.as_ref().is_none_or(|set| {
                set.iter().any(|own| {
                    own.strip_prefix(MCP) == Some(server) || Glob::new(own).matches(name)
                })
            });
            is_in_set && client.may_read(name)
        };
        Arc::new(self.features_of(server, Box::new(may_use)))
    }

    /// Returns all prompts and resources.
    pub fn all_features(&self) -> Arc<dyn Features> {
        Arc::new(self.features_of(None, Box::new(|_, _| true)))
    }

    fn features_of(&self, server: Option<&str>, may_use: MayUse) -> McpFeatures {
        let servers = self.servers.iter().filter(|(name, _)| server.is_none_or(|own| own == *name));
        let servers = servers.map(|(_, own)| own.clone()).collect();
        McpFeatures::new(servers, server.is_none(), may_use)
    }

    /// Returns the approved definitions of a server's tools, unless they are off.
    pub fn pins(&self, name: &str) -> Option<&Pins> {
        self.servers.get(name)?.pins.as_deref()
    }

    /// Returns the number of tools with changed definitions of each server.
    pub fn changed_definitions(&self) -> impl Iterator<Item = (&str, usize)> {
        let pinned = self.servers.iter().filter_map(|(name, own)| Some((name, own.pins.as_ref()?)));
        pinned.map(|(name, pins)| (name.as_str(), pins.changed_tools().len()))
    }

    /// Announces changes of the prompts and resources of all servers, and lists tools again that were approved, for as
    /// long as the servers are in use.
    pub fn follow(&self, announcer: &Announcer) {
        let mut tasks = JoinSet::new();
        for own in self.servers.values() {
            let Some(pins) = own.pins.clone() else { continue };
            let client = own.client.clone();
            tasks.spawn(async move {
                let mut known = pins.modified();
                loop {
                    sleep(APPROVAL_INTERVAL).await;
                    if !pins.changed_tools().is_empty() && pins.modified() != known {
                        client.mark_changed(ListKind::Tools);
                    }
                    known = pins.modified();
                }
            });
        }
        let lists =
            [(ListKind::Prompts, &announcer.prompts), (ListKind::Resources, &announcer.resources)];
        for (kind, sender) in lists {
            for own in self.servers.values() {
                let (mut changes, sender) = (own.client.changes(kind), sender.clone());
                tasks.spawn(async move {
                    while changes.changed().await.is_ok() {
                        sender.send_replace(());
                    }
                });
            }
        }
        let _ = self.following.set(tasks);
    }

    /// Returns the names of the servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }
}

/// Returns the tools of a server.
fn source(
    client: &Client,
    callers: Option<&Arc<CallerClients>>,
    pins: Option<&Arc<Pins>>,
    settings: &McpServer,
) -> McpSource {
    let mut source = McpSource::new(client.clone())
        .with_deadline(settings.deadline)
        .with_prefix(settings.prefix(client.name()));
    for (tool, name) in &settings.names {
        source = source.with_name(tool, name);
    }
    for (tool, fills) in &settings.hide {
        for (parameter, fill) in fills {
            source = source.with_fill(tool, parameter, fill.clone());
        }
    }
    for (tool, forms) in &settings.parameters {
        for (parameter, form) in forms {
            source = source.with_form(tool, parameter, *form);
        }
    }
    for (tool, slot) in &settings.slots {
        source = source.with_slot(tool, slot.output.clone(), slot.part.as_str());
    }
    for tool in &settings.hide_results {
        source = source.with_hidden_results(tool);
    }
    if let Some(callers) = callers {
        source = source.with_selector(callers.clone());
    }
    if let Some(pins) = pins {
        source = source.with_pins(pins.clone());
    }
    if settings.trust_annotations { source.with_trusted_annotations() } else { source }
}

/// Returns the address of a server for its client, with the gateway's own access to it.
fn address(
    name: &str,
    place: &McpPlace,
    tokens: &Arc<dyn TokenStore>,
) -> Result<Address, TransportError> {
    match place {
        McpPlace::Command { command, env, directory } => {
            let (program, arguments) =
                command.split_first().map_or(("", &[][..]), |(own, rest)| (own.as_str(), rest));
            let mut command = ServerCommand::new(program, arguments);
            for (variable, value) in env {
                command = match value {
                    McpValue::Secret(secret) => command.with_environment(variable, secret.clone()),
                    McpValue::Plain(text) => command.with_variable(variable, text),
                };
            }
            if let Some(directory) = directory {
                command = command.with_directory(directory);
            }
            Ok(command.into())
        }
        McpPlace::Url { url, headers, login, .. } => {
            let mut server = ServerUrl::new(url.clone(), http(name, headers)?);
            let is_authorized =
                headers.iter().any(|(header, _)| header.eq_ignore_ascii_case("authorization"));
            if !is_authorized {
                let own = authorization(name, None, url, login, tokens.clone())?;
                server = server.with_authorization(own);
            }
            Ok(server.into())
        }
    }
}

/// Returns the HTTP client of a server.
pub fn http(name: &str, headers: &[(String, McpValue)]) -> Result<HttpClient, TransportError> {
    let deadlines = Deadlines::new().with_first_byte(STREAM_DEADLINE).with_idle(STREAM_DEADLINE);
    let mut http = HttpClient::new(format!("the MCP server `{name}`"))?
        .with_deadlines(deadlines)
        .with_proxy(&Proxy::from_env(&|name: &str| std::env::var(name).ok())?);
    for (header, value) in headers {
        http = match value {
            McpValue::Secret(secret) => http.with_header(header, secret.expose())?,
            McpValue::Plain(text) => http.with_plain_header(header, text)?,
        };
    }
    Ok(http)
}

/// Returns the hash of all that the connection to a server depends on.
fn digest(place: &McpPlace) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    match place {
        McpPlace::Command { command, env, directory } => {
            for word in command {
                add(word);
            }
            add("");
            for (name, value) in env {
                add(name);
                add(value.expose());
            }
            add(&directory.as_deref().map(|own| own.display().to_string()).unwrap_or_default());
        }
        McpPlace::Url { url, headers, login, has_caller_tokens } => {
            add(&url.to_string());
            for (name, value) in headers {
                add(name);
                add(value.expose());
            }
            // It prints no secret, so that is added.
            add(&format!("{has_caller_tokens} {login:?}"));
            add(login.client_secret.as_ref().map_or("", |own| own.expose()));
        }
    }
    hasher.finalize()
}
