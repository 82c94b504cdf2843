//! Judges the OAuth client with `oidc-provider`, a certified authorization server:
//! `conformance/oauth/server.mjs` runs an example of the library beside it.

use crate::build;
use crate::packages::NodePackages;
use crate::run::{Outcome, Program, root};

const PACKAGES: NodePackages =
    NodePackages { source: "conformance/oauth", folder: "target/conformance-oauth" };

/// Installs the server, and runs the check beside it.
pub(crate) fn run() -> Outcome {
    let check = build::example("check_oauth")?;
    PACKAGES.install()?;
    let folder = root().join(PACKAGES.folder);
    let server = folder.join("server.mjs");
    Program::new(folder.join("node_modules/.bin/node"))
        .with(&[&*server.to_string_lossy(), &check])
        .run()
}
