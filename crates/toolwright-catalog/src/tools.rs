//! The tools with which a model uses a catalog of any size: search, list, inspect, call.
//!
//! Their definitions are the same for ten functions and for a hundred thousand, and their results have the
//! form that agents of prefab gateways know: `{"success", "result" | "error", "tool_name"}`.

mod embed;
mod filter;
mod search;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::{Body, Json, object};
use toolwright_runtime::call::CallResult;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::prelude::*;
use toolwright_runtime::{Envelope, Model};

use super::access::Access;
use super::error::LookupError;
use super::files::{Files, LinkPurpose};
use super::manifest::{FILES, Function};
use super::remote::{CALL_DEADLINE, RemoteCatalog};
use super::runtime::{self, Runner};
use super::store::Catalog;
use super::version::PrefabVersion;
use embed::Embeddings;
pub use embed::{EmbedFuture, EmbedKind, Embedder};

/// Maximum number of characters of the member `content` of a result that a model receives.
const MAX_CONTENT_CHARS: usize = 2000;

/// Maximum number of bytes of a result that a model receives as it is.
const MAX_RESULT_BYTES: usize = 12 << 10;

/// Lifetime of a link to upload a file.
const LINK_LIFETIME: Duration = Duration::from_hours(1);

/// The error of tools for a remote catalog whose address is not known.
const NOT_CONFIGURED: &str = "Prefab gateway URL not configured";

/// The names of the tools.
pub const NAMES: [&str; 6] = [
    "search_prefabs",
    "prefab_recommend",
    "list_prefab_functions",
    "get_function_details",
    "call_prefab_function",
    "request_file_upload",
];

/// A catalog and what runs its functions.
#[derive(Clone)]
pub struct LocalCatalog {
    /// The catalog
    pub catalog: Catalog,
    /// Runs its functions
    pub runner: Arc<Runner>,
}

/// A catalog that is being opened.
pub type CatalogFuture = Pin<Box<dyn Future<Output = Result<LocalCatalog, ToolError>> + Send>>;

/// The tools of a catalog.
#[must_use]
#[derive(Clone)]
pub struct CatalogTools {
    open: Arc<dyn Fn() -> CatalogFuture + Send + Sync>,
    functions: Functions,
    /// The address of files on this server
    files_url: Option<Arc<str>>,
    /// Chooses among the prefabs that are recommended
    filter_model: Option<Model>,
    /// Embeds needs and functions
    embeddings: Option<Embeddings>,
    report: Report,
}

/// Receives problems that fail no call.
type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// Where functions are described and run.
#[derive(Clone)]
enum Functions {
    /// In this process
    Local,
    /// On another server, if its address is known
    Remote(Option<RemoteCatalog>),
}

impl CatalogTools {
    /// Creates the tools of a local catalog.
    pub fn local(catalog: Catalog, runner: Arc<Runner>) -> CatalogTools {
        let local = LocalCatalog { catalog, runner };
        CatalogTools::opened_by(move || {
            let local = local.clone();
            Box::pin(async { Ok(local) })
        })
    }

    /// Creates the tools of a local catalog that is opened for each call. The function may return the same
    /// one each time.
    pub fn opened_by(open: impl Fn() -> CatalogFuture + Send + Sync + 'static) -> CatalogTools {
        CatalogTools {
            open: Arc::new(open),
            functions: Functions::Local,
            files_url: None,
            filter_model: None,
            embeddings: None,
            report: Arc::new(|_| ()),
        }
    }

    /// Describes and calls functions on another server, while prefabs are found in the local catalog. Without
    /// a server, the tools answer that it is not configured.
    pub fn with_remote(mut self, remote: Option<RemoteCatalog>) -> CatalogTools {
        self.functions = Functions::Remote(remote);
        self
    }

    /// Sets the address of files on this server, so that users receive links to upload them.
    pub fn with_files_url(mut self, files_url: impl Into<Arc<str>>) -> CatalogTools {
        self.files_url = Some(files_url.into());
        self
    }

