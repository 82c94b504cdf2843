//! Runs the benchmarks, all of them from one build.

use std::collections::BTreeSet;
use std::fs;

use crate::run::{Outcome, Program, root, rust_files};

/// Measures every `crates/*/benches/*.rs`.
pub(crate) fn measure() -> Outcome {
    with_benches(Program::cargo().with(&["bench", "--workspace"]))?.run()
}

/// Runs what each benchmark measures once, with what it asserts, in the build of the tests.
pub(crate) fn check() -> Outcome {
    with_benches(Program::cargo().with(&["test", "--quiet", "--workspace", "--all-features"]))?
        .run()
}

/// Selects all benchmarks.
fn with_benches(mut program: Program) -> Outcome<Program> {
    let mut names = BTreeSet::new();
    for package in fs::read_dir(root().join("crates"))? {
        names.extend(rust_files(&package?.path().join("benches")).unwrap_or_default());
    }
    for name in names {
        program = program.with(&["--bench", &name]);
    }
    Ok(program)
}
