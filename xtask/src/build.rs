//! Builds what the steps run. All of it shares the libraries that `cargo test` builds: cargo compiles a library
//! again for each other set of features, and a package that is selected alone has other features than in the
//! workspace.

use crate::run::{Outcome, Program};

/// The gateway, as [`gateway`] builds it.
pub(crate) const BINARY: &str = "target/debug/toolwright";

/// Builds the gateway.
pub(crate) fn gateway() -> Outcome {
    // Without an example, cargo leaves out the features of dev-dependencies, which the tests have.
    in_workspace(&["--bin", "toolwright", "--example", "check_mcp"])
}

/// Builds an example, and returns its path.
pub(crate) fn example(name: &str) -> Outcome<String> {
    in_workspace(&["--example", name])?;
    Ok(format!("target/debug/examples/{name}"))
}

/// Builds these targets of the workspace.
pub(crate) fn in_workspace(targets: &[&str]) -> Outcome {
    let program = Program::cargo().with(&["build", "--quiet", "--workspace"]);
    program.with(&["--all-features"]).with(targets).run()
}
