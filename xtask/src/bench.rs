//! Runs the benchmarks, each by its name, so that nothing else is built.

use std::fs;

use crate::features;
use crate::run::{Outcome, Program, root};

/// How long each benchmark measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Long enough for stable figures
    Whole,
    /// Long enough to show that it runs
    Short,
}

/// Runs every `crates/*/benches/*.rs`.
pub(crate) fn run(length: Length) -> Outcome {
    let benches = find()?;
    if benches.is_empty() {
        println!("no benchmarks");
    }
    for (package, bench) in benches {
        let program = Program::cargo().with(&["bench", "--package", &package, "--bench", &bench]);
        let program = program.with(&["--features", &features::light_of(&package)]);
        match length {
            Length::Whole => program.run()?,
            Length::Short => program.env("DIVAN_MAX_TIME", "0.1").run()?,
        }
    }
    Ok(())
}

fn find() -> Outcome<Vec<(String, String)>> {
    let mut found = Vec::new();
    for package in fs::read_dir(root().join("crates"))? {
        let package = package?;
        let Ok(benches) = fs::read_dir(package.path().join("benches")) else { continue };
        for bench in benches {
            let path = bench?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                found.push((package.file_name().to_string_lossy().into_owned(), stem));
            }
        }
    }
    found.sort();
    Ok(found)
}
