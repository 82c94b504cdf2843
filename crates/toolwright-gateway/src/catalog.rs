//! The state of the prefab interface: the catalog, files of tenants and the key of signatures. Each part is opened when
//! a request needs it first, so that a gateway whose catalog is unused pays nothing for it.

pub mod config;
pub mod routes;
pub mod tools;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;
use toolwright_catalog::files::{Files, TABLE_FILE};
use toolwright_catalog::runtime::http::HttpRuntime;
use toolwright_catalog::runtime::{McpFunctions, PlanToolboxes, PrefabSettings, Runner};
use toolwright_catalog::signing::SigningKey;
use toolwright_catalog::tools::LocalCatalog;
use toolwright_catalog::{Catalog, CatalogError, Dictionary};
use toolwright_core::Fault;
use toolwright_plan::PlanThreads;
use toolwright_runtime::{Handler, process};
use toolwright_transport::{AddressPolicy, HttpClient, TransportError};

use crate::fault::unavailable;

/// The path that the keys of files follow.
pub const FILE_CONTENT: &str = "/internal/files/content/";

/// The warning that functions can read and change what the gateway can.
pub const UNCONFINED: &str = "this kernel has no Landlock, so functions that run as processes can use all files of the \
                              gateway's user; run the gateway on Linux 5.13 or newer with Landlock enabled to confine them";

/// Interval between two sweeps of expired files.
const SWEEP_INTERVAL: Duration = Duration::from_mins(10);

/// The prefab interface's state.
#[derive(Debug, Default)]
pub struct Prefabs {
    /// The data folder; without one there are no files
    data: Option<PathBuf>,
    settings: Arc<config::CatalogSettings>,
    files: OnceCell<Files>,
    catalog: OnceCell<Catalog>,
    key: OnceCell<SigningKey>,
}

impl Prefabs {
    /// Creates the state for a data folder.
    pub fn new(data: PathBuf, settings: Arc<config::CatalogSettings>) -> Prefabs {
        Prefabs { data: Some(data), settings, ..Prefabs::default() }
    }

    /// Returns the files of tenants.
    pub async fn files(&self) -> Result<&Files, Fault> {
        let limits = self.settings.files;
        self.open(&self.files, move |data| Files::open(&data, limits)).await
    }

    /// Returns the catalog.
    pub async fn catalog(&self) -> Result<&Catalog, Fault> {
        let settings = Arc::clone(&self.settings);
        let open = move |data: PathBuf| {
            let (catalog, warning) = open_catalog(&data, &settings)?;
            if let Some(warning) = warning {
                tracing::warn!("{warning}");
            }
            Ok::<_, CatalogError>(catalog)
        };
        self.open(&self.catalog, open).await
    }

    /// Returns the key of signatures.
    pub async fn signing_key(&self) -> Result<&SigningKey, Fault> {
        self.open(&self.key, |data| SigningKey::open(&data)).await
    }

    async fn open<'c, T: Send + 'static, E: Display + Send + 'static>(
        &self,
        cell: &'c OnceCell<T>,
        open: impl FnOnce(PathBuf) -> Result<T, E> + Send + 'static,
    ) -> Result<&'c T, Fault> {
        let opened = cell.get_or_try_init(|| async {
            let data = self.data.clone().ok_or_else(|| "there is no data folder".to_owned())?;
            let opened = tokio::task::spawn_blocking(move || open(data)).await;
            opened.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        });
        opened.await.map_err(|why: String| unavailable(&why))
    }

    /// Removes expired files from time to time, if the data folder has any.
    pub async fn sweep(&self) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let table = self.data.as_ref().map(|data| data.join(TABLE_FILE));
            if !table.is_some_and(|table| table.exists()) {
                continue;
            }
            let Ok(files) = self.files().await else { continue };
            if let Err(error) = files.sweep(SystemTime::now()).await {
                tracing::warn!("expired files cannot be removed: {error}");
            }
        }
    }
}

