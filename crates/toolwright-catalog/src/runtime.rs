//! Runs functions of prefabs: each becomes a tool that runs as its manifest says.
//!
//! A function is compiled when it is called for the first time, and stays compiled for its version. Its name
//! as a tool is `{prefab}/{function}` in every version, so that policies and ledgers need not know versions;
//! the digest of the version is a part of its idempotency keys.

mod check;
pub mod http;
mod process;
mod stream;
mod workspace;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use toolwright_core::schema::SchemaError;
use toolwright_core::{Json, Tool, object};
use toolwright_json::Object;
use toolwright_plan::{PlanThreads, plan_tool_with};
use toolwright_runtime::bounded::BoundedMap;
use toolwright_runtime::process::Confinement;
use toolwright_runtime::redact::known::KnownSecrets;
use toolwright_runtime::toolbox::CompiledTool;
use toolwright_runtime::{Effect, Fill, Handler, ToolError, Toolbox};
use toolwright_transport::secret::SecretString;

use super::access::{Access, exact_tool_name, tool_name};
use super::files::{FileError, Files};
use super::manifest::{FILES, Function, Manifest, McpServer, Runtime};
use super::package::PublishedFiles;
use super::store::{Parameters, is_builtin};
use super::version::PrefabVersion;
pub use check::FunctionCheck;
use http::{HttpFunction, HttpRuntime};
use process::ProcessFunction;
pub use stream::EventSender;
pub(super) use stream::{FunctionStream, StreamError};

/// Maximum number of compiled functions.
const MAX_COMPILED: usize = 4096;

/// Number of bytes of a result that a model receives. A larger result is stored behind a handle.
const BUDGET: usize = 2000;

/// What the operator configured for a prefab.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PrefabSettings {
    /// Secrets by their names in the manifest
    pub secrets: BTreeMap<String, SecretString>,
    /// Values of parameters that are hidden from models, by function and parameter
    pub fills: BTreeMap<String, Vec<(String, Fill)>>,
    /// Files and folders that its processes may read, where they are confined
    pub read: Vec<PathBuf>,
    /// Files and folders that its processes may read and change, where they are confined
    pub write: Vec<PathBuf>,
}

/// Why a function cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// A secret that it needs is not configured
    #[error(
        "The prefab {prefab} needs the secret {secret}, which is not configured. {instructions}"
    )]
    MissingSecret {
        /// The id of the prefab
        prefab: String,
        /// The name of the secret
        secret: String,
        /// What the operator can do
        instructions: String,
    },
    /// Nothing here can run it
    #[error("{function} cannot run here: {problem}")]
    NotRunnable {
        /// The name of the function as a tool
        function: String,
        /// The reason
        problem: String,
    },
    /// The schema of its arguments is invalid
    #[error(
        "{function} cannot be called, because the schema of its arguments is invalid: {source}"
    )]
    Schema {
        /// The name of the function as a tool
        function: String,
        /// The problem
        source: SchemaError,
    },
}

/// The error of a tool that uses files. Paths of the machine stay here.
pub(super) fn file_error(error: FileError) -> ToolError {
    let text = match &error {
        FileError::Store(_) | FileError::Key(_) | FileError::Io { .. } => {
            "The files cannot be read or written at the moment.".to_owned()
        }
        told => told.to_string(),
    };
    ToolError::new(text).with_kind("FileError")
}

/// The output of a function that returns files: its return value, and the links to its files.
pub(super) fn with_files(value: Json, files: Object) -> Json {
    let mut output = object! {"output": value};
    output.insert(FILES, files);
    output.into()
}

/// Returns the schema of the output of a function, if its manifest describes the return value.
fn output_schema(function: &Function) -> Option<Json> {
    let schema = function.output_schema.clone()?;
    if function.output_files().next().is_none() {
        return Some(schema);
    }
    let mut properties = object! {"output": schema};
    properties.insert(FILES, object! {"type": "object"});
    Some(object! {"type": "object", "properties": properties, "required": vec![FILES]}.into())
}

