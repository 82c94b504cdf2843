//! The state of a running gateway: the part that a reload replaces, and the part that survives it.

mod access;
pub mod config;
pub mod openapi;
mod pattern;
pub mod router;
pub mod routes;
pub mod serve;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use toolwright_core::json::SchemaCache;
use toolwright_mcp::server::{Announcer, Features};
use toolwright_runtime::Handler;
use toolwright_runtime::call::journal::SqliteJournal;
use toolwright_runtime::handle::{self, MemoryHandles, SqliteHandles};
use toolwright_runtime::store::{ExpiringStore, StoreError};
use toolwright_runtime::toolbox::ToolSource;

use self::config::Config;
use crate::approvals::Approvals;
use crate::catalog::config::CatalogSettings;
use crate::catalog::tools::{self as catalog_tools, CatalogModels};
use crate::catalog::{Functions, Prefabs};
use crate::config::{Env, Result};
use crate::conversation::{self, Conversations};
use crate::http::Budget;
use crate::journal::EffectJournal;
use crate::key::Keys;
use crate::mcp::McpServers;
use crate::mcp::routes::McpState;
use crate::models::route::{AliasRoute, Routes};
use crate::plans::Plans;
use crate::plans::routes::PlanState;
use crate::proxy::reasoning_cache::ReasoningCache;
use crate::responses::ResponseStore;
use crate::telemetry::Telemetry;
use crate::tool_runs::RunStores;
use crate::tool_runs::saved_runs::SavedRuns;
use crate::tools::{Builtins, Contributions, Tools};

/// The file in the data folder for expiring entries.
pub const STORE_FILE: &str = "store.sqlite";

/// The file in the data folder for the journal of effects.
const JOURNAL_FILE: &str = "journal.sqlite";

/// The file in the data folder for values behind handles.
const HANDLE_FILE: &str = "handles.sqlite";

/// The state of a gateway.
pub struct Gateway {
    live: RwLock<Arc<Live>>,
    /// Parsed schemas of the tools in recent requests
    pub schema_cache: SchemaCache,
    /// Opaque reasoning that clients cannot carry
    pub reasoning_cache: Arc<ReasoningCache>,
    /// Stores for runs of tools
    pub stores: Arc<RunStores>,
    /// Stored responses of the Responses API
    pub responses: Arc<ResponseStore>,
    /// Files and signatures of the prefab interface
    pub prefabs: Arc<Prefabs>,
    /// Runs of plans
    pub plans: Arc<Plans>,
    /// Sessions of MCP clients
    pub mcp: McpState,
    /// Announces changes of the tools, prompts and resources, also by a reload
    pub announcer: Announcer,
    /// The memory of requests, replies and runs of plans
    pub budget: Arc<Budget>,
    /// Telemetry
    pub telemetry: Telemetry,
    /// What the program around the gateway adds to its tools
    pub additions: Additions,
}

/// Tools, prompts and resources of the program that the gateway is a part of.
#[derive(Default)]
pub struct Additions {
    /// Tools
    pub handlers: Vec<Handler>,
    /// Tools that come and go
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Prompts and resources, in place of those of MCP servers
    pub features: Option<Arc<dyn Features>>,
}

/// State that depends on the configuration. A request uses the same state from its start to its
/// end.
pub struct Live {
    /// The candidates for each model
    pub routes: Arc<Routes>,
    /// The clients
    pub keys: Arc<Keys>,
    /// The tools that the gateway runs itself
    pub tools: Arc<Tools>,
    /// The MCP servers
    pub servers: Arc<McpServers>,
    /// The functions of prefabs
    pub functions: Arc<Functions>,
    /// Settings of the catalog and its prefabs
    pub catalog: Arc<CatalogSettings>,
}

/// What a configuration takes over from the one before, if it has not changed.
#[derive(Default)]
struct Before {
    routes: Arc<Routes>,
    servers: Arc<McpServers>,
    keys: Option<Arc<Keys>>,
}

