//! What we emit, judged by the vendors' own SDKs: `conformance/` in a Python environment of its own.

use std::fs;

use crate::run::{Outcome, Program, ensure, root};

const VENV: &str = "target/conformance-venv";
const REQUIREMENTS: &str = "conformance/requirements.txt";

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    /// What failed
    Brief,
    /// Also why each broken variant was refused
    Verbose,
}

/// Shows that the judges can tell good from broken, then has them judge `golden/`.
pub(crate) fn run(talk: Talk) -> Outcome {
    environment()?;
    let verbose: &[&str] = if talk == Talk::Verbose { &["--verbose"] } else { &[] };
    validate().with(&["--self-test"]).with(verbose).with(&["."]).run()?;
    validate().with(&["."]).run()
}

fn validate() -> Program {
    Program::new(root().join(VENV).join("bin/python")).with(&["conformance/validate.py"])
}

/// Makes the environment, unless it was made from the same requirements.
fn environment() -> Outcome {
    let wanted = fs::read_to_string(root().join(REQUIREMENTS))?;
    let stamp = root().join(VENV).join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(());
    }
    println!("installing the SDKs of {REQUIREMENTS} into {VENV}");
    ensure("python3-venv", || Program::new("python3").with(&["-m", "ensurepip", "--version"]))?;
    Program::new("python3").with(&["-m", "venv", "--clear", VENV]).run()?;
    Program::new(root().join(VENV).join("bin/python"))
        .with(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .with(&["--requirement", REQUIREMENTS])
        .run()?;
    fs::write(stamp, wanted)?;
    Ok(())
}
