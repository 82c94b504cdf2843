//! Reports how many tokens the tools of a catalog save: an example of the gateway counts them.

use crate::features::light_of;
use crate::run::{Outcome, Program};

/// Counts the tokens of the functions of a directory of sets, which has the form that `search-report` reads.
pub(crate) fn run(directory: &str) -> Outcome {
    let directory = std::env::current_dir()?.join(directory);
    let features = light_of("toolwright-gateway");
    Program::cargo()
        .with(&["run", "--quiet", "-p", "toolwright-gateway", "--features", &features])
        .with(&["--example", "measure_tokens", "--", &directory.to_string_lossy()])
        .run_shown()
}
