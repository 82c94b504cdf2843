//! Checks our output with the vendors' SDKs, and drives the gateway with them: `conformance/` in
//! separate environments, for the Python SDKs, for their previous major versions, and for
//! JavaScript. Documents and pictures of plans are judged by Redocly's linter and by Mermaid.

use std::fs;

use crate::build::{self, BINARY};
use crate::packages::{NodePackages, Venv};
use crate::run::{Failure, Outcome, Program, root};

/// The gateway under test.
pub(crate) const JAVASCRIPT: NodePackages =
    NodePackages { source: "conformance/js", folder: "target/conformance-js" };
/// The judges of exported and drawn plans.
const PLANS: NodePackages =
    NodePackages { source: "conformance/plans", folder: "target/conformance-plans" };
/// A file that the JavaScript driver reads in addition to its own.
const TASK: &str = "conformance/gateway/task.json";

/// The options of the task.
#[derive(Default)]
pub(crate) struct Plan {
    /// Why each broken variant was refused is printed as well
    verbose: bool,
    /// The measured matrix is written to the READMEs, and not compared with theirs
    write: bool,
}

impl Plan {
    /// Reads the arguments of the command.
    pub(crate) fn parse(words: &[&str]) -> Outcome<Plan> {
        let mut plan = Plan::default();
        for word in words {
            match *word {
                "--verbose" => plan.verbose = true,
                "--write" => plan.write = true,
                other => return Err(Failure(format!("unknown option {other}"))),
            }
        }
        Ok(plan)
    }
}

/// Shows that the checks distinguish valid from broken documents, then applies them to `golden/`
/// and the gateway.
pub(crate) fn run(plan: Plan) -> Outcome {
    build::gateway()?;
    let current = sdks();
    let previous = Venv::new("target/conformance-previous-venv", "conformance/previous.txt");
    current.install()?;
    previous.install()?;
    JAVASCRIPT.install()?;
    fs::copy(root().join(TASK), root().join(JAVASCRIPT.folder).join("task.json"))?;
    let verbose: &[&str] = if plan.verbose { &["--verbose"] } else { &[] };
    let validate = || current.python("conformance/validate.py");
    validate().with(&["--self-test"]).with(verbose).with(&["."]).run()?;
    validate().with(&["."]).run()?;
    let write: &[&str] = if plan.write { &["--write"] } else { &[] };
    matrix(&current, &previous).with(verbose).with(write).with(&["."]).run()?;
    plans()
}

/// Lints the Arazzo and OpenAPI documents of the plans of `fixtures/plans`, and parses their flowcharts. A
/// test of core shows that they are what is exported and drawn.
fn plans() -> Outcome {
    PLANS.install()?;
    let folder = root().join(PLANS.folder);
    let check = folder.join("check.mjs");
    Program::new(folder.join("node_modules/.bin/node"))
        .with(&[&*check.to_string_lossy(), "fixtures/plans"])
        .run()
}

/// The environment with the vendors' SDKs.
pub(crate) fn sdks() -> Venv {
    Venv::new("target/conformance-venv", "conformance/requirements.txt")
}

/// The gateway between the SDKs and fake upstreams.
fn matrix(current: &Venv, previous: &Venv) -> Program {
    let previous = format!("{}/bin/python", previous.folder);
    let node = format!("{}/node_modules/.bin/node", JAVASCRIPT.folder);
    let driver = format!("{}/drive.mjs", JAVASCRIPT.folder);
    current
        .python("conformance/matrix.py")
        .with(&["--binary", BINARY])
        .with(&["--previous", &previous])
        .with(&["--node", &node, &driver])
}
