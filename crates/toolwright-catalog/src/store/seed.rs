//! The built-in functions as prefabs, so that a new catalog is not empty.

use std::path::Path;

use toolwright_core::{Json, object};
use toolwright_json::Object;
use toolwright_runtime::builtin::{self, Root};
use toolwright_runtime::{Effect, Handler};

use super::{Catalog, PublishError};
use crate::error::CatalogError;
use crate::manifest::Manifest;
use crate::package::Package;

/// A prefab of built-in functions.
struct Builtin {
    id: &'static str,
    name: &'static str,
    description: &'static str,
    tags: &'static [&'static str],
    functions: &'static [&'static str],
}

const PREFABS: &[Builtin] = &[
    Builtin {
        id: "builtin-files",
        name: "Files",
        description: "List, read, search and write text files within a folder. \
                      列出、读取、搜索和写入文件夹中的文本文件。",
        tags: &["files", "text", "文件"],
        functions: &["list_files", "read_file", "write_file", "search_files"],
    },
    Builtin {
        id: "builtin-git",
        name: "Git",
        description: "Show the status, changes and history of a Git repository, and commit to it. \
                      查看 Git 仓库的状态、改动和历史，并提交。",
        tags: &["git", "version control", "版本管理"],
        functions: &["git_status", "git_diff", "git_log", "git_add", "git_commit"],
    },
    Builtin {
        id: "builtin-tables",
        name: "Tables",
        description: "Read CSV files into tables and clean them, without showing their cells to the \
                      model. 读取并清理 CSV 表格。",
        tags: &["csv", "tables", "data", "表格"],
        functions: &["read_csv", "drop_missing"],
    },
];

/// Whether a function belongs to a prefab of this program.
pub fn is_builtin(prefab: &str, function: &str) -> bool {
    PREFABS.iter().any(|own| own.id == prefab && own.functions.contains(&function))
}

/// Publishes the built-in functions under the version of this crate, unless they are there or were removed.
pub(super) fn seed(catalog: &Catalog, data: &Path) -> Result<(), PublishError> {
    let packages = packages(data)?;
    let mut missing = Vec::new();
    for package in packages {
        let manifest = package.manifest();
        let version = manifest.version.to_string();
        let id = manifest.id.as_str();
        let is_there = catalog.digest(id, &version)?.as_deref() == Some(package.digest());
        if !is_there && !catalog.is_removed(id, &version)? {
            missing.push(package);
        }
    }
    if missing.is_empty() { Ok(()) } else { catalog.publish_builtin(missing) }
}

fn packages(data: &Path) -> Result<Vec<Package>, PublishError> {
    // Definitions do not depend on the root, but handlers have one.
    let root = Root::open(data)
        .map_err(|error| CatalogError::Folder { path: data.to_owned(), why: error.to_string() })?;
    let handlers = builtin::handlers(root);
    let mut packages = Vec::with_capacity(PREFABS.len());
    for prefab in PREFABS {
        let functions = prefab.functions.iter().filter_map(|name| {
            handlers.iter().find(|handler| handler.tool().name == *name).map(define)
        });
        let document = object! {
            "id": prefab.id,
            "version": env!("CARGO_PKG_VERSION"),
            "name": prefab.name,
            "description": prefab.description,
            "tags": prefab.tags.to_vec(),
            "author": "Toolwright",
            "functions": functions.collect::<Vec<Object>>(),
            "runtime": object! {"builtin": Object::new()},
        };
        let manifest = Manifest::parse(&Json::Object(document)).map_err(|faults| {
            let (id, version) = (prefab.id.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
            PublishError::Refused { id, version, faults }
        })?;
        packages.push(Package::new(manifest));
    }
    Ok(packages)
}

fn define(handler: &Handler) -> Object {
    let tool = handler.tool();
    let effect = match handler.settings().effect {
        Effect::None => "read-only",
        Effect::Keyed => "idempotent",
        Effect::Once => "once",
    };
    let mut function = object! {
        "name": tool.name.as_str(),
        "description": tool.description.as_deref(),
        "input_schema": tool.parameters().cloned(),
        "effect": effect,
    };
    function.insert_some("output_schema", tool.output.clone());
    function
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;

    #[test]
    fn a_removed_version_leaves_the_one_of_an_earlier_program() {
        let data = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(data.path()).unwrap();
        let mut earlier = packages(data.path()).unwrap().pop().unwrap().manifest().document.clone();
        earlier.as_object_mut().unwrap().insert("version", "0.0.1");
        let id = "builtin-tables";
        catalog.publish_builtin(vec![Package::new(Manifest::parse(&earlier).unwrap())]).unwrap();
        catalog.remove(id, Some(env!("CARGO_PKG_VERSION"))).unwrap();
        let found = Catalog::open(data.path()).unwrap().version(&Access::everything(), id, None);
        assert_eq!(found.unwrap().manifest.version.to_string(), "0.0.1");
    }
}
