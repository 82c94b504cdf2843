//! The state of a running gateway: the part that a reload replaces, and the part that survives it.

use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Instant;

use toolwright_core::json::SchemaCache;
use toolwright_mcp::server::Announcer;
use toolwright_runtime::call::journal::SqliteJournal;
use toolwright_runtime::handle::{self, MemoryHandles, SqliteHandles};
use toolwright_runtime::store::{ExpiringStore, StoreError};

use crate::config::{Catalog, Config, ConfigError, Env};
use crate::http::Budget;
use crate::key::Keys;
use crate::plans::Plans;
use crate::prefabs::Prefabs;
use crate::proxy::approvals::Approvals;
use crate::proxy::conversation::{self, Conversations};
use crate::proxy::reasoning_cache::ReasoningCache;
use crate::proxy::responses::ResponseStore;
use crate::proxy::route::{AliasRoute, Candidate, Routes};
use crate::proxy::saved_runs::SavedRuns;
use crate::proxy::tool_run::RunStores;
use crate::telemetry::Telemetry;
use crate::tools::{CatalogModels, Tools};

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
    /// Announces changes of the tools, prompts and resources, also by a reload
    pub announcer: Announcer,
    /// The memory of requests, replies and runs of plans
    pub budget: Arc<Budget>,
    /// Telemetry
    pub telemetry: Telemetry,
}

/// State that depends on the configuration. A request uses the same state from its start to its
/// end.
pub struct Live {
    /// The candidates for each model
    pub routes: Arc<Routes>,
    /// The clients
    pub keys: Keys,
    /// The tools that the gateway runs itself
    pub tools: Arc<Tools>,
    /// Settings of the catalog and its prefabs
    pub catalog: Arc<Catalog>,
}

impl Live {
    /// Creates the state of a configuration, which takes over what has not changed.
    fn new(
        config: &Config,
        env: Env<'_>,
        telemetry: &Telemetry,
        prefabs: &Arc<Prefabs>,
        (routes_before, tools_before): (&Routes, &Tools),
        keys: impl FnOnce() -> Keys,
    ) -> Result<Live, ConfigError> {
        let routes = Arc::new(routes(config, env, routes_before)?);
        let models = catalog_models(config, &routes)?;
        let tools = Tools::new(config, telemetry.ledger(), prefabs, models, tools_before)?;
        telemetry.metrics().know(routes.names());
        let catalog = Arc::clone(&config.catalog);
        Ok(Live { routes, keys: keys(), tools: Arc::new(tools), catalog })
    }
}

impl Gateway {
    /// Creates a gateway from a configuration.
    pub fn new(
        config: &Config,
        env: Env<'_>,
        telemetry: Telemetry,
    ) -> Result<Gateway, ConfigError> {
        let prefabs = Arc::new(Prefabs::new(config.data.clone(), Arc::clone(&config.catalog)));
        let before = (&Routes::default(), &Tools::default());
        let keys = || Keys::new(&config.keys);
        let live = Live::new(config, env, &telemetry, &prefabs, before, keys)?;
        let store = Arc::new(ExpiringStore::in_memory());
        let stores = Arc::new(RunStores {
            pending_turns: Arc::default(),
            saved: Arc::default(),
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
            plans: Arc::default(),
            announcer: Announcer::default(),
            budget: Budget::new(config.limits.budget()),
            telemetry,
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
            saved: Arc::new(SavedRuns::in_files(Arc::clone(&store), journal)),
            conversations: Arc::new(Conversations::new(Arc::clone(&store))),
            approvals: Arc::new(Approvals::new(Arc::clone(&store))),
            handles: Arc::new(handles),
            ..RunStores::clone(&self.stores)
        });
        let responses = Arc::new(ResponseStore::new(store, config.responses));
        let plans = Arc::new(Plans::new(config.data.clone(), config.plans));
        Ok(Gateway { reasoning_cache, stores, responses, plans, ..self })
    }

    /// Applies another configuration. Requests in flight continue with the old one, and an
    /// unchanged upstream keeps its connections.
    pub fn reload(&self, config: &Config, env: Env<'_>) -> Result<(), ConfigError> {
        let old = self.live();
        let keys = || old.keys.renew(&config.keys, Instant::now());
        let before = (&*old.routes, &*old.tools);
        let live = Live::new(config, env, &self.telemetry, &self.prefabs, before, keys)?;
        self.responses.configure(config.responses);
        self.plans.configure(config.plans);
        *self.live.write() = Arc::new(live);
        self.live().tools.follow(&self.announcer);
        Ok(())
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

fn routes(config: &Config, env: Env<'_>, before: &Routes) -> Result<Routes, ConfigError> {
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

/// Finds the models that the tools of the catalog use.
fn catalog_models(config: &Config, routes: &Routes) -> Result<CatalogModels, ConfigError> {
    let refused = |key: &str, why: String| ConfigError::new(format!("catalog.{key}"), why);
    let mut models = CatalogModels::default();
    if let Some(name) = &config.catalog.filter_model {
        let found = routes.model(name).map_err(|fault| refused("filter_model", fault.message))?;
        models.filter = Some(found);
    }
    if let Some(name) = &config.catalog.embeddings {
        let found = routes.find(name).map_err(|fault| refused("embeddings", fault.message))?;
        let embedder = found.into_iter().find_map(Candidate::into_embedder);
        let missing =
            || refused("embeddings", format!("the upstream of `{name}` has no embeddings"));
        models.embedder = Some(embedder.ok_or_else(missing)?);
    }
    Ok(models)
}