/// What the state of every configuration uses.
struct Shared<'g> {
    telemetry: &'g Telemetry,
    prefabs: &'g Arc<Prefabs>,
    plans: &'g Plans,
    additions: &'g Additions,
}

impl Live {
    /// Creates the state of a configuration.
    fn new(
        config: &Config,
        env: Env<'_>,
        Shared { telemetry, prefabs, plans, additions }: Shared<'_>,
        before: Before,
    ) -> Result<Live> {
        let routes = Arc::new(routes(config, env, &before.routes)?);
        telemetry.metrics().know(routes.names());
        let servers = McpServers::new(&config.mcp, &config.data, &before.servers)?;
        let builtins = Builtins::open(config.tools.as_ref())?;
        let catalog = Arc::clone(&config.catalog);
        let functions = Arc::new(Functions::new(
            Arc::clone(prefabs),
            Arc::clone(&catalog),
            builtins.runnable().cloned().collect(),
            servers.functions(),
            plans.threads.clone(),
        ));
        let models = CatalogModels::find(&catalog, &routes)?;
        let elsewhere = config.prefab_gateway.as_ref();
        let aliases = config.models.iter().filter(|(_, alias)| !alias.tools.is_empty());
        let tools = Tools::new(Contributions {
            builtins,
            handlers: additions.handlers.clone(),
            servers: config.mcp.keys().cloned().collect(),
            sources: servers
                .sources()
                .into_iter()
                .chain(additions.sources.iter().cloned())
                .collect(),
            catalog: catalog_tools::tools(&functions, &catalog, elsewhere, models)?,
            open_catalog: catalog_tools::opener(&functions),
            ledger: telemetry.ledger(),
            sets: config.tool_sets.clone(),
            aliases: aliases.map(|(name, alias)| (name.clone(), alias.tools.clone())).collect(),
        })?;
        catalog_tools::set_plan_tools(&functions, tools.for_functions());
        let keys = match before.keys {
            Some(keys) => keys.renew(&config.keys, Instant::now()),
            None => Keys::new(&config.keys),
        };
        let (keys, tools, servers) = (Arc::new(keys), Arc::new(tools), Arc::new(servers));
        Ok(Live { routes, keys, tools, servers, functions, catalog })
    }

    /// Lists the tools of MCP servers, and announces what changes at the servers, for as long as this state is in use.
    pub fn follow(&self, announcer: &Announcer) {
        self.tools.follow(announcer);
        self.servers.follow(announcer);
    }
}

impl Gateway {
    /// Creates a gateway from a configuration.
    pub fn new(config: &Config, env: Env<'_>, telemetry: Telemetry) -> Result<Gateway> {
        Gateway::with_additions(config, env, telemetry, Additions::default())
    }

    /// Creates a gateway from a configuration, with tools of the program that it is a part of.
    pub fn with_additions(
        config: &Config,
        env: Env<'_>,
        telemetry: Telemetry,
        additions: Additions,
    ) -> Result<Gateway> {
        let prefabs = Arc::new(Prefabs::new(config.data.clone(), Arc::clone(&config.catalog)));
        let plans = Arc::<Plans>::default();
        let shared = Shared {
            telemetry: &telemetry,
            prefabs: &prefabs,
            plans: &plans,
            additions: &additions,
        };
        let live = Live::new(config, env, shared, Before::default())?;
        let store = Arc::new(ExpiringStore::in_memory());
        let stores = Arc::new(RunStores {
            pending_turns: Arc::default(),
            saved: Arc::new(SavedRuns::new(Arc::clone(&store))),
            journal: Arc::default(),
            conversations: Arc::new(Conversations::new(Arc::clone(&store))),
            approvals: Arc::new(Approvals::new(Arc::clone(&store))),
            handles: Arc::new(MemoryHandles::new(handle_limits())),
            inputs: Arc::default(),
        });
        let responses = Arc::new(ResponseStore::new(store, config.responses));
        Ok(Gateway {
            live: RwLock::new(Arc::new(live)),
            schema_cache: SchemaCache::default(),
            reasoning_cache: Arc::default(),
            stores,
            responses,
            prefabs,
            plans,
            mcp: McpState::default(),
            announcer: Announcer::default(),
            budget: Budget::new(config.limits.budget()),
            telemetry,
            additions,
        })
    }

