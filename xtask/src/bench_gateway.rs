//! Measures the gateway, soaks it, and puts it through chaos: all by the program of `bench/`, built
//! together with it.

use std::path::PathBuf;

use crate::run::{Outcome, Program, root};

/// What `--help` of that program says of each is all that it takes.
pub(crate) fn measure(options: &[&str]) -> Outcome {
    build()?;
    bench("gateway").with(options).run()
}

/// Load with faults, then a look at what was leaked or forgotten.
pub(crate) fn soak(options: &[&str]) -> Outcome {
    build()?;
    bench("soak").with(options).run()
}

/// Traffic while everything around the gateway fails, then a count of effects, exchanges and leftovers.
pub(crate) fn chaos(options: &[&str]) -> Outcome {
    build()?;
    bench("chaos").with(options).run()
}

/// In one go, so that both share what they depend on.
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