/// Separates the return value of a function that returns files from the links to its files.
pub fn split_files(output: Json) -> (Json, Object) {
    match output {
        Json::Object(mut object) if object.contains_key(FILES) => {
            let files = match object.remove(FILES) {
                Some(Json::Object(files)) => files,
                _ => Object::new(),
            };
            (object.remove("output").unwrap_or_default(), files)
        }
        other => (other, Object::new()),
    }
}

/// Returns a handler that calls a tool of a configured MCP server: by the names of the server and of its tool, with the
/// definition of the function. The error says why it cannot be called.
pub type McpFunctions = Arc<dyn Fn(&str, &str, Tool) -> Result<Handler, String> + Send + Sync>;

/// Returns the tools that steps of plans may use, of that what a caller may call.
pub type PlanToolboxes = Arc<dyn Fn(Access) -> Toolbox + Send + Sync>;

/// Runs functions of prefabs.
#[must_use]
pub struct Runner {
    files: Files,
    /// Where the files of running calls are
    work: PathBuf,
    http: Option<HttpRuntime>,
    builtins: HashMap<String, Handler>,
    mcp: Option<McpFunctions>,
    plan_tools: Option<PlanToolboxes>,
    plan_threads: Option<PlanThreads>,
    prefabs: HashMap<String, PrefabSettings>,
    compiled: Mutex<BoundedMap<FunctionKey, CompiledTool, ()>>,
}

/// The digest of a version, and the name of a function.
type FunctionKey = (Arc<str>, Arc<str>);

impl Runner {
    /// Creates a runner whose functions take and return files of a data folder.
    pub fn new(files: Files) -> Runner {
        let work = files.data().join(workspace::FOLDER);
        workspace::sweep(&work);
        Runner {
            files,
            work,
            http: None,
            builtins: HashMap::new(),
            mcp: None,
            plan_tools: None,
            plan_threads: None,
            prefabs: HashMap::new(),
            compiled: Mutex::default(),
        }
    }

    /// Runs HTTP functions with this client.
    pub fn with_http(mut self, http: HttpRuntime) -> Runner {
        self.http = Some(http);
        self
    }

    /// Adds the functions of built-in prefabs.
    pub fn with_builtins(mut self, handlers: impl IntoIterator<Item = Handler>) -> Runner {
        let named = handlers.into_iter().map(|handler| (handler.tool().name.clone(), handler));
        self.builtins.extend(named);
        self
    }

    /// Runs functions of MCP servers of the configuration.
    pub fn with_mcp(mut self, functions: McpFunctions) -> Runner {
        self.mcp = Some(functions);
        self
    }

    /// Runs functions that are plans with these tools.
    pub fn with_plans(mut self, tools: PlanToolboxes) -> Runner {
        self.plan_tools = Some(tools);
        self
    }

    /// Runs functions that are plans on these threads.
    pub fn with_plan_threads(mut self, threads: PlanThreads) -> Runner {
        self.plan_threads = Some(threads);
        self
    }

    /// Sets what the operator configured for a prefab.
    pub fn with_prefab(mut self, id: impl Into<String>, settings: PrefabSettings) -> Runner {
        self.prefabs.insert(id.into(), settings);
        self
    }

    /// Returns the files that functions take and return.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the parameters of a function that the configuration hides.
    pub fn hidden(&self, prefab: &str, function: &str) -> impl Iterator<Item = &str> {
        self.fills(prefab, function).iter().map(|(name, _)| name.as_str())
    }

    /// Returns all parameters that the configuration hides, by the name of their function as a tool.
    pub(super) fn all_hidden(&self) -> Parameters {
        let functions = self.prefabs.iter().flat_map(|(prefab, settings)| {
            settings.fills.iter().map(move |(function, fills)| (tool_name(prefab, function), fills))
        });
        let names = |fills: &Vec<(String, Fill)>| fills.iter().map(|fill| fill.0.clone()).collect();
        functions.map(|(function, fills)| (function, names(fills))).collect()
    }

