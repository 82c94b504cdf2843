//! What we emit, judged by the vendors' own SDKs, and the gateway, driven by them: `conformance/` in
//! environments of its own, for the SDKs of Python, for their majors before, and for JavaScript.

use std::fs;
use std::path::Path;

use crate::run::{Failure, Outcome, Program, ensure, root};

/// The environment of the SDKs in their current versions.
pub(crate) const CURRENT: Venv =
    Venv { folder: "target/conformance-venv", requirements: "conformance/requirements.txt" };
const PREVIOUS: Venv =
    Venv { folder: "target/conformance-previous-venv", requirements: "conformance/previous.txt" };
const BINARY: &str = "target/debug/toolwright";
const JS: &str = "conformance/js";
const JS_HOME: &str = "target/conformance-js";
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
    CURRENT.make()?;
    PREVIOUS.make()?;
    javascript()?;
    let verbose: &[&str] = if plan.talk == Talk::Verbose { &["--verbose"] } else { &[] };
    CURRENT
        .python("conformance/validate.py")
        .with(&["--self-test"])
        .with(verbose)
        .with(&["."])
        .run()?;
    CURRENT.python("conformance/validate.py").with(&["."]).run()?;
    let write: &[&str] = if plan.readme == Readme::Write { &["--write"] } else { &[] };
    matrix().with(verbose).with(write).with(&["."]).run()
}

/// The gateway between the SDKs and fake upstreams.
fn matrix() -> Program {
    let previous = format!("{}/bin/python", PREVIOUS.folder);
    let node = format!("{JS_HOME}/node_modules/.bin/node");
    let driver = format!("{JS_HOME}/drive.mjs");
    CURRENT
        .python("conformance/matrix.py")
        .with(&["--binary", BINARY])
        .with(&["--previous", &previous])
        .with(&["--node", &node, &driver])
}

/// A Python environment and what is in it.
pub(crate) struct Venv {
    folder: &'static str,
    requirements: &'static str,
}

impl Venv {
    /// A script, run by the environment's Python.
    pub(crate) fn python(&self, script: &str) -> Program {
        Program::new(root().join(self.folder).join("bin/python")).with(&[script])
    }

    /// Makes the environment, unless it was made from the same requirements.
    pub(crate) fn make(&self) -> Outcome {
        let wanted = fs::read_to_string(root().join(self.requirements))?;
        let stamp = root().join(self.folder).join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
            return Ok(());
        }
        println!("installing the SDKs of {} into {}", self.requirements, self.folder);
        ensure("python3-venv", || Program::new("python3").with(&["-m", "ensurepip", "--version"]))?;
        Program::new("python3").with(&["-m", "venv", "--clear", self.folder]).run()?;
        Program::new(root().join(self.folder).join("bin/python"))
            .with(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .with(&["--requirement", self.requirements])
            .run()?;
        fs::write(stamp, wanted)?;
        Ok(())
    }
}

/// Installs the SDKs of JavaScript, and the Node that runs them, unless they are there; copies the
/// drivers beside them, where imports are looked for.
fn javascript() -> Outcome {
    let home = root().join(JS_HOME);
    let wanted = fs::read_to_string(root().join(JS).join("package-lock.json"))?;
    let stamp = home.join("installed.json");
    let installed = fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted);
    if !installed && home.exists() {
        fs::remove_dir_all(&home)?;
    }
    copy(&root().join(JS), &home)?;
    fs::copy(root().join(TASK), home.join("task.json"))?;
    if installed {
        return Ok(());
    }
    println!("installing the SDKs of {JS} into {JS_HOME}");
    ensure("npm", || Program::new("npm").with(&["--version"]))?;
    let what = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", JS_HOME];
    Program::new("npm").with(&what).run()?;
    fs::write(stamp, wanted)?;
    Ok(())
}

/// Copies a folder of files and folders.
fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .map_err(|error| Failure(format!("{}: {error}", target.display())))?;
        }
    }
    Ok(())
}
