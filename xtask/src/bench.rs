//! Runs the benchmarks, all of them from one build.

use std::collections::BTreeSet;
use std::fs;

use crate::run::{Outcome, Program, root, rust_files};

/// How long each benchmark measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Long enough for stable figures
    Whole,
    /// Long enough to show that it runs
    Short,
}

impl Length {
    /// The profile of the build.
    pub(crate) fn profile(self) -> &'static str {
        match self {
            Length::Whole => "release",
            Length::Short => "short",
        }
    }
}

/// Runs every `crates/*/benches/*.rs`.
pub(crate) fn run(length: Length) -> Outcome {
    let mut program =
        Program::cargo().with(&["bench", "--workspace", "--profile", length.profile()]);
    for bench in find()? {
        program = program.with(&["--bench", &bench]);
    }
    match length {
        Length::Whole => program.run(),
        Length::Short => program.env("DIVAN_MAX_TIME", "0.1").run(),
    }
}

/// Returns the names of all benchmarks.
fn find() -> Outcome<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for package in fs::read_dir(root().join("crates"))? {
        found.extend(rust_files(&package?.path().join("benches")).unwrap_or_default());
    }
    Ok(found)
}
