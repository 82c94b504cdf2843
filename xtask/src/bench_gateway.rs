//! Measures the gateway, and runs the soak and the chaos test: all with the program in `bench/`,
//! built together with the gateway.

use std::path::PathBuf;

use crate::bench::Length;
use crate::mcp;
use crate::run::{Outcome, Program, root};

/// Measures the gateway. The options are those of `bench-gateway --help`.
pub(crate) fn measure(options: &[&str]) -> Outcome {
    program(length(options), "gateway")?.with(options).run()
}

/// Measures calls of MCP servers through the gateway.
pub(crate) fn measure_mcp(options: &[&str]) -> Outcome {
    let program = program(length(options), "mcp")?;
    let venv = mcp::python_sdk();
    venv.install()?;
    let python = root().join(&venv.folder).join("bin/python");
    let server = root().join("fixtures/mcp/servers/echo.py");
    let sdk = ["--sdk", &python.to_string_lossy(), &server.to_string_lossy()];
    program.with(options).with(&sdk).run()
}

/// Runs load with faults, then checks for leaks and missing records.
pub(crate) fn soak(options: &[&str]) -> Outcome {
    program(Length::Short, "soak")?.with(options).run()
}

/// Runs traffic while everything around the gateway fails, then checks effects, exchanges and
/// leftovers.
pub(crate) fn chaos(options: &[&str]) -> Outcome {
    program(Length::Short, "chaos")?.with(options).run()
}

fn length(options: &[&str]) -> Length {
    if options.contains(&"--short") { Length::Short } else { Length::Whole }
}

/// Builds the program and the gateway at once, with the libraries that [`bench::run`](crate::bench::run) builds.
fn program(length: Length, part: &str) -> Outcome<Program> {
    let profile = length.profile();
    Program::cargo()
        .with(&["build", "--quiet", "--workspace", "--profile", profile])
        .with(&["--bin", "toolwright", "--bin", "toolwright-bench", "--bench", "telemetry"])
        .run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    Ok(Program::new(root().join(target).join(profile).join("toolwright-bench")).with(&[part]))
}
