//! The tools that the gateway runs itself, and their selection for a request.
//!
//! A request selects tools with the header `toolwright-tools`, or with a model alias that has
//! tools. A tool with effects runs if the configuration allows it, or with the approval of a person.
//!
//! MCP servers and the catalog, which stand above, contribute their tools: [`Contributions`].

mod builtins;
pub mod config;
mod lazy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderName};
use tokio::sync::watch;
use tokio::task::JoinSet;
use toolwright_catalog::tools::{self, CatalogFuture, CatalogTools};
use toolwright_catalog::{Access, FunctionSource, without_version};
use toolwright_core::{Fault, FaultClass, suggest};
use toolwright_mcp::server::Announcer;
use toolwright_runtime::call::Glob;
use toolwright_runtime::ledger::{Entry, Ledger};
use toolwright_runtime::toolbox::{CompiledTool, MissingTool, ToolSource, ToolboxError};
use toolwright_runtime::{Handler, Limits, Toolbox};

pub use self::builtins::Builtins;
use self::lazy::LazyToolbox;
use crate::config::{CATALOG, ConfigError, MCP, Result};
use crate::fault::unavailable;
use crate::key::Client;

/// The header that names the tools, separated by commas; `*` means all that may run.
pub const HEADER: HeaderName = HeaderName::from_static("toolwright-tools");

/// The header in errors.
const PLACE: &str = "The header `toolwright-tools`";

/// Maximum number of tools that an error names.
const MAX_NAMED: usize = 50;

/// How long a request waits until the tools of MCP servers were listed.
const LISTING_DEADLINE: Duration = Duration::from_secs(10);

/// What the tools of a gateway are made of.
pub struct Contributions {
    /// The built-in tools
    pub builtins: Builtins,
    /// Further tools
    pub handlers: Vec<Handler>,
    /// The names of the MCP servers
    pub servers: BTreeSet<String>,
    /// The tools of MCP servers, and of others that have them only later
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// The tools of the catalog
    pub catalog: CatalogTools,
    /// Opens the catalog, whose functions are tools as well
    pub open_catalog: OpenCatalog,
    /// Records calls
    pub ledger: Arc<dyn Ledger>,
    /// Names and patterns of the tools of named sets
    pub sets: BTreeMap<String, Vec<String>>,
    /// The tools of model aliases
    pub aliases: BTreeMap<String, Vec<String>>,
}

/// Opens the catalog.
pub type OpenCatalog = Arc<dyn Fn() -> CatalogFuture + Send + Sync>;

/// The tools of a gateway.
pub struct Tools {
    toolbox: LazyToolbox,
    /// The names of the built-in tools
    builtins: Vec<String>,
    /// Tools with effects that the configuration does not allow
    guarded: BTreeSet<String>,
    ledger: Arc<dyn Ledger>,
    /// Runs functions of prefabs: policy and ledger, without tools
    calls: Toolbox,
    /// The tools of plans that are published as functions
    for_functions: Toolbox,
    open_catalog: OpenCatalog,
    /// The names of the MCP servers, whose tools are in the toolbox
    servers: BTreeSet<String>,
    /// Whether the tools of the MCP servers were listed
    listed: watch::Sender<bool>,
    /// Follows the tools of the MCP servers
    following: OnceLock<JoinSet<()>>,
    /// Names and patterns of the tools of named sets
    sets: BTreeMap<String, Vec<String>>,
    /// The tools of model aliases
    aliases: BTreeMap<String, Vec<String>>,
    /// Limits of a run
    pub limits: Limits,
}

impl Tools {
    /// Puts the tools of a gateway together.
    pub fn new(parts: Contributions) -> Result<Tools> {
        let Contributions { builtins, handlers, catalog, ledger, sources, .. } = parts;
        let names = builtins.handlers.iter().map(|handler| handler.tool().name.clone()).collect();
        let (policy, records) = (builtins.policy(), Arc::clone(&ledger));
        let mut handlers: Vec<Handler> = builtins.handlers.into_iter().chain(handlers).collect();
        let has_sources = !sources.is_empty();
        let complete = move |handlers: Vec<Handler>| {
            let toolbox = Toolbox::new(handlers)?;
            Ok(toolbox.with_policy(policy.clone()).with_ledger(ledger.clone()))
        };
        let refused = |error: ToolboxError| ConfigError::new("tools", error.to_string());
        let (toolbox, calls, for_functions) = if handlers.is_empty() && !has_sources {
            let calls = complete(Vec::new()).map_err(refused)?;
            let toolbox = LazyToolbox::new(move || {
                complete(catalog.handlers()).unwrap_or_else(|error| {
                    tracing::error!("the tools of the catalog: {error}");
                    Toolbox::default()
                })
            });
            (toolbox, calls.clone(), calls)
        } else {
            handlers.extend(catalog.handlers());
            let toolbox = complete(handlers).map_err(refused)?.with_sources(sources);
            let (calls, for_functions) = (toolbox.only([]), toolbox.clone());
            (LazyToolbox::new(move || toolbox), calls, for_functions)
        };
        Ok(Tools {
            toolbox,
            builtins: names,
            guarded: builtins.guarded,
            ledger: records,
            calls,
            for_functions,
            open_catalog: parts.open_catalog,
            servers: parts.servers,
            listed: watch::Sender::new(!has_sources),
            following: OnceLock::new(),
            sets: parts.sets,
            aliases: parts.aliases,
            limits: builtins.limits,
        })
    }

