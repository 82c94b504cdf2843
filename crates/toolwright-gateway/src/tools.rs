//! The tools that the gateway runs itself, and their selection for a request.
//!
//! A request selects tools with the header `toolwright-tools`, or with a model alias that has
//! tools. A tool with effects runs if the configuration allows it, or with the approval of a person.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use toolwright::builtin::{self, Root};
use toolwright::call::{Policy, Rule, Verdict};
use toolwright::catalog::Access;
use toolwright::catalog::remote::RemoteCatalog;
use toolwright::catalog::tools::{self, CatalogTools};
use toolwright::ledger::Ledger;
use toolwright::transport::TransportError;
use toolwright::{Effect, Handler, Limits, ToolError, Toolbox};
use toolwright_core::{Fault, FaultClass, suggest};

use crate::config::{self, CATALOG, Config, ConfigError};
use crate::key::Client;
use crate::prefabs::{FILE_CONTENT, Functions, Prefabs};

/// The header that names the tools, separated by commas; `*` means all that may run.
pub const HEADER: HeaderName = HeaderName::from_static("toolwright-tools");

/// Why a tool with effects needs approval.
const GUARDED: &str = "It changes something.";

/// The tools of a gateway.
#[derive(Default)]
pub struct Tools {
    toolbox: Toolbox,
    /// The names of the built-in tools
    builtins: Vec<String>,
    /// Tools with effects that the configuration does not allow
    guarded: BTreeSet<String>,
    /// Runs functions of prefabs: policy and ledger, without tools
    calls: Toolbox,
    /// The functions of prefabs
    functions: Arc<Functions>,
    /// The tools of model aliases
    aliases: BTreeMap<String, Vec<String>>,
    /// Limits of a run
    pub limits: Limits,
}

impl Tools {
    /// Creates the tools of a configuration, with the ledger that records their calls.
    pub fn new(
        config: &Config,
        ledger: Arc<dyn Ledger>,
        prefabs: &Arc<Prefabs>,
    ) -> Result<Tools, ConfigError> {
        let refused = |what: String| ConfigError::new("tools", what);
        let (mut handlers, mut allow, mut limits) = (Vec::new(), &[][..], config::default_limits());
        if let Some(tools) = &config.tools {
            let root = Root::open(&tools.root)
                .map_err(|error| refused(format!("{}: {error}", tools.root.display())))?;
            handlers = builtin::handlers(root);
            (allow, limits) = (&tools.allow, tools.limits);
        }
        let name = |handler: &Handler| handler.tool().name.clone();
        let (builtins, guarded): (Vec<String>, BTreeSet<String>) = {
            let effects = handlers.iter().filter(|own| own.settings().effect != Effect::None);
            let guarded = effects.map(name).filter(|own| !allow.contains(own)).collect();
            (handlers.iter().map(name).collect(), guarded)
        };
        let mut policy = Policy::default();
        if !guarded.is_empty() {
            let names = guarded.iter().map(String::as_str);
            policy =
                policy.with_rule(Rule::new(Verdict::Ask).with_tools(names).with_reason(GUARDED));
        }
        let runnable = handlers.iter().filter(|own| !guarded.contains(&own.tool().name)).cloned();
        let settings = Arc::clone(&config.catalog);
        let functions = Functions::new(Arc::clone(prefabs), settings, runnable.collect());
        let functions = Arc::new(functions);
        let catalog = catalog_tools(&functions, config);
        let catalog =
            catalog.map_err(|error| ConfigError::new("prefab_gateway", error.to_string()))?;
        handlers.extend(catalog.handlers());
        let toolbox = Toolbox::new(handlers).map_err(|error| refused(error.to_string()))?;
        let toolbox = toolbox.with_policy(policy).with_ledger(ledger);
        let calls = toolbox.only([]);
        let aliases = config.models.iter().filter(|(_, alias)| !alias.tools.is_empty());
        let aliases = aliases.map(|(name, alias)| (name.clone(), alias.tools.clone())).collect();
        Ok(Tools { toolbox, builtins, guarded, calls, functions, aliases, limits })
    }

