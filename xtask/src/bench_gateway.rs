//! Measures the gateway, and runs the soak and the chaos test: all with the program in `bench/`,
//! built together with the gateway.

use std::path::PathBuf;

use crate::run::{Outcome, Program, root};

/// Measures the gateway. The options are those of `bench-gateway --help`.
pub(crate) fn measure(options: &[&str]) -> Outcome {
    build()?;
    bench("gateway").with(options).run()
}

/// Runs load with faults, then checks for leaks and missing records.
pub(crate) fn soak(options: &[&str]) -> Outcome {
    build()?;
    bench("soak").with(options).run()
}

/// Runs traffic while everything around the gateway fails, then checks effects, exchanges and
/// leftovers.
pub(crate) fn chaos(options: &[&str]) -> Outcome {
    build()?;
    bench("chaos").with(options).run()
}

/// Builds both at once, so that they share their dependencies.
fn build() -> Outcome {
    Program::cargo()
        .with(&["build", "--quiet", "--release", "--bins"])
        .with(&["--package", "toolwright-gateway", "--package", "toolwright-bench"])
        .run()
}

fn bench(part: &str) -> Program {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    Program::new(root().join(target).join("release/toolwright-bench")).with(&[part])
}
