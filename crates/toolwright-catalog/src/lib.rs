//! The catalog: prefabs, which are versioned packages of functions that agents search, inspect and call.
//!
//! A [`Manifest`] describes one version of a prefab: its functions and how they run. A [`Package`] is a
//! manifest with the files of its folder; [`openapi`] makes manifests of OpenAPI documents. A [`Catalog`]
//! stores versions, and [`Access`] decides which of them exist for a caller. [`runtime`] runs functions,
//! [`files`] stores the files that they take and produce, and [`tools`] are the tools with which a model uses
//! a catalog, here or on [another server](remote).

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