    /// Lets a model choose among the prefabs that `prefab_recommend` finds, unless its argument `use_llm_filter` is
    /// false. If the model fails, the order of the search stays.
    pub fn with_filter_model(mut self, model: Model) -> CatalogTools {
        self.filter_model = Some(model);
        self
    }

    /// Compares the meanings of needs and functions with an embedding model. A function that has no vector yet ranks
    /// by words, and so do all if the model fails. In a catalog, a model that is set later supersedes other ones.
    pub fn with_embeddings(mut self, embedder: impl Embedder) -> CatalogTools {
        self.embeddings = Some(Embeddings::new(embedder));
        self
    }

    /// Sets a function that receives problems which fail no call, such as a model that does not answer.
    pub fn with_report(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> CatalogTools {
        self.report = Arc::new(report);
        self
    }

    /// Finds a version of a prefab.
    async fn find(
        &self,
        scope: &Scope,
        prefab: &str,
        version: Option<&str>,
    ) -> Result<FoundPrefab, ToolError> {
        let LocalCatalog { catalog, runner } = (self.open)().await?;
        let access = Access::of(scope).await;
        let (prefab, version) = (prefab.to_owned(), version.map(str::to_owned));
        let find = move || {
            let found = catalog.version(&access, &prefab, version.as_deref());
            found.map(|found| (found, access))
        };
        let found = tokio::task::spawn_blocking(find).await.map_err(|_| unavailable())?;
        let (version, access) = found.map_err(lookup_error)?;
        Ok(FoundPrefab { version, access, runner })
    }

    /// Reserves a file, and returns its URL and the link to upload it.
    async fn reserve(
        &self,
        scope: &Scope,
        files: &Files,
        accept: &str,
    ) -> Result<Option<(String, String)>, ToolError> {
        let Some(address) = &self.files_url else { return Ok(None) };
        let now = SystemTime::now();
        // Functions may tell the type of a file by its name.
        let extension =
            Some(accept.trim()).filter(|own| own.starts_with('.') && !own.contains(','));
        let name = format!("upload{}", extension.unwrap_or_default());
        let reserved = files.reserve(&scope.session.caller.tenant, &name, None, now).await;
        let url = reserved.map_err(runtime::file_error)?;
        let caller = &scope.session.caller.id;
        let link = files.link(LinkPurpose::Upload, &url, caller, LINK_LIFETIME, now);
        Ok(Some((url.to_string(), format!("{address}{link}"))))
    }

    /// Returns the handlers: `search_prefabs`, `prefab_recommend`, `list_prefab_functions`,
    /// `get_function_details`, `call_prefab_function` and `request_file_upload`. A host may put an [`Access`]
    /// into the context of a run, so that other prefabs do not exist for it.
    pub fn handlers(self) -> Vec<Handler> {
        let handlers = [
            search::search_prefabs::handler(),
            search::prefab_recommend::handler(),
            list_prefab_functions::handler(),
            get_function_details::handler(),
            call_prefab_function::handler().with_deadline(CALL_DEADLINE),
            request_file_upload::handler(),
        ];
        let finish =
            |handler: Handler| handler.with_own(self.clone()).with_envelope(Envelope::NamedResult);
        handlers.map(finish).into()
    }
}

/// A prefab that exists for the caller.
struct FoundPrefab {
    version: Arc<PrefabVersion>,
    access: Access,
    runner: Arc<Runner>,
}

impl FoundPrefab {
    fn number(&self) -> String {
        self.version.manifest.version.to_string()
    }

