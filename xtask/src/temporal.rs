//! Builds and lints Temporal, and runs plans on a real server: random plans from Rust, and everything that needs several
//! processes from `conformance/temporal/suite.py`.

use crate::conformance::BINARY;
use crate::features::{HEAVY, light_of};
use crate::packages::Venv;
use crate::run::{Outcome, Program};

/// The server, which is one program.
const SERVER: &str = "target/temporal-venv/bin/temporal";

/// Lints, builds and runs everything.
pub(crate) fn run() -> Outcome {
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
    server
        .python("conformance/temporal/suite.py")
        .with(&["--binary", BINARY, "--temporal", SERVER])
        .run_shown()
}