    /// Returns the toolbox for a request, if it selects tools.
    pub fn wanted(
        &self,
        headers: &HeaderMap,
        model: &str,
        client: &Client,
    ) -> Result<Option<Toolbox>, Fault> {
        let names = match headers.get(HEADER) {
            Some(value) => {
                let said = value.to_str().map_err(|_| unknown("?", ""))?;
                self.named(said, client)?
            }
            None => match self.aliases.get(model) {
                // The operator configured them for all clients that may use them.
                Some(names) => {
                    let names = names.iter().flat_map(|name| expand(name));
                    names.filter(|own| client.may_call(own)).collect()
                }
                None => return Ok(None),
            },
        };
        Ok((!names.is_empty()).then(|| self.toolbox.only(names)))
    }

    /// Returns a toolbox without tools, with the policy and the ledger of the gateway's calls.
    pub fn calls(&self) -> Toolbox {
        self.calls.clone()
    }

    /// Returns the functions of prefabs.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Returns what a client may see of the catalog: what it may call.
    pub fn access(&self, client: &Arc<Client>) -> Access {
        let (client, toolbox) = (Arc::clone(client), self.calls());
        let caller = client.caller();
        Access::everything()
            .with_filter(move |name| client.may_call(name) && toolbox.may_call(name, &caller))
    }

    /// Returns the names of the tools that run without approval.
    pub fn runnable(&self) -> impl Iterator<Item = &str> {
        let names = self.builtins.iter().map(String::as_str);
        names.filter(|own| !self.guarded.contains(*own))
    }

    /// Returns the tools that a header names.
    fn named<'n>(&'n self, said: &'n str, client: &Client) -> Result<Vec<&'n str>, Fault> {
        let mut names = Vec::new();
        for name in said.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "*" {
                names.extend(self.runnable().filter(|own| client.may_call(own)));
                continue;
            }
            if name == CATALOG {
                names.extend(tools::NAMES.into_iter().filter(|own| client.may_call(own)));
                continue;
            }
            if self.toolbox.handler(name).is_none() {
                return Err(self.unknown(name));
            }
            if !client.may_call(name) {
                return Err(forbidden(client.name(), name));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn unknown(&self, name: &str) -> Fault {
        if self.builtins.is_empty() {
            let why = "The gateway has only the tools of its catalog (`catalog`): its operator adds \
                       others with the table `[tools]`.";
            return unknown(name, why);
        }
        let names: Vec<&str> = self.toolbox.names().collect();
        let suggestion = suggest(name, names.iter().copied());
        let hint = suggestion.map(|own| format!("Did you mean `{own}`?"));
        unknown(name, &hint.unwrap_or_else(|| format!("There are: {}.", names.join(", "))))
    }
}

/// The tools that a name stands for.
fn expand(name: &str) -> Vec<&str> {
    if name == CATALOG { tools::NAMES.to_vec() } else { vec![name] }
}

/// The tools of the catalog, which is opened by the first call.
fn catalog_tools(
    functions: &Arc<Functions>,
    config: &Config,
) -> Result<CatalogTools, TransportError> {
    let functions = Arc::clone(functions);
    let mut tools = CatalogTools::opened_by(move || {
        let functions = Arc::clone(&functions);
        Box::pin(async move {
            functions.open().await.map_err(|fault| ToolError::new(fault.message).retryable())
        })
    });
    if let Some(url) = &config.catalog.public_url {
        tools = tools.with_files_url(format!("{url}{FILE_CONTENT}"));
    }
    if let Some(gateway) = &config.prefab_gateway {
        let mut remote = RemoteCatalog::new(&gateway.base_url)?;
        if let Some(token) = &gateway.token {
            remote = remote.with_token(token.clone());
        }
        tools = tools.with_remote(Some(remote));
    }
    Ok(tools)
}

fn unknown(name: &str, hint: &str) -> Fault {
    let name: String = name.chars().filter(|own| !own.is_control()).take(64).collect();
    let message = format!("The header `toolwright-tools` names an unknown tool, `{name}`. {hint}");
    let mut fault = Fault::new(FaultClass::Invalid, message);
    fault.param = Some(HEADER.as_str().to_owned());
    fault
}

fn forbidden(client: &str, tool: &str) -> Fault {
    let message = format!(
        "The key `{client}` may not use the tool `{tool}`. Leave it out, or ask the operator to \
         add it to the key's `tools`."
    );
    Fault::new(FaultClass::Forbidden, message)
}
