//! Builds and lints Temporal, and runs plans on a real server: random plans from Rust, and everything that needs several
//! processes from `conformance/temporal/suite.py`.

use crate::conformance::BINARY;
use crate::features::{HEAVY, light_of};
use crate::packages::Venv;
use crate::run::{Outcome, Program};

/// The server, which is one program.
const SERVER: &str = "target/temporal-venv/bin/temporal";

/// Lints, builds and runs everything. With fewer than the suite's 10,000 items if `items` says so; 3,000 are enough for a
/// run to continue as a new one.
pub(crate) fn run(items: Option<&str>) -> Outcome {
    let features = HEAVY.join(",");
    let packages = ["-p", "toolwright", "-p", "toolwright-gateway", "--features", &features];
    Program::cargo().with(&["clippy"]).with(&packages).with(&["--", "-D", "warnings"]).run()?;
    let server = Venv {
        folder: "target/temporal-venv".into(),
        requirements: "conformance/temporal/requirements.txt".into(),
    };
    server.install()?;
    let features = format!("{},toolwright/temporal", light_of("toolwright"));
    Program::cargo()
        .with(&[
            "test",
            "-p",
            "toolwright",
            "--features",
            &features,
            "--test",
            "it",
            "plan::temporal",
        ])
        .env("TEMPORAL", SERVER)
        .run_shown()?;
    let gateway = ["--quiet", "-p", "toolwright-gateway", "--features", "temporal"];
    Program::cargo().with(&["build"]).with(&gateway).run()?;
    let suite = server.python("conformance/temporal/suite.py");
    let suite = suite.with(&["--binary", BINARY, "--temporal", SERVER]);
    match items {
        Some(items) => suite.with(&["--items", items]).run_shown(),
        None => suite.run_shown(),
    }
}