    /// Lists the tools of the MCP servers, and follows their changes for as long as these tools are in use.
    /// `announcer` announces each change.
    pub fn follow(self: &Arc<Tools>, announcer: &Announcer) {
        announcer.announce_all();
        if *self.listed.borrow() {
            return;
        }
        let mut following = JoinSet::new();
        if let Some(mut own) = self.toolbox.source_changes() {
            let changes = announcer.tools.clone();
            following.spawn(async move {
                while own.changed().await.is_ok() {
                    changes.send_replace(());
                }
            });
        }
        let listed = self.listed.clone();
        following.spawn(async move {
            tokio::time::sleep(LISTING_DEADLINE).await;
            listed.send_replace(true);
        });
        let (toolbox, listed) = (self.toolbox.clone(), self.listed.clone());
        following.spawn(async move {
            toolbox.refresh().await;
            for report in toolbox.source_reports() {
                for problem in &report.problems {
                    tracing::warn!("the MCP server `{}` {problem}", report.source);
                }
            }
            listed.send_replace(true);
            toolbox.follow_sources().await;
        });
        let _ = self.following.set(following);
    }

    /// Waits until the tools of the MCP servers were listed, or until that has taken too long.
    pub async fn listed(&self) {
        if *self.listed.borrow() {
            return;
        }
        let mut listed = self.listed.subscribe();
        let _ =
            tokio::time::timeout(LISTING_DEADLINE, listed.wait_for(|is_listed| *is_listed)).await;
    }

    /// Returns the tools that a list selects as the header does, and functions of the catalog by `prefab/function`, for
    /// the user of this machine. `place` names the list in errors.
    pub async fn select(&self, list: &str, place: &str) -> Result<Toolbox, Fault> {
        let all = self.for_plans(None);
        let (functions, others): (Vec<&str>, Vec<&str>) =
            list.split(',').map(str::trim).partition(|name| name.contains('/'));
        let names = self.named(&others.join(","), &Client::open(), place)?;
        let mut handlers = Vec::new();
        for name in functions {
            let found = all.resolve(name).await;
            handlers.push(found.map_err(|error| unknown(place, name, &error.text))?);
        }
        let selected = all.only(names.iter().map(String::as_str)).with_handlers(handlers);
        selected.map_err(|error| Fault::new(FaultClass::Invalid, error.to_string()))
    }

    /// Returns all tools.
    pub fn all(&self) -> Toolbox {
        self.toolbox.clone()
    }

    /// Returns the tools that plans of a client may use, or all: those of the toolbox, and the functions of the
    /// catalog, by `prefab/function` or `prefab@version/function`.
    pub fn for_plans(&self, client: Option<&Arc<Client>>) -> Toolbox {
        let access = client.map_or_else(Access::everything, |client| self.access(client));
        permitted(&self.toolbox, self.function_source(), access)
    }

    /// Returns the tools that a client may use over MCP: all, or those of one MCP server or tool set.
    pub fn for_mcp(&self, place: Option<&str>, client: &Arc<Client>) -> Option<Toolbox> {
        let client = Arc::clone(client);
        let Some(place) = place else {
            return Some(self.toolbox.filtered(move |name| client.may_call(name)));
        };
        if self.servers.contains(place) {
            let (all, place) = (self.toolbox.clone(), place.to_owned());
            let rule = move |name: &str| all.is_of_source(name, &place) && client.may_call(name);
            return Some(self.toolbox.filtered(rule));
        }
        let names = self.set(place)?;
        let names = names.iter().map(String::as_str).filter(|name| client.may_call(name));
        Some(self.toolbox.only(names))
    }

