//! The built-in functions as prefabs, so that a new catalog is not empty.

use std::path::Path;

use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::manifest::Manifest;
use super::package::Package;
use super::store::{Catalog, CatalogError, PublishError};
use crate::builtin::{self, Root};
use crate::handler::Handler;
use crate::settings::Effect;

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

/// Publishes the built-in functions under the version of this crate, unless they are there.
pub(super) fn seed(catalog: &Catalog, data: &Path) -> Result<(), PublishError> {
    let packages = packages(data)?;
    let mut missing = Vec::new();
    for package in packages {
        let manifest = package.manifest();
        let version = manifest.version.to_string();
        if catalog.digest(manifest.id.as_str(), &version)?.as_deref() != Some(package.digest()) {
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
