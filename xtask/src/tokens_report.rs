//! Reports how many tokens the tools of a catalog save: an example of the gateway counts them.

use crate::build;
use crate::run::{Outcome, Program, root};

/// Counts the tokens of the functions of a directory of sets, which has the form that `search-report` reads.
pub(crate) fn run(directory: &str) -> Outcome {
    let directory = std::env::current_dir()?.join(directory);
    let count = root().join(build::example("measure_tokens")?);
    Program::new(count).with(&[&directory.to_string_lossy()]).run_shown()
}