    /// Returns the tools of plans that are published as functions.
    pub fn for_functions(&self) -> &Toolbox {
        &self.for_functions
    }

    /// Returns the names of the MCP servers.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(String::as_str)
    }

    /// Returns the names and patterns of a tool set.
    pub fn set_patterns(&self, name: &str) -> Option<&[String]> {
        self.sets.get(name).map(Vec::as_slice)
    }

    /// Returns the toolbox for a request, if it selects tools. `further` are tools of servers that it names.
    pub async fn wanted<'n>(
        &self,
        headers: &HeaderMap,
        model: &str,
        client: &Arc<Client>,
        further: impl Iterator<Item = &'n str>,
    ) -> Result<Option<Toolbox>, Fault> {
        if headers.contains_key(HEADER) || self.aliases.contains_key(model) {
            self.listed().await;
        }
        let mut names: Vec<String> = match headers.get(HEADER) {
            Some(value) => {
                let said = value.to_str().map_err(|_| unknown(PLACE, "?", ""))?;
                self.named(said, client, PLACE)?
            }
            None => match self.aliases.get(model) {
                // The operator configured them for all clients that may use them.
                Some(names) => {
                    let names = names.iter();
                    let names = names
                        .flat_map(|name| self.group(name).unwrap_or_else(|| vec![name.clone()]));
                    names.filter(|own| client.may_call(&without_version(own))).collect()
                }
                None => Vec::new(),
            },
        };
        names.extend(further.map(str::to_owned));
        if names.is_empty() {
            return Ok(None);
        }
        let functions = self.chosen_functions(&names, client).await?;
        let toolbox = self.toolbox.only(names.iter().map(String::as_str));
        Ok(Some(toolbox.with_tools(functions)))
    }

    /// Returns those of the named tools that are functions of the catalog.
    async fn chosen_functions(
        &self,
        names: &[String],
        client: &Arc<Client>,
    ) -> Result<Vec<CompiledTool>, Fault> {
        let mut chosen: Vec<CompiledTool> = Vec::new();
        let source = self.function_source().with_access(self.access(client));
        for name in names.iter().filter(|name| self.is_function(name)) {
            let found = source.find(name).await.map_err(|error| unavailable(&error.0))?;
            let found = found.map_err(|missing| unknown_function(name, missing))?;
            let (tool, exact) = (found.handler().tool(), &found.handler().settings().exact_name);
            let mut others = chosen.iter().map(CompiledTool::handler);
            match others.find(|other| other.tool().name == tool.name) {
                None => chosen.push(found),
                Some(other) if other.settings().exact_name == *exact => {}
                Some(_) => {
                    let message =
                        format!("The request wants two versions of `{}`. Name one.", tool.name);
                    return Err(Fault::new(FaultClass::Invalid, message));
                }
            }
        }
        Ok(chosen)
    }

    /// Whether a name is that of a function of the catalog, if there is such a tool.
    fn is_function(&self, name: &str) -> bool {
        name.contains('/') && !self.toolbox.contains(name)
    }

    fn function_source(&self) -> FunctionSource {
        let open = Arc::clone(&self.open_catalog);
        FunctionSource::opened_by(move || open())
    }

    /// Returns a toolbox without tools, with the policy and the ledger of the gateway's calls.
    pub fn calls(&self) -> Toolbox {
        self.calls.clone()
    }

    /// Records an entry in the ledger of the calls.
    pub fn record(&self, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.ledger.record(entry);
        }
    }

    /// Returns what a client may see of the catalog: what it may call.
    pub fn access(&self, client: &Arc<Client>) -> Access {
        Access::everything().with_filter(self.permission(client))
    }

    /// Returns whether a client may call a function, by the name of the function as a tool.
    pub fn permission(
        &self,
        client: &Arc<Client>,
    ) -> impl Fn(&str) -> bool + Send + Sync + 'static {
        let (client, toolbox) = (Arc::clone(client), self.calls());
        let caller = client.caller();
        move |name| client.may_call(name) && toolbox.may_call(name, &caller)
    }

    /// Returns the built-in tools.
    pub fn builtins(&self) -> Toolbox {
        self.toolbox.only(self.builtins.iter().map(String::as_str))
    }

    /// Whether calls of a tool wait for approval.
    pub fn is_guarded(&self, tool: &str) -> bool {
        self.guarded.contains(tool)
    }

    /// Returns the names of the tools that run without approval.
    pub fn runnable(&self) -> impl Iterator<Item = &str> {
        let names = self.builtins.iter().map(String::as_str);
        names.filter(|own| !self.guarded.contains(*own))
    }

    /// Returns the tools that a header or an option (`place`) names.
    fn named(&self, said: &str, client: &Client, place: &str) -> Result<Vec<String>, Fault> {
        let mut names = Vec::new();
        for name in said.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if let Some(group) = self.group(name) {
                names.extend(group.into_iter().filter(|own| client.may_call(own)));
                continue;
            }
            if !self.toolbox.contains(name) && !self.is_function(name) {
                return Err(self.unknown(name, place));
            }
            if !client.may_call(&without_version(name)) {
                return Err(forbidden(client.name(), name));
            }
            names.push(name.to_owned());
        }
        Ok(names)
    }

    /// Returns the tools that a name stands for, if it is not the name of one tool: all that run without
    /// approval (`*`), those of the catalog, those of an MCP server (`mcp:NAME`), or those of a tool set.
    fn group(&self, name: &str) -> Option<Vec<String>> {
        if let Some(set) = self.set(name) {
            return Some(set);
        }
        if name == CATALOG {
            return Some(tools::NAMES.map(str::to_owned).into());
        }
        let of_source = |server| self.toolbox.names_of_source(server);
        let from_mcp: Vec<_> = match name.strip_prefix(MCP) {
            Some(server) => {
                self.servers.contains(server).then_some(())?;
                return Some(of_source(server).iter().map(ToString::to_string).collect());
            }
            None if name == "*" => self.servers().flat_map(of_source).collect(),
            None => return None,
        };
        let own = self.runnable().map(str::to_owned);
        Some(own.chain(from_mcp.iter().map(ToString::to_string)).collect())
    }

    /// Returns the tools of a tool set that there are, in the order of the set.
    fn set(&self, name: &str) -> Option<Vec<String>> {
        let all = self.toolbox.all_names();
        let mut seen = BTreeSet::new();
        let tools = self.sets.get(name)?.iter().flat_map(|pattern| {
            // A set has only names of tools, not those of sets.
            let group = if self.sets.contains_key(pattern) { None } else { self.group(pattern) };
            group.unwrap_or_else(|| {
                let glob = Glob::new(pattern);
                let names = all.iter().filter(|name| glob.matches(name));
                names.map(ToString::to_string).collect()
            })
        });
        Some(tools.filter(|tool| seen.insert(tool.clone())).collect())
    }

    fn unknown(&self, name: &str, place: &str) -> Fault {
        if self.builtins.is_empty() && self.servers.is_empty() {
            let why = "The gateway has only the tools of its catalog (`catalog`): its operator adds \
                       others with the tables `[tools]` and `[mcp.NAME]`.";
            return unknown(place, name, why);
        }
        let names = self.toolbox.all_names();
        let suggestion = suggest(name, names.iter().map(|own| &**own));
        let hint = suggestion.map(|own| format!("Did you mean `{own}`?"));
        let shown: Vec<&str> = names.iter().map(|own| &**own).take(MAX_NAMED).collect();
        unknown(place, name, &hint.unwrap_or_else(|| format!("There are: {}.", shown.join(", "))))
    }
}

