//! Sends generated requests to every endpoint of a running gateway: `conformance/schemathesis`.

use crate::build::{self, BINARY};
use crate::packages::Venv;
use crate::run::{Failure, Outcome};

/// Default duration in seconds.
const SECONDS: &str = "300";

/// Builds the gateway, and runs schemathesis against it.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let seconds = match words {
        [] => SECONDS,
        ["--seconds", seconds] => seconds,
        other => return Err(Failure(format!("unknown options {}", other.join(" ")))),
    };
    build::gateway()?;
    let requirements = "conformance/schemathesis/requirements.txt";
    let environment = Venv::new("target/schemathesis-venv", requirements);
    environment.install()?;
    environment
        .python("conformance/schemathesis/run.py")
        .with(&["--binary", BINARY, "--seconds", seconds])
        .run_shown()
}
