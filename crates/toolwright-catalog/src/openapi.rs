//! OpenAPI documents as prefabs: each operation becomes a function over HTTP.
//!
//! [`import`] reads OpenAPI 3.0, 3.1 and Swagger 2.0, and writes a manifest. `document` follows references, `schema`
//! converts schemas to JSON Schema 2020-12, `operation` makes a function of an operation, with `parameter`, `body`
//! and `security`. An operation that cannot be called is refused with a reason, and the others are imported.
//!
//! | in the document | in the manifest |
//! |---|---|
//! | `operationId`, or method and path | the name of the function |
//! | parameters | arguments of the same names |
//! | members of a JSON object or a form | arguments of the same names, if none of them is a parameter as well |
//! | any other body | the argument `body` |
//! | binary bodies and members | input files |
//! | schema of the first 2xx response | `output_schema` |
//! | GET and HEAD; PUT and DELETE; POST and PATCH | `read-only`; `idempotent`; `once` |
//! | security schemes | secrets |

mod body;
mod document;
mod name;
mod operation;
mod parameter;
mod schema;
mod security;

use toolwright_core::{Json, object};
use toolwright_json::Object;

use document::Document;
use name::{Names, shorten};
use security::Schemes;

/// Options of an import. By default everything comes from the document.
#[must_use]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The id of the prefab, in place of the document's title
    pub id: Option<String>,
    /// The version of the prefab, in place of the document's
    pub version: Option<String>,
    /// The address of the server, in place of the document's servers
    pub base_url: Option<String>,
    /// Headers that are sent with each call, with the names of the secrets that are their values
    pub headers: Vec<(String, String)>,
}

impl ImportOptions {
    /// Creates options without a value.
    pub fn new() -> ImportOptions {
        ImportOptions::default()
    }

    /// Sets the id of the prefab.
    pub fn with_id(mut self, id: impl Into<String>) -> ImportOptions {
        self.id = Some(id.into());
        self
    }

    /// Sets the version of the prefab.
    pub fn with_version(mut self, version: impl Into<String>) -> ImportOptions {
        self.version = Some(version.into());
        self
    }

    /// Sets the address of the server.
    pub fn with_base_url(mut self, url: impl Into<String>) -> ImportOptions {
        self.base_url = Some(url.into());
        self
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Import {
    /// The manifest, to be published
    pub manifest: Json,
    /// What was imported and what was not
    pub report: ImportReport,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The version of the format, such as `3.0.3`
    pub format: String,
    /// Number of operations in the document
    pub operations: usize,
    /// Number of functions
    pub functions: usize,
    /// The operations that are not imported
    pub refusals: Vec<Refusal>,
    /// Number of functions whose arguments are described in part, since their schema exceeds the size limit
    pub shortened: usize,
}

/// Why an operation is not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {reason}")]
#[non_exhaustive]
pub struct Refusal {
    /// JSON Pointer into the document
    pub pointer: String,
    /// The problem
    pub reason: String,
}

impl Refusal {
    fn new(pointer: impl Into<String>, reason: impl Into<String>) -> Refusal {
        Refusal { pointer: pointer.into(), reason: reason.into() }
    }
}

/// Why a document is not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is another document
    #[error("this is not an OpenAPI document: it has neither `openapi` nor `swagger`")]
    NotOpenApi,
    /// It has another version
    #[error("OpenAPI {version} is not supported; supported are 3.0, 3.1 and Swagger 2.0")]
    Version {
        /// The version that it declares
        version: String,
    },
    /// The address of the server is not known
    #[error("{reason}; give the address of the server with --base-url")]
    BaseUrl {
        /// The problem
        reason: String,
    },
    /// None of its operations can be imported
    #[error("none of the {} operations can be imported{}", .0.operations, first(.0))]
    NoFunctions(ImportReport),
}

fn first(report: &ImportReport) -> String {
    report.refusals.first().map(|refusal| format!("; the first: {refusal}")).unwrap_or_default()
}

/// Converts an OpenAPI document to a manifest.
///
/// ```
/// use toolwright_core::Json;
/// use toolwright_catalog::openapi::{ImportOptions, import};
///
/// let document = Json::parse(r#"{
///     "openapi": "3.1.0",
///     "info": {"title": "Pet store", "version": "1.2"},
///     "servers": [{"url": "https://pets.example"}],
///     "paths": {"/pets/{id}": {"get": {
///         "operationId": "getPet",
///         "summary": "Returns a pet",
///         "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
///         "responses": {"200": {"description": "The pet"}}
///     }}}
/// }"#).unwrap();
/// let imported = import(&document, &ImportOptions::new()).unwrap();
/// assert_eq!(imported.manifest.pointer("/id").unwrap().as_str(), Some("pet-store"));
/// assert_eq!(imported.manifest.pointer("/functions/0/name").unwrap().as_str(), Some("getPet"));
/// assert_eq!(imported.report.functions, 1);
/// ```
pub fn import(document: &Json, options: &ImportOptions) -> Result<Import, ImportError> {
    let document = Document::open(document)?;
    let base_url = match &options.base_url {
        Some(url) => url.clone(),
        None => document.base_url()?,
    };
    let mut report = ImportReport { format: document.format.clone(), ..ImportReport::default() };
    let mut schemes = Schemes::new(&document, &options.headers);
    let mut names = Names::default();
    let mut functions = Vec::new();
    for found in document.operations() {
        report.operations += 1;
        let imported = found.and_then(|operation| {
            operation::import(&document, &operation, options.base_url.is_none(), &mut schemes)
        });
        match imported {
            Ok(mut function) => {
                function.definition.insert("name", names.add(&function.name));
                report.shortened += usize::from(function.is_shortened);
                functions.push(Json::Object(function.definition));
            }
            Err(refusal) => report.refusals.push(refusal),
        }
    }
    report.functions = functions.len();
    if functions.is_empty() {
        return Err(ImportError::NoFunctions(report));
    }
    let info = document.root.get("info").and_then(Json::as_object);
    let text = |key: &str| {
        info.and_then(|info| info.get(key))
            .and_then(Json::as_str)
            .map(str::trim)
            .unwrap_or_default()
    };
    let title = if text("title").is_empty() { "OpenAPI" } else { text("title") };
    let mut manifest = Object::new();
    manifest.insert("id", options.id.clone().unwrap_or_else(|| name::kebab(title)));
    let version = options.version.clone().unwrap_or_else(|| name::semver(text("version")));
    manifest.insert("version", version);
    manifest.insert("name", shorten(title, 200));
    let description = text("description");
    let description = if description.chars().count() < 10 {
        format!("{title}: {} operations of an HTTP API", functions.len())
    } else {
        shorten(description, 500)
    };
    manifest.insert("description", description);
    let tags = document.tags();
    manifest.insert_filled("tags", tags);
    let author = info.and_then(|info| info.get("contact")?.get("name")?.as_str());
    if let Some(author) = author.map(str::trim).filter(|author| !author.is_empty()) {
        manifest.insert("author", shorten(author, 200));
    }
    let secrets = schemes.finish();
    manifest.insert_filled("secrets", secrets);
    manifest.insert("runtime", object! {"http": object! {"base_url": base_url}});
    manifest.insert("functions", functions);
    Ok(Import { manifest: Json::Object(manifest), report })
}
