//! The features of the workspace: which of them every check builds, and which only `ci --full`.

use serde_json::Value;

use crate::run::{Failure, Outcome, Program};

/// Features that tests and examples build, as `package/feature`.
pub(crate) const LIGHT: &[&str] = &[
    "toolwright-core/schemars",
    "toolwright-gateway/otel",
    "toolwright/builtin",
    "toolwright/catalog",
    "toolwright/mcp",
    "toolwright/oauth",
    "toolwright/offline",
    "toolwright/process",
    "toolwright/sqlite",
    "toolwright/transport",
    "toolwright/upstream",
];

/// Features that take long to build. Lints and docs check them, and each has its own step in `ci --full`.
pub(crate) const HEAVY: &[&str] = &["toolwright-gateway/temporal", "toolwright/temporal"];

/// [`LIGHT`] as a value of `--features`.
pub(crate) fn light() -> String {
    LIGHT.join(",")
}

/// Every feature that a package of the workspace declares, except for `default`.
pub(crate) fn declared() -> Outcome<Vec<String>> {
    let metadata =
        Program::cargo().with(&["metadata", "--no-deps", "--format-version", "1"]).read()?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    let mut names = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let features = package["features"].as_object().into_iter().flatten();
        let features = features.filter(|(feature, _)| *feature != "default");
        names.extend(features.map(|(feature, _)| format!("{name}/{feature}")));
    }
    Ok(names)
}
