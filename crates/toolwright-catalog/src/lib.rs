//! The catalog: prefabs, which are versioned packages of functions that agents search, inspect and call.
//!
//! A [`Manifest`] describes one version of a prefab: its functions and how they run. A [`Package`] is a
//! manifest with the files of its folder; [`openapi`] makes manifests of OpenAPI documents. A [`Catalog`]
//! stores versions, and [`Access`] decides which of them exist for a caller. [`runtime`] runs functions,
//! [`files`] stores the files that they take and produce, and [`tools`] are the tools with which a model uses
//! a catalog, here or on [another server](remote).
//!
//! ```
//! use toolwright_catalog::{Access, Catalog, Manifest, Package, PublishOptions, SearchOptions};
//!
//! let manifest = Manifest::from_toml(
//!     r#"
//!     id = "weather"
//!     version = "1.0.0"
//!     name = "Weather"
//!     description = "Forecasts for cities"
//!
//!     runtime.http = {base_url = "https://weather.example"}
//!
//!     [[functions]]
//!     name = "get_forecast"
//!     description = "Returns the forecast for a city"
//!     http = {method = "GET", path = "/{city}", parameters = [{name = "city", in = "path"}]}
//!     input_schema = {type = "object", required = ["city"], properties = {city = {type = "string"}}}
//!     "#,
//! )
//! .map_err(|faults| faults[0].clone())?;
//! let folder = tempfile::tempdir()?;
//! let catalog = Catalog::open(folder.path())?;
//! catalog.publish(Package::new(manifest), PublishOptions::default())?;
//!
//! let everyone = Access::everything();
//! let found = catalog.search(&everyone, "forecast", &SearchOptions::default())?;
//! assert_eq!(found[0].prefab.manifest.id.as_str(), "weather");
//! let version = catalog.version(&everyone, "weather", None)?;
//! assert!(version.manifest.function("get_forecast").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate promises no stability of its own: depend on `toolwright`, which exports it.

// The macros write the name of the crate that users depend on.
extern crate toolwright_runtime as toolwright;

mod access;
pub mod binding;
pub mod compatibility;
mod error;
pub mod files;
pub mod manifest;
pub mod openapi;
mod package;
pub mod remote;
pub mod runtime;
mod scan;
pub mod signing;
mod source;
mod store;
pub mod tools;
mod version;

pub use access::{Access, exact_tool_name, tool_name, without_version};
pub use compatibility::Compatibility;
pub use error::{CatalogError, LookupError};
pub use manifest::{
    Example, FileDirection, FileParameter, Function, Manifest, ManifestFault, McpServer, PrefabId,
    Runtime, SecretNeed, Visibility,
};
pub use package::{FILE, MANIFESTS, MAX_BYTES, MAX_FILES, Package, PackageError};
pub use source::FunctionSource;
pub use store::{
    Catalog, Dictionary, DictionaryError, FunctionHit, LATEST, PrefabHit, PublishError,
    PublishOptions, Published, SearchOptions, rank_tools,
};
pub use version::{PrefabSummary, PrefabVersion};
