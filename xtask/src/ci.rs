//! Everything that must hold before a change lands, one step after another.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::run::{Failure, Outcome, Program, root};
use crate::{
    args_report, bench, bench_gateway, clients, conformance, examples, fuzz, recorded, tidy,
};

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What a change needs
    Quick,
    /// That, and what takes longer
    Full,
}

struct Step {
    name: &'static str,
    /// What a person types to run this step alone
    again: &'static str,
    run: fn() -> Outcome,
}

const QUICK: &[Step] = &[
    Step { name: "format", again: "cargo fmt --all --check", run: format },
    Step {
        name: "lints",
        again: "cargo clippy --workspace --all-targets --all-features -- -D warnings",
        run: lints,
    },
    Step { name: "tests", again: "cargo test --workspace --all-features", run: tests },
    Step {
        name: "docs",
        again: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --all-features --no-deps",
        run: docs,
    },
    Step { name: "tidy", again: "cargo xtask tidy", run: tidy::run },
    Step { name: "examples", again: "cargo xtask examples", run: examples::run },
    Step {
        name: "args-report",
        again: "cargo xtask args-report fixtures/args",
        run: || args_report::run("fixtures/args"),
    },
    Step {
        name: "conformance",
        again: "cargo xtask conformance",
        run: || conformance::run(conformance::Plan::default()),
    },
];

const SLOW: &[Step] = &[
    Step {
        name: "clients",
        again: "cargo xtask clients --quick",
        run: || clients::run(&["--quick"]),
    },
    Step {
        name: "recorded",
        again: "cargo xtask recorded ../shared/recorded",
        run: || recorded::run_if_present("../shared/recorded"),
    },
    Step { name: "fuzz", again: "cargo xtask fuzz", run: || fuzz::run(&fuzz::Plan::default()) },
    Step {
        name: "bench",
        again: "cargo xtask bench --short",
        run: || bench::run(bench::Length::Short),
    },
    Step {
        name: "bench-gateway",
        again: "cargo xtask bench-gateway --short",
        run: || bench_gateway::measure(&["--short"]),
    },
    Step {
        name: "soak",
        again: "cargo xtask soak --seconds 20",
        run: || bench_gateway::soak(&["--seconds", "20"]),
    },
    Step {
        name: "chaos",
        again: "cargo xtask chaos --seconds 60",
        run: || bench_gateway::chaos(&["--seconds", "60"]),
    },
];

/// Runs the steps, stops at the first that fails, and closes with a table.
pub(crate) fn run(extent: Extent) -> Outcome {
    let steps: Vec<&Step> = match extent {
        Extent::Quick => QUICK.iter().collect(),
        Extent::Full => QUICK.iter().chain(SLOW).collect(),
    };
    let mut done: Vec<(&str, Duration)> = Vec::new();
    let mut failed = None;
    for step in &steps {
        println!("\n==> {}: {}", step.name, step.again);
        let start = Instant::now();
        let outcome = (step.run)();
        let took = start.elapsed();
        let word = if outcome.is_ok() { "ok" } else { "failed" };
        println!("<== {}: {word} after {:.1} s", step.name, took.as_secs_f64());
        done.push((step.name, took));
        if let Err(failure) = outcome {
            failed = Some((step, failure));
            break;
        }
    }
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    println!("\n{}", table(&names, &done, failed.is_some()));
    match failed {
        None => Ok(()),
        Some((step, failure)) => {
            Err(Failure(format!("{}: {failure}\nrun again: {}", step.name, step.again)))
        }
    }
}

/// The closing table: step, result, seconds. The last of `done` is the one that failed, if any.
fn table(names: &[&str], done: &[(&str, Duration)], failed: bool) -> String {
    let mut text = format!("{:<14} {:<8} {:>8}\n", "step", "result", "seconds");
    for (index, name) in names.iter().enumerate() {
        let (result, seconds) = match done.get(index) {
            None => ("not run", String::new()),
            Some((_, took)) => {
                let bad = failed && index + 1 == done.len();
                (if bad { "FAILED" } else { "ok" }, format!("{:.1}", took.as_secs_f64()))
            }
        };
        let _ = writeln!(text, "{name:<14} {result:<8} {seconds:>8}");
    }
    let total: Duration = done.iter().map(|(_, took)| *took).sum();
    let result = if failed { "FAILED" } else { "ok" };
    let _ = write!(text, "{:<14} {result:<8} {:>8.1}", "all", total.as_secs_f64());
    text
}

fn format() -> Outcome {
    Program::cargo().with(&["fmt", "--all", "--check"]).run()?;
    if root().join("fuzz/Cargo.toml").exists() {
        Program::cargo().with(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]).run()?;
    }
    Ok(())
}

fn lints() -> Outcome {
    let what = ["clippy", "--workspace", "--all-targets", "--all-features"];
    Program::cargo().with(&what).with(&["--", "-D", "warnings"]).run()
}

fn tests() -> Outcome {
    Program::cargo().with(&["test", "--workspace", "--all-features"]).run()
}

fn docs() -> Outcome {
    Program::cargo()
        .with(&["doc", "--workspace", "--all-features", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_what_failed_and_what_was_not_run() {
        let done = [("format", Duration::from_millis(1500)), ("lints", Duration::from_secs(2))];
        let text = table(&["format", "lints", "tests"], &done, true);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["format", "ok", "1.5"]);
        assert_eq!(rows[2], ["lints", "FAILED", "2.0"]);
        assert_eq!(rows[3], ["tests", "not", "run"]);
        assert_eq!(rows[4], ["all", "FAILED", "3.5"]);
    }
}
