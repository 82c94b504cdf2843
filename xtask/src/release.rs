//! The library as its users get it: a crate outside of the workspace, and the packages.

use crate::run::{Outcome, Program};

/// Compiles and runs the examples of the README and the guide in a crate outside of the workspace.
/// It shares the target directory, and with it the compiled dependencies.
pub(crate) fn external() -> Outcome {
    Program::cargo()
        .with(&["test", "--doc", "--manifest-path", "examples/external/Cargo.toml"])
        .with(&["--target-dir", "target"])
        .run()
}

/// Packages every published crate and builds it from its package, against the packages of the others.
pub(crate) fn publish() -> Outcome {
    Program::cargo().with(&["publish", "--workspace", "--dry-run", "--allow-dirty"]).run()
}
