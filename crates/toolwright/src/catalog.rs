//! The catalog: prefabs, which are versioned packages of functions that agents search, inspect and call.
//!
//! A [`Manifest`] describes one version of a prefab: its functions and how they run. [`runtime`] runs
//! them, [`openapi`] makes manifests of OpenAPI documents, and [`files`] stores the files that functions take and
//! produce.

pub mod files;
pub mod manifest;
pub mod openapi;
pub mod runtime;
pub mod signing;

pub use manifest::{
    FileDirection, FileParameter, Function, Manifest, ManifestFault, McpServer, PrefabId, Runtime,
    SecretNeed, Visibility,
};
