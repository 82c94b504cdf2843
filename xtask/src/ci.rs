//! Everything that must pass before a change lands, step by step.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::run::{Failure, Outcome, Program, root};
use crate::{
    args_report, bench, bench_gateway, clients, conformance, examples, fuzz, journeys, mcp, oauth,
    recorded, release, schemathesis, temporal, tidy,
};

struct Step {
    name: &'static str,
    /// Maximum seconds on a cold machine, including installs. The steps of `--full` may take 50 minutes in
    /// total.
    budget: u64,
    run: fn() -> Outcome,
}

const QUICK: &[Step] = &[
    Step { name: "format", budget: 10, run: format },
    Step { name: "lints", budget: 240, run: lints },
    Step { name: "tests", budget: 720, run: tests },
    Step { name: "docs", budget: 75, run: docs },
    Step { name: "tidy", budget: 30, run: tidy::run },
    Step { name: "examples", budget: 10, run: examples::run },
    Step { name: "args-report", budget: 30, run: || args_report::run("fixtures/args") },
];

const SLOW: &[Step] = &[
    Step {
        name: "conformance",
        budget: 150,
        run: || conformance::run(conformance::Plan::default()),
    },
    Step { name: "external", budget: 150, run: release::external },
    Step { name: "publish", budget: 150, run: release::publish },
    Step { name: "oauth", budget: 30, run: oauth::run },
    Step { name: "mcp", budget: 210, run: mcp::run },
    Step { name: "temporal", budget: 150, run: || temporal::run(Some("3000")) },
    Step { name: "schemathesis", budget: 60, run: || schemathesis::run(&["--seconds", "30"]) },
    Step { name: "clients", budget: 120, run: || clients::run(&["--quick"]) },
    Step { name: "journeys", budget: 90, run: || journeys::run(&[]) },
    Step { name: "recorded", budget: 120, run: || recorded::run_if_present("../shared/recorded") },
    Step { name: "fuzz", budget: 270, run: || fuzz::run(&fuzz::Plan::default()) },
    Step { name: "bench", budget: 120, run: bench::check },
    Step { name: "bench-gateway", budget: 105, run: || bench_gateway::measure(&["--short"]) },
    Step { name: "bench-mcp", budget: 45, run: || bench_gateway::measure_mcp(&["--short"]) },
    Step { name: "soak", budget: 45, run: || bench_gateway::soak(&["--seconds", "20"]) },
    Step {
        name: "chaos",
        budget: 60,
        run: || bench_gateway::chaos(&["--seconds", "40", "--seed", "1"]),
    },
];

/// Parses the arguments, runs the steps, stops at the first that fails, and prints a table. Without
/// arguments the quick steps run, with `--full` all, and with names only those.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let steps: Vec<&Step> = match words {
        [] => QUICK.iter().collect(),
        ["--full"] => QUICK.iter().chain(SLOW).collect(),
        names => names.iter().map(|name| step(name)).collect::<Outcome<_>>()?,
    };
    let mut done: Vec<(&str, Duration)> = Vec::new();
    let mut failed = None;
    for step in &steps {
        println!("\n==> {}", step.name);
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
    let budgets: Vec<(&str, Duration)> =
        steps.iter().map(|step| (step.name, Duration::from_secs(step.budget))).collect();
    println!("\n{}", table(&budgets, &done, failed.is_some()));
    match failed {
        None => Ok(()),
        Some((step, failure)) => {
            Err(Failure(format!("{0}: {failure}\nrun again: cargo xtask ci {0}", step.name)))
        }
    }
}

fn step(name: &str) -> Outcome<&'static Step> {
    let known = || QUICK.iter().chain(SLOW);
    known().find(|step| step.name == name).ok_or_else(|| {
        let names: Vec<&str> = known().map(|step| step.name).collect();
        Failure(format!("ci has no step {name}; there are {}", names.join(", ")))
    })
}

/// The final table: step, result, minutes and budget. The last of `done` is the failed one, if any.
fn table(steps: &[(&str, Duration)], done: &[(&str, Duration)], failed: bool) -> String {
    let mut text = format!("{:<14} {:<8} {:>8} {:>8}\n", "step", "result", "minutes", "budget");
    let minutes = |time: Duration| format!("{:.1}", time.as_secs_f64() / 60.0);
    let mut row = |name: &str, result: &str, took: Option<Duration>, budget: Duration| {
        let over = if took.is_some_and(|took| took > budget) { "  over" } else { "" };
        let (took, budget) = (took.map_or_else(String::new, minutes), minutes(budget));
        let _ = writeln!(text, "{name:<14} {result:<8} {took:>8} {budget:>8}{over}");
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
    let program = Program::cargo().with(&["clippy", "--workspace", "--all-targets"]);
    program.with(&["--all-features", "--", "-D", "warnings"]).run_shown()
}

fn tests() -> Outcome {
    temporal::install()?;
    let program = Program::cargo().with(&["test", "--workspace", "--no-fail-fast"]);
    let program = program.with(&["--all-features"]).env("TEMPORAL", temporal::SERVER);
    // Many tests wait for timers and processes more than they compute.
    program.env("RUST_TEST_THREADS", "4").run_shown()
}

fn docs() -> Outcome {
    // With an example, the libraries have the features that the lints have checked.
    let program = Program::cargo().with(&["doc", "--workspace", "--no-deps", "--all-features"]);
    let bins = ["--bin", "xtask", "--bin", "toolwright-bench"];
    let program = program.with(&["--lib", "--example", "check_mcp"]).with(&bins);
    program.env("RUSTDOCFLAGS", "-D warnings").run_shown()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_what_failed_what_was_not_run_and_what_took_too_long() {
        let steps = [("format", 60), ("lints", 300), ("tests", 840)];
        let steps = steps.map(|(name, seconds)| (name, Duration::from_secs(seconds)));
        let done = [("format", Duration::from_secs(90)), ("lints", Duration::from_mins(2))];
        let text = table(&steps, &done, true);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["format", "ok", "1.5", "1.0", "over"]);
        assert_eq!(rows[2], ["lints", "FAILED", "2.0", "5.0"]);
        assert_eq!(rows[3], ["tests", "not", "run", "14.0"]);
        assert_eq!(rows[4], ["all", "FAILED", "3.5", "20.0"]);
    }

    #[test]
    fn a_step_is_found_by_its_name() {
        assert!(step("lints").is_ok() && step("chaos").is_ok());
        let unknown = step("lint").map(|step| step.name).unwrap_err();
        assert!(unknown.0.starts_with("ci has no step lint; there are format, lints, "));
    }

    #[test]
    fn all_steps_together_may_take_50_minutes() {
        let steps = QUICK.iter().chain(SLOW);
        assert!(steps.map(|step| step.budget).sum::<u64>() <= 50 * 60);
    }
}
