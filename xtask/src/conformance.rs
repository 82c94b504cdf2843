//! What we emit, judged by the vendors' own SDKs, and the gateway, driven by them: `conformance/` in
//! environments of its own, for the SDKs of Python, for their majors before, and for JavaScript.

use std::fs;

use crate::packages::{NodePackages, Venv};
use crate::run::{Failure, Outcome, Program, root};

/// The gateway that is driven.
pub(crate) const BINARY: &str = "target/debug/toolwright";
const JAVASCRIPT: NodePackages =
    NodePackages { source: "conformance/js", folder: "target/conformance-js" };
/// What the driver of JavaScript reads beside its own files.
const TASK: &str = "conformance/gateway/task.json";

/// How the task runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    talk: Talk,
    readme: Readme,
}

/// How much is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Talk {
    /// What failed
    #[default]
    Brief,
    /// Also why each broken variant was refused
    Verbose,
}

/// What is done with the matrix that was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Readme {
    /// It must be the one in the READMEs
    #[default]
    Check,
    /// It is written there
    Write,
}

impl Plan {
    /// Reads the arguments of the command.
    pub(crate) fn parse(words: &[&str]) -> Outcome<Plan> {
        let mut plan = Plan::default();
        for word in words {
            match *word {
                "--verbose" => plan.talk = Talk::Verbose,
                "--write" => plan.readme = Readme::Write,
                other => return Err(Failure(format!("unknown option {other}"))),
            }
        }
        Ok(plan)
    }
}

/// Shows that the judges can tell good from broken, then has them judge `golden/` and the gateway.
pub(crate) fn run(plan: Plan) -> Outcome {
    Program::cargo().with(&["build", "--quiet", "--package", "toolwright-gateway"]).run()?;
    let (current, previous) = (sdks(), previous_sdks());
    current.install()?;
    previous.install()?;
    JAVASCRIPT.install()?;
    fs::copy(root().join(TASK), root().join(JAVASCRIPT.folder).join("task.json"))?;
    let verbose: &[&str] = if plan.talk == Talk::Verbose { &["--verbose"] } else { &[] };
    current
        .python("conformance/validate.py")
        .with(&["--self-test"])
        .with(verbose)
        .with(&["."])
        .run()?;
    current.python("conformance/validate.py").with(&["."]).run()?;
    let write: &[&str] = if plan.readme == Readme::Write { &["--write"] } else { &[] };
    matrix(&current, &previous).with(verbose).with(write).with(&["."]).run()
}

/// The environment with the vendors' SDKs.
pub(crate) fn sdks() -> Venv {
    Venv {
        folder: "target/conformance-venv".into(),
        requirements: "conformance/requirements.txt".into(),
    }
}

/// The environment with the majors before.
fn previous_sdks() -> Venv {
    Venv {
        folder: "target/conformance-previous-venv".into(),
        requirements: "conformance/previous.txt".into(),
    }
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
