//! Builds Temporal, and runs plans on a real server: random plans from Rust, and everything that needs several
//! processes from `conformance/temporal/suite.py`.

use crate::build::BINARY;
use crate::packages::Venv;
use crate::run::{Outcome, Program};

/// The server, which is one program.
const SERVER: &str = "target/temporal-venv/bin/temporal";

/// Builds and runs everything. With fewer than the suite's 10,000 items if `items` says so; 3,000 are enough for a
/// run to continue as a new one.
pub(crate) fn run(items: Option<&str>) -> Outcome {
    let server = Venv::new("target/temporal-venv", "conformance/temporal/requirements.txt");
    server.install()?;
    // With the tests of the gateway, the gateway is built, which the suite runs.
    Program::cargo()
        .with(&["test", "-p", "toolwright", "-p", "toolwright-gateway", "--all-features"])
        .with(&["--test", "it", "temporal"])
        .env("TEMPORAL", SERVER)
        .run_shown()?;
    let suite = server.python("conformance/temporal/suite.py");
    let suite = suite.with(&["--binary", BINARY, "--temporal", SERVER]);
    match items {
        Some(items) => suite.with(&["--items", items]).run_shown(),
        None => suite.run_shown(),
    }
}
