//! Everything that must hold before a change lands, one step after another.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::run::{Failure, Outcome, Program, root};
use crate::{
    args_report, bench, bench_gateway, clients, conformance, examples, fuzz, recorded, release,
    tidy,
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
    /// Minutes that it may take on a cold machine, installs included. The steps of `--full` may take 70
    /// together.
    budget: u32,
    /// What a person types to run this step alone
    again: &'static str,
    run: fn() -> Outcome,
}

const QUICK: &[Step] = &[
    Step { name: "format", budget: 1, again: "cargo fmt --all --check", run: format },
    Step {
        name: "lints",
        budget: 5,
        again: "cargo clippy --workspace --all-targets --all-features -- -D warnings",
        run: lints,
    },
    Step { name: "tests", budget: 14, again: "cargo test --workspace --all-features", run: tests },
    Step {
        name: "docs",
        budget: 2,
        again: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --all-features --no-deps",
        run: docs,
    },
    Step { name: "tidy", budget: 1, again: "cargo xtask tidy", run: tidy::run },
    Step { name: "examples", budget: 4, again: "cargo xtask examples", run: examples::run },
    Step { name: "external", budget: 1, again: "cargo xtask external", run: release::external },
    Step {
        name: "args-report",
        budget: 2,
        again: "cargo xtask args-report fixtures/args",
        run: || args_report::run("fixtures/args"),
    },
    Step {
        name: "conformance",
        budget: 6,
        again: "cargo xtask conformance",
        run: || conformance::run(conformance::Plan::default()),
    },
];

const SLOW: &[Step] = &[
    Step { name: "publish", budget: 3, again: "cargo xtask publish", run: release::publish },
    Step {
        name: "clients",
        budget: 6,
        again: "cargo xtask clients --quick",
        run: || clients::run(&["--quick"]),
    },
    Step {
        name: "recorded",
        budget: 4,
        again: "cargo xtask recorded ../shared/recorded",
        run: || recorded::run_if_present("../shared/recorded"),
    },
    Step {
        name: "fuzz",
        budget: 6,
        again: "cargo xtask fuzz",
        run: || fuzz::run(&fuzz::Plan::default()),
    },
    Step {
        name: "bench",
        budget: 5,
        again: "cargo xtask bench --short",
        run: || bench::run(bench::Length::Short),
    },
    Step {
        name: "bench-gateway",
        budget: 7,
        again: "cargo xtask bench-gateway --short",
        run: || bench_gateway::measure(&["--short"]),
    },
    Step {
        name: "soak",
        budget: 1,
        again: "cargo xtask soak --seconds 20",
        run: || bench_gateway::soak(&["--seconds", "20"]),
    },
    Step {
        name: "chaos",
        budget: 2,
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
    let budgets: Vec<(&str, u32)> = steps.iter().map(|step| (step.name, step.budget)).collect();
    println!("\n{}", table(&budgets, &done, failed.is_some()));
    match failed {
        None => Ok(()),
        Some((step, failure)) => {
            Err(Failure(format!("{}: {failure}\nrun again: {}", step.name, step.again)))
        }
    }
}

/// The closing table: step, result, minutes and how many it may take. The last of `done` is the one that
/// failed, if any.
fn table(steps: &[(&str, u32)], done: &[(&str, Duration)], failed: bool) -> String {
    let mut text = format!("{:<14} {:<8} {:>8} {:>8}\n", "step", "result", "minutes", "budget");
    let mut row = |name: &str, result: &str, took: Option<Duration>, budget: u32| {
        let minutes = took.map(|took| took.as_secs_f64() / 60.0);
        let over =
            if minutes.is_some_and(|minutes| minutes > budget.into()) { "  over" } else { "" };
        let minutes = minutes.map_or_else(String::new, |minutes| format!("{minutes:.1}"));
        let _ = writeln!(text, "{name:<14} {result:<8} {minutes:>8} {budget:>8}{over}");
    };
    for (index, (name, budget)) in steps.iter().enumerate() {
        let took = done.get(index).map(|(_, took)| *took);
        let result = match took {
            None => "not run",
            Some(_) if failed && index + 1 == done.len() => "FAILED",
            Some(_) => "ok",
        };
        row(name, result, took, *budget);
    }
    let total = done.iter().map(|(_, took)| *took).sum();
    let budget = steps.iter().map(|(_, budget)| budget).sum();
    row("all", if failed { "FAILED" } else { "ok" }, Some(total), budget);
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
    fn the_table_names_what_failed_what_was_not_run_and_what_took_too_long() {
        let steps = [("format", 1), ("lints", 5), ("tests", 14)];
        let done = [("format", Duration::from_secs(90)), ("lints", Duration::from_mins(2))];
        let text = table(&steps, &done, true);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["format", "ok", "1.5", "1", "over"]);
        assert_eq!(rows[2], ["lints", "FAILED", "2.0", "5"]);
        assert_eq!(rows[3], ["tests", "not", "run", "14"]);
        assert_eq!(rows[4], ["all", "FAILED", "3.5", "20"]);
    }

    #[test]
    fn all_steps_together_may_take_seventy_minutes() {
        let steps = QUICK.iter().chain(SLOW);
        assert!(steps.map(|step| step.budget).sum::<u32>() <= 70);
    }
}
