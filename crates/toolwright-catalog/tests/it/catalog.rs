//! The catalog: versions, what callers see of them, what a kill leaves, and files of tenants.

mod access;
mod compatibility;
mod files;
mod kill;
mod package;
mod plan;
mod recommend;
mod remote;
mod run;
mod search;
mod store;

use std::fs;
use std::path::{Path, PathBuf};

use toolwright_catalog::{
    Access, Catalog, Manifest, Package, PublishError, PublishOptions, Published,
};
use toolwright_core::Json;

/// A manifest with one function, whose parameters are given.
pub fn document(id: &str, version: &str, parameters: &str) -> Json {
    let text = format!(
        r#"{{"id":"{id}","version":"{version}","name":"Test","description":"A prefab for tests.",
            "tags":["test"],"author":"Li Wei","functions":[{{"name":"run","description":"Runs.",
            "parameters":[{parameters}]}},{{"name":"stop","description":"Stops."}}],
            "runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#
    );
    Json::parse(&text).unwrap()
}

pub fn package(id: &str, version: &str) -> Package {
    Package::new(Manifest::parse(&document(id, version, "")).unwrap())
}

pub fn publish(catalog: &Catalog, id: &str, version: &str) -> Result<Published, PublishError> {
    catalog.publish(package(id, version), PublishOptions::default())
}

pub fn latest(catalog: &Catalog, id: &str) -> Option<String> {
    let found = catalog.version(&Access::everything(), id, None).ok()?;
    Some(found.manifest.version.to_string())
}

/// A folder with a manifest whose function runs as a process, and some files.
pub fn folder(at: &Path, id: &str, version: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = at.join(format!("{id}-{version}"));
    let manifest = format!(
        r#"{{"id":"{id}","version":"{version}","name":"Test","description":"A prefab for tests.",
            "functions":[{{"name":"run","description":"Runs."}}],
            "runtime":{{"process":{{"command":["python3","run.py"]}}}}}}"#
    );
    for (path, content) in files.iter().chain(&[("prefab.json", manifest.as_str())]) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}
