//! Judges the OAuth client with `oidc-provider`, a certified authorization server:
//! `conformance/oauth/server.mjs` runs a test of the library beside it.

use crate::features::light_of;
use crate::packages::NodePackages;
use crate::run::{Outcome, Program, root};

const PACKAGES: NodePackages =
    NodePackages { source: "conformance/oauth", folder: "target/conformance-oauth" };

/// Installs the server, and runs the test beside it.
pub(crate) fn run() -> Outcome {
    let features = light_of("toolwright");
    let test =
        ["test", "--quiet", "--package", "toolwright", "--features", &features, "--test", "it"];
    Program::cargo().with(&test).with(&["--no-run"]).run()?;
    PACKAGES.install()?;
    let folder = root().join(PACKAGES.folder);
    let server = folder.join("server.mjs");
    Program::new(folder.join("node_modules/.bin/node"))
        .with(&[&server.to_string_lossy(), "cargo"])
        .with(&test)
        .with(&["oauth::provider", "--", "--ignored"])
        .run()
}