    /// Returns a function as a tool.
    pub fn tool(
        &self,
        version: &PrefabVersion,
        function: &Function,
    ) -> Result<CompiledTool, FunctionError> {
        let key = (version.digest.as_str().into(), function.name.as_str().into());
        if let Some(known) = self.compiled.lock().renew(&key, ()) {
            return Ok(known.clone());
        }
        let handler = self.handler(version, function)?;
        let name = handler.tool().name.clone();
        let tool = CompiledTool::new(handler)
            .map_err(|source| FunctionError::Schema { function: name, source })?;
        let mut compiled = self.compiled.lock();
        // Another call may have been faster; its tool has the cache and the limit.
        if let Some(known) = compiled.get(&key) {
            return Ok(known.clone());
        }
        compiled.insert(key, tool.clone(), 0, ());
        while compiled.pop_excess(MAX_COMPILED, usize::MAX).is_some() {}
        Ok(tool)
    }

    fn handler(
        &self,
        version: &PrefabVersion,
        function: &Function,
    ) -> Result<Handler, FunctionError> {
        let manifest = &version.manifest;
        let name = tool_name(manifest.id.as_str(), &function.name);
        let refused = |problem: &str| FunctionError::NotRunnable {
            function: name.clone(),
            problem: problem.to_owned(),
        };
        let secrets = self.secrets(manifest, function)?;
        for (parameter, _) in self.fills(manifest.id.as_str(), &function.name) {
            let properties = function.input_schema.get("properties");
            if properties.is_none_or(|own| own.get(parameter).is_none()) {
                let problem =
                    format!("the configuration hides `{parameter}`, which it does not have");
                return Err(refused(&problem));
            }
        }
        let mut tool = Tool::function(name.clone(), function.input_schema.clone())
            .with_description(function.description.clone());
        tool.output = output_schema(function);
        let handler = match &manifest.runtime {
            Runtime::Builtin => {
                let is_ours = is_builtin(manifest.id.as_str(), &function.name);
                let builtin = self.builtins.get(&function.name).filter(|_| is_ours);
                let builtin =
                    builtin.ok_or_else(|| refused("this built-in function is not configured"))?;
                builtin.clone().with_name(name.clone())
            }
            Runtime::Process { command } => {
                let prefab = PublishedFiles::new(version);
                let prefab = prefab.ok_or_else(|| refused("its files are missing"))?;
                let settings = self.prefabs.get(manifest.id.as_str()).cloned().unwrap_or_default();
                let hidden = self.files.data().to_owned();
                let filled = self.filled_secrets(manifest.id.as_str(), &function.name);
                let received = secrets.iter().map(|(_, secret)| secret).chain(&filled);
                let process = ProcessFunction {
                    command: command.clone(),
                    prefab: Arc::new(prefab),
                    confinement: Confinement { read: settings.read, write: settings.write, hidden },
                    function: function.clone(),
                    known: KnownSecrets::new(received.map(|own| own.expose().as_str())),
                    secrets,
                    files: self.files.clone(),
                    work: self.work.clone(),
                };
                process.into_handler(tool)
            }
            Runtime::Http { base_url, headers } => {
                if let Some(file) = function.unsent_files().next() {
                    let problem = format!(
                        "no request has its input file `{}`; publish a version whose `http` sends it",
                        file.key
                    );
                    return Err(refused(&problem));
                }
                let runtime = self.http.clone();
                let runtime = runtime.ok_or_else(|| refused("there is no HTTP client"))?;
                let configured = self.prefabs.get(manifest.id.as_str());
                let request = HttpFunction {
                    runtime,
                    base_url: base_url.clone(),
                    headers: headers.clone(),
                    function: function.clone(),
                    secrets: configured.map(|own| own.secrets.clone()).unwrap_or_default(),
                    filled: self.filled_secrets(manifest.id.as_str(), &function.name),
                    files: self.files.clone(),
                };
                request.into_handler(tool)
            }
            Runtime::Mcp(McpServer::Configured(server)) => {
                let functions = self.mcp.as_ref();
                let functions = functions.ok_or_else(|| refused("there are no MCP servers"))?;
                functions(server, &function.name, tool).map_err(|problem| refused(&problem))?
            }
            Runtime::Plan => {
                let plan = function.plan.clone();
                let plan = plan.ok_or_else(|| refused("its manifest has no plan"))?;
                let tools = self.plan_tools.clone();
                let tools = tools.ok_or_else(|| refused("there are no tools for plans"))?;
                // The steps may call what the caller may call.
                plan_tool_with(tool, plan, self.plan_threads.clone(), move |scope| {
                    let tools = Arc::clone(&tools);
                    async move { tools(Access::of(&scope).await) }
                })
            }
            Runtime::Mcp(_) => {
                return Err(refused(
                    "only MCP servers of the configuration run; publish one with `toolwright catalog \
                     add mcp:NAME`",
                ));
            }
            Runtime::Listed => {
                return Err(refused("the catalog lists this prefab without its functions"));
            }
        };
        Ok(self.configure(handler, version, function))
    }