    /// Stores responses, reasoning, runs and handles in the data folder, which must exist.
    pub fn with_data(self, config: &Config) -> Result<Gateway, StoreError> {
        let store = Arc::new(ExpiringStore::open(config.data.join(STORE_FILE))?);
        let reasoning_cache = Arc::new(ReasoningCache::default().with_store(Arc::clone(&store)));
        let journal = SqliteJournal::open(config.data.join(JOURNAL_FILE))?;
        let handles = SqliteHandles::open(config.data.join(HANDLE_FILE), handle_limits())?;
        let handles = handles.with_report(|error| {
            tracing::warn!("a value behind a handle cannot be read or written: {error}");
        });
        let stores = Arc::new(RunStores {
            saved: Arc::new(SavedRuns::new(Arc::clone(&store))),
            journal: Arc::new(EffectJournal::in_file(journal)),
            conversations: Arc::new(Conversations::new(Arc::clone(&store))),
            approvals: Arc::new(Approvals::new(Arc::clone(&store))),
            handles: Arc::new(handles),
            ..RunStores::clone(&self.stores)
        });
        let responses = Arc::new(ResponseStore::new(store, config.responses));
        self.plans.configure(config.plans);
        self.plans.set_data(config.data.clone());
        Ok(Gateway { reasoning_cache, stores, responses, ..self })
    }

    /// Applies another configuration. Requests in flight continue with the old one, and an
    /// unchanged upstream keeps its connections.
    pub fn reload(&self, config: &Config, env: Env<'_>) -> Result<()> {
        let old = self.live();
        let (routes, servers) = (Arc::clone(&old.routes), Arc::clone(&old.servers));
        let before = Before { routes, servers, keys: Some(Arc::clone(&old.keys)) };
        let Gateway { telemetry, prefabs, plans, additions, .. } = self;
        let shared = Shared { telemetry, prefabs, plans, additions };
        let live = Live::new(config, env, shared, before)?;
        self.responses.configure(config.responses);
        self.plans.configure(config.plans);
        *self.live.write() = Arc::new(live);
        self.live().follow(&self.announcer);
        Ok(())
    }

    /// Returns what plans need of the gateway, with the current configuration.
    pub fn plan_state(&self) -> PlanState {
        let live = self.live();
        PlanState {
            plans: Arc::clone(&self.plans),
            keys: Arc::clone(&live.keys),
            tools: Arc::clone(&live.tools),
            runs: Arc::clone(&self.stores.saved),
            journal: Arc::clone(&self.stores.journal),
            handles: Arc::clone(&self.stores.handles),
            telemetry: self.telemetry.clone(),
            budget: Arc::clone(&self.budget),
        }
    }

    /// Returns the state of the current configuration.
    pub fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.read())
    }
}

/// Limits of values behind handles, which live as long as their conversation.
fn handle_limits() -> handle::Limits {
    handle::Limits { lifetime: conversation::LIFETIME, ..handle::Limits::default() }
}

fn routes(config: &Config, env: Env<'_>, before: &Routes) -> Result<Routes> {
    let remotes = config.remotes(env)?.into_values().map(|remote| before.same(remote));
    let aliases = config.models.iter().map(|(name, alias)| {
        let route = AliasRoute { targets: alias.targets.clone(), max_tokens: alias.max_tokens };
        (name.clone(), route)
    });
    let overrides = config.upstreams.iter();
    let overrides = overrides.map(|(name, own)| (name.clone(), own.overrides.clone()));
    let listed = config.upstreams.iter().flat_map(|(name, upstream)| {
        upstream.models.iter().map(move |model| format!("{name}/{model}"))
    });
    Ok(Routes::new(remotes, aliases).with_overrides(overrides).with_listed(listed))
}