    fn function(&self, name: &str) -> Result<&Function, ToolError> {
        self.version.function(&self.access, name).map_err(lookup_error)
    }
}

/// Lists the functions of a prefab with their descriptions.
#[tool(read_only)]
async fn list_prefab_functions(
    #[context] tools: &CatalogTools,
    #[scope] scope: &Scope,
    /// The id of the prefab
    prefab_id: String,
    /// The version; the latest if absent
    version: Option<String>,
) -> ToolResult {
    let version = version.as_deref();
    let (version, functions) = match &tools.functions {
        Functions::Local => {
            let found = tools.find(scope, &prefab_id, version).await?;
            let functions: Vec<Json> =
                found.version.functions(&found.access).map(summary).collect();
            (found.number(), functions)
        }
        Functions::Remote(remote) => {
            let functions = configured(remote.as_ref())?.functions(&prefab_id, version).await?;
            let access = Access::of(scope).await;
            let is_allowed = |own: &Json| {
                let name = own.get("name").and_then(Json::as_str).unwrap_or_default();
                access.admits(&prefab_id, name)
            };
            let functions = functions.as_array().unwrap_or_default().iter().cloned();
            (version.unwrap_or("latest").to_owned(), functions.filter(is_allowed).collect())
        }
    };
    let total = functions.len();
    Ok(Output::json(object! {
        "prefab_id": prefab_id,
        "version": version,
        "functions": functions,
        "total_functions": total,
    }))
}

/// Returns the complete definition of a function: parameters, files and return value.
#[tool(read_only)]
async fn get_function_details(
    #[context] tools: &CatalogTools,
    #[scope] scope: &Scope,
    /// The id of the prefab
    prefab_id: String,
    /// The name of the function
    function_name: String,
    /// The version; the latest if absent
    version: Option<String>,
) -> ToolResult {
    let version = version.as_deref();
    let (version, function) = match &tools.functions {
        Functions::Local => {
            let found = tools.find(scope, &prefab_id, version).await?;
            let function = found.function(&function_name)?;
            let hidden: Vec<&str> = found.runner.hidden(&prefab_id, &function_name).collect();
            (found.number(), function.definition_without(&hidden))
        }
        Functions::Remote(remote) => {
            let remote = configured(remote.as_ref())?;
            let shown = version.unwrap_or("latest");
            if !Access::of(scope).await.admits(&prefab_id, &function_name) {
                return Err(unknown_function(&prefab_id, shown, &function_name));
            }
            (shown.to_owned(), remote.function(&prefab_id, version, &function_name).await?)
        }
    };
    Ok(Output::json(object! {"prefab_id": prefab_id, "version": version, "function": function}))
}

/// Calls a function of a prefab and returns its result. See `get_function_details` for its parameters.
#[tool(keyed)]
async fn call_prefab_function(
    #[context] tools: &CatalogTools,
    #[scope] scope: &Scope,
    /// The id of the prefab
    prefab_id: String,
    /// The version
    version: String,
    /// The name of the function
    function_name: String,
    /// The parameters of the function
    parameters: Json,
    /// Links to files by key, e.g. {"input": ["s3://…"]}
    files: Option<Json>,
) -> ToolResult {
    let (tool, version, has_output_files) = match &tools.functions {
        Functions::Local => {
            let found = tools.find(scope, &prefab_id, Some(&version)).await?;
            let function = found.function(&function_name)?;
            let tool = found.runner.tool(&found.version, function)?;
            (tool, found.number(), function.output_files().next().is_some())
        }
        Functions::Remote(remote) => {
            let remote = configured(remote.as_ref())?;
            if !Access::of(scope).await.admits(&prefab_id, &function_name) {
                return Err(unknown_function(&prefab_id, &version, &function_name));
            }
            (remote.tool(&prefab_id, &version, &function_name)?, version, true)
        }
    };
    let mut arguments = parameters;
    if let (Some(files), Json::Object(arguments)) = (files, &mut arguments) {
        arguments.insert(FILES, files);
    }
    let done = scope.call_tool(&tool, arguments).await?;
    let (function_result, output_files) = shown_result(&done, has_output_files);
    Ok(Output::json(object! {
        "prefab_id": prefab_id,
        "version": version,
        "function_name": function_name,
        "function_result": function_result,
        "output_files": output_files,
        "job_id": &*scope.call_id,
    }))
}

/// Asks the user to upload a file that a function needs. The user passes on the `s3_url` of the file, which is
/// then an argument of `call_prefab_function`.
#[tool(read_only)]
async fn request_file_upload(
    #[context] tools: &CatalogTools,
    #[scope] scope: &Scope,
    /// The id of the prefab
    prefab_id: String,
    /// The version
    version: String,
    /// The name of the function
    function_name: String,
    /// What the file is for
    file_description: String,
    /// Accepted file types
    #[default(".pdf,.png,.jpg,.jpeg,.doc,.docx,.txt,.csv,.xlsx".to_owned())]
    accept: String,
) -> ToolResult {
    let mut reserved = None;
    if matches!(tools.functions, Functions::Local) {
        let found = tools.find(scope, &prefab_id, Some(&version)).await?;
        found.function(&function_name)?;
        reserved = tools.reserve(scope, found.runner.files(), &accept).await?;
    }
    let message = format!(
        "Upload {file_description}. Then send a message with the s3_url of the file \
         (s3://bucket/path/file), so that the function can be called."
    );
    let mut result = object! {
        "prefab_id": prefab_id,
        "version": version,
        "function_name": function_name,
        "file_description": file_description,
        "accept": accept,
        "message": message,
    };
    if let Some((s3_url, upload_url)) = reserved {
        result.insert("upload_url", upload_url);
        result.insert("s3_url", s3_url);
    }
    Ok(Output::json(result))
}

/// The error of a lookup. What is wrong with the files of the catalog is for the operator.
fn lookup_error(error: LookupError) -> ToolError {
    match error {
        LookupError::Unavailable(_) => unavailable(),
        told => ToolError::new(told.to_string()).with_kind("LookupError"),
    }
}

fn unavailable() -> ToolError {
    ToolError::new("The catalog cannot be read at the moment.").with_kind("LookupError").retryable()
}

/// The name and the description of a function.
fn summary(function: &Function) -> Json {
    object! {"name": function.name.as_str(), "description": function.description.as_str()}.into()
}

fn configured(remote: Option<&RemoteCatalog>) -> Result<&RemoteCatalog, ToolError> {
    remote.ok_or_else(|| ToolError::new(NOT_CONFIGURED))
}

fn unknown_function(prefab: &str, version: &str, function: &str) -> ToolError {
    ToolError::new(format!("Function '{function}' not found in prefab {prefab}@{version}"))
}

/// The result of a function for the model, and the links to its files. A long `content` is cut; the rest is
/// behind a handle, which the summary names. Of data that the model must not see, there is only what the function
/// says about them.
fn shown_result(done: &CallResult, has_files: bool) -> (Json, Option<Json>) {
    let preview = done.outcome.content.iter().find_map(|part| match &part.body {
        Body::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let Some(value) = done.value().filter(|_| !done.is_hidden()) else {
        return (preview.into(), None);
    };
    let (mut value, mut files) = (value.into_owned(), None);
    if has_files {
        let (own, links) = runtime::split_files(value);
        (value, files) = (own, Some(Json::Object(links)));
    }
    let content = value.get("content").and_then(Json::as_str);
    let length = content.map_or(0, |content| content.chars().count());
    if length > MAX_CONTENT_CHARS
        && let Json::Object(object) = &mut value
    {
        let content = object.get("content").and_then(Json::as_str).unwrap_or_default();
        let cut: String = content.chars().take(MAX_CONTENT_CHARS).collect();
        object.insert("content", cut);
        object.insert("_truncated", true);
        object.insert("_original_length", length);
        object.insert("_summary", preview);
    } else if value.compact().len() > MAX_RESULT_BYTES
        && let Some(preview) = preview
    {
        value = preview.into();
    }
    (value, files)
}