    /// Applies the settings of the manifest and of the configuration.
    fn configure(&self, handler: Handler, version: &PrefabVersion, function: &Function) -> Handler {
        let manifest = &version.manifest;
        // A plan that was interrupted is continued: what its calls did is recorded.
        let effect = match (&manifest.runtime, function.effect) {
            (Runtime::Plan, Effect::Once) => Effect::Keyed,
            (_, effect) => effect,
        };
        let mut handler = handler
            .with_version(format!("{} {}", manifest.version, version.digest))
            .with_exact_name(exact_tool_name(
                manifest.id.as_str(),
                &manifest.version,
                &function.name,
            ))
            .with_effect(effect)
            .with_hidden(function.hidden.iter().cloned())
            .with_budget(BUDGET);
        for (parameter, fill) in self.fills(manifest.id.as_str(), &function.name) {
            handler = handler.with_hidden([parameter.clone()]).with_fill(parameter, fill.clone());
        }
        if let Some(deadline) = function.deadline {
            handler = handler.with_deadline(deadline);
        }
        if let Some(cache) = function.cache {
            handler = handler.with_cache(cache);
        }
        handler
    }

    fn fills(&self, prefab: &str, function: &str) -> &[(String, Fill)] {
        let settings = self.prefabs.get(prefab);
        settings.and_then(|settings| settings.fills.get(function)).map_or(&[], Vec::as_slice)
    }

    /// Returns the secrets that fill parameters of a function.
    fn filled_secrets(&self, prefab: &str, function: &str) -> Vec<SecretString> {
        let fills = self.fills(prefab, function).iter();
        fills
            .filter_map(|(_, fill)| match fill {
                Fill::Secret(secret) => Some(secret.clone()),
                _ => None,
            })
            .collect()
    }

    /// Returns the secrets that a function needs.
    fn secrets(
        &self,
        manifest: &Manifest,
        function: &Function,
    ) -> Result<Vec<(String, SecretString)>, FunctionError> {
        let prefab = manifest.id.as_str();
        let configured = self.prefabs.get(prefab).map(|settings| &settings.secrets);
        let find = |name: &str| configured.and_then(|secrets| secrets.get(name)).cloned();
        let missing = |name: &str| {
            let need = manifest.secrets.iter().find(|need| need.name == name);
            let instructions = need.and_then(|need| need.instructions.clone());
            FunctionError::MissingSecret {
                prefab: prefab.to_owned(),
                secret: name.to_owned(),
                instructions: instructions
                    .unwrap_or_else(|| format!("Set `{name}` in [prefabs.{prefab}.secrets].")),
            }
        };
        let alternatives = function.http.as_ref().map(|binding| &*binding.security);
        if let Some(name) = http::missing_secret(alternatives.unwrap_or_default(), &find) {
            return Err(missing(&name));
        }
        let needed = function.secrets.iter();
        needed.map(|name| Ok((name.clone(), find(name).ok_or_else(|| missing(name))?))).collect()
    }
}