/// The functions of prefabs, with the settings of one configuration.
#[derive(Default)]
pub struct Functions {
    prefabs: Arc<Prefabs>,
    settings: Arc<config::CatalogSettings>,
    /// The built-in functions that run without approval
    builtins: Vec<Handler>,
    /// The tools of the configured MCP servers
    mcp: Option<McpFunctions>,
    /// The tools of functions that are plans
    plan_tools: OnceLock<PlanToolboxes>,
    /// The threads of functions that are plans
    plan_threads: PlanThreads,
    runner: OnceCell<Arc<Runner>>,
}

impl Functions {
    /// Creates the functions of a configuration.
    pub fn new(
        prefabs: Arc<Prefabs>,
        settings: Arc<config::CatalogSettings>,
        builtins: Vec<Handler>,
        mcp: McpFunctions,
        plan_threads: PlanThreads,
    ) -> Functions {
        let mcp = Some(mcp);
        Functions { prefabs, settings, builtins, mcp, plan_threads, ..Functions::default() }
    }

    /// Sets the tools of functions that are plans, which may be such functions themselves.
    pub fn set_plan_tools(&self, tools: PlanToolboxes) {
        // They are set once, when the tools of a configuration are created.
        let _ = self.plan_tools.set(tools);
    }

    /// Returns the catalog and what runs its functions.
    pub async fn open(&self) -> Result<LocalCatalog, Fault> {
        let catalog = self.prefabs.catalog().await?.clone();
        Ok(LocalCatalog { catalog, runner: self.runner().await? })
    }

    /// Returns what runs the functions of prefabs.
    pub async fn runner(&self) -> Result<Arc<Runner>, Fault> {
        Ok(Arc::clone(self.runner.get_or_try_init(|| self.create()).await?))
    }

    async fn create(&self) -> Result<Arc<Runner>, Fault> {
        if !process::can_confine() {
            tracing::warn!("{UNCONFINED}");
        }
        let http = http_client(&self.settings).map_err(|error| unavailable(&error.to_string()))?;
        let mut runner = Runner::new(self.prefabs.files().await?.clone())
            .with_builtins(self.builtins.iter().cloned())
            .with_plan_threads(self.plan_threads.clone())
            .with_http(HttpRuntime::new(http));
        if let Some(mcp) = &self.mcp {
            runner = runner.with_mcp(mcp.clone());
        }
        if let Some(tools) = self.plan_tools.get() {
            runner = runner.with_plans(Arc::clone(tools));
        }
        for (id, prefab) in &self.settings.prefabs {
            let mut own = PrefabSettings::default();
            own.secrets.clone_from(&prefab.secrets);
            own.fills.clone_from(&prefab.hide);
            own.read.clone_from(&prefab.read);
            own.write.clone_from(&prefab.write);
            runner = runner.with_prefab(id, own);
        }
        Ok(Arc::new(runner))
    }
}

/// The client of HTTP functions, which reaches public addresses and those that the operator allows.
fn http_client(settings: &config::CatalogSettings) -> Result<HttpClient, TransportError> {
    let mut policy = AddressPolicy::public();
    for entry in &settings.allow {
        policy = policy.with_allowed(entry)?;
    }
    Ok(HttpClient::new("a prefab's server")?.with_policy(policy))
}

/// Opens the catalog of a data folder, with its dictionary. If that cannot be used, searches go without it, and the
/// warning says so.
pub fn open_catalog(
    data: &Path,
    settings: &config::CatalogSettings,
) -> Result<(Catalog, Option<String>), CatalogError> {
    let catalog = Catalog::open(data)?;
    let mut warning = None;
    if let Some(file) = &settings.dictionary {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        let read = text.and_then(|text| Dictionary::parse(text).map_err(|error| error.to_string()));
        let unusable = |why| format!("the dictionary {} cannot be used: {why}", file.display());
        warning = read.map(|read| catalog.set_dictionary(read)).map_err(unusable).err();
    }
    Ok((catalog, warning))
}
