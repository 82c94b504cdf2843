//! Measures the gateway, and runs the soak and the chaos test: all with the program in `bench/`,
//! built together with the gateway.

use crate::build;
use crate::mcp;
use crate::run::{Outcome, Program, root};

/// Measures the gateway. The options are those of `bench-gateway --help`.
pub(crate) fn measure(options: &[&str]) -> Outcome {
    measured("gateway", options)?.run()
}

/// Measures calls of MCP servers through the gateway.
pub(crate) fn measure_mcp(options: &[&str]) -> Outcome {
    let program = measured("mcp", options)?;
    let venv = mcp::python_sdk();
    venv.install()?;
    let python = root().join(&venv.folder).join("bin/python");
    let server = root().join("fixtures/mcp/servers/echo.py");
    program.with(&["--sdk", &python.to_string_lossy(), &server.to_string_lossy()]).run()
}

/// Runs load with faults, then checks for leaks and missing records.
pub(crate) fn soak(options: &[&str]) -> Outcome {
    checked("soak", options)?.run()
}

/// Runs traffic while everything around the gateway fails, then checks effects, exchanges and
/// leftovers.
pub(crate) fn chaos(options: &[&str]) -> Outcome {
    checked("chaos", options)?.run()
}

/// A part that measures. A short run, whose figures count for nothing, only checks.
fn measured(part: &str, options: &[&str]) -> Outcome<Program> {
    if options.contains(&"--short") {
        return checked(part, options);
    }
    let build = Program::cargo().with(&["build", "--quiet", "--release", "--bins"]);
    build.with(&["--package", "toolwright-cli", "--package", "toolwright-bench"]).run()?;
    Ok(Program::new(root().join("target/release/toolwright-bench")).with(&[part]).with(options))
}

/// A part that checks replies, effects and records, in the build of the tests.
fn checked(part: &str, options: &[&str]) -> Outcome<Program> {
    build::in_workspace(&["--bins", "--example", "check_mcp"])?;
    Ok(Program::new(root().join("target/debug/toolwright-bench")).with(&[part]).with(options))
}