/// Returns the tools and functions that may be called.
pub(crate) fn permitted(toolbox: &Toolbox, functions: FunctionSource, access: Access) -> Toolbox {
    let functions = functions.with_access(access.clone());
    toolbox.filtered(move |name| access.permits(name)).with_unlisted(Arc::new(functions))
}

fn unknown(place: &str, name: &str, hint: &str) -> Fault {
    let name: String = name.chars().filter(|own| !own.is_control()).take(64).collect();
    let message = format!("{place} names an unknown tool, `{name}`. {hint}");
    let param = Some(HEADER.as_str().to_owned());
    Fault { param, ..Fault::new(FaultClass::Invalid, message) }
}

fn unknown_function(name: &str, missing: MissingTool) -> Fault {
    let reason = missing.reason.unwrap_or_else(|| "the catalog has no such function".to_owned());
    let hint = match missing.similar.first() {
        Some(similar) => format!(" Did you mean `{similar}`?"),
        None => String::new(),
    };
    let message = format!("The request wants the tool `{name}`, but {reason}.{hint}");
    let param = Some(HEADER.as_str().to_owned());
    Fault { param, ..Fault::new(FaultClass::Invalid, message) }
}

fn forbidden(client: &str, tool: &str) -> Fault {
    let message = format!(
        "The key `{client}` may not use the tool `{tool}`. Leave it out, or ask the operator to \
         add it to the key's `tools`."
    );
    Fault::new(FaultClass::Forbidden, message)
}
