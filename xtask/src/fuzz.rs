//! Runs every fuzz target for a while, with libFuzzer and the stable toolchain.
//!
//! A target is a binary of the workspace in `fuzz/`. The flags enable LLVM's coverage counters for
//! libFuzzer; no sanitizer is used, so no other toolchain is needed.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::run::{Failure, Outcome, Program, ensure, root, rust_files};

const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The targets to run, and for how long.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    length: Length,
    /// Whether other values are tried than in every run, by the property tests too
    fresh: bool,
    /// Names of targets; none means all
    only: Vec<String>,
}

/// How long each target runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Length {
    /// A fixed number of inputs from the committed seeds. Nearly the same in every run: it is
    /// guided by coverage, and that of hash maps differs from run to run
    #[default]
    Smoke,
    /// Continues from the inputs that earlier runs found
    Seconds(u32),
}

/// Number of inputs in a smoke run.
const SMOKE_RUNS: u32 = 1000;

impl Plan {
    /// Reads the arguments of the command.
    pub(crate) fn parse(words: &[&str]) -> Outcome<Plan> {
        let mut plan = Plan::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--seconds" => {
                    let seconds = words.next().and_then(|word| word.parse().ok());
                    let seconds =
                        seconds.ok_or_else(|| Failure("--seconds takes a whole number".into()))?;
                    plan.length = Length::Seconds(seconds);
                }
                "--fresh" => plan.fresh = true,
                flag if flag.starts_with('-') => {
                    return Err(Failure(format!("unknown option {flag}")));
                }
                target => plan.only.push(target.into()),
            }
        }
        Ok(plan)
    }
}

/// Crates with property tests.
const WITH_PROPERTIES: &[&str] =
    &["core", "dialects", "json", "plan", "runtime", "search", "transport"];

/// Runs the property tests with a seed.
fn check_properties(seed: &str) -> Outcome {
    let packages = WITH_PROPERTIES.iter().map(|name| format!("--package=toolwright-{name}"));
    let program = Program::cargo().with(&["test", "--quiet", "--all-features", "--tests"]);
    program.with(&packages.collect::<Vec<_>>()).env("PROPTEST_RNG_SEED", seed).run_shown()
}

/// Builds the targets and runs one after another; before them the property tests, if the values are to be fresh.
pub(crate) fn run(plan: &Plan) -> Outcome {
    let targets = targets(&plan.only)?;
    let seed = if plan.fresh { RandomState::new().build_hasher().finish() >> 32 } else { 1 };
    if plan.fresh {
        check_properties(&seed.to_string())?;
    }
    // libFuzzer is written in C++.
    ensure("g++", || Program::new("g++").with(&["--version"]))?;
    let host = host()?;
    let profile = if plan.length == Length::Smoke { "smoke" } else { "release" };
    Program::cargo()
        .with(&["build", "--manifest-path", "fuzz/Cargo.toml", "--bins"])
        .with(&["--profile", profile])
        // With `--target`, the flags do not apply to build scripts.
        .with(&["--target", &host])
        .env("RUSTFLAGS", FLAGS)
        .run()?;
    for target in targets {
        fuzz(&target, plan.length, seed, &format!("fuzz/target/{host}/{profile}"))?;
    }
    Ok(())
}

fn targets(only: &[String]) -> Outcome<Vec<String>> {
    let mut found = rust_files(&root().join("fuzz/fuzz_targets"))?;
    if let Some(unknown) = only.iter().find(|name| !found.contains(name)) {
        return Err(Failure(format!("no fuzz target {unknown}; there are {}", found.join(", "))));
    }
    found.retain(|name| only.is_empty() || only.contains(name));
    Ok(found)
}

fn host() -> Outcome<String> {
    let version = Program::new("rustc").with(&["-vV"]).read()?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| Failure("rustc -vV names no host".into()))
}

fn fuzz(target: &str, length: Length, seed: u64, folder: &str) -> Outcome {
    let (corpus, bounds) = match length {
        Length::Smoke => {
            let corpus = format!("fuzz/corpus/smoke/{target}");
            if root().join(&corpus).exists() {
                fs::remove_dir_all(root().join(&corpus))?;
            }
            (corpus, vec![format!("-runs={SMOKE_RUNS}"), format!("-seed={seed}")])
        }
        Length::Seconds(seconds) => {
            (format!("fuzz/corpus/{target}"), vec![format!("-max_total_time={seconds}")])
        }
    };
    let seeds = format!("fuzz/seeds/{target}");
    let artifacts = format!("fuzz/artifacts/{target}/");
    fs::create_dir_all(root().join(&corpus))?;
    fs::create_dir_all(root().join(&artifacts))?;
    let binary = root().join(folder).join(target);
    let mut program = Program::new(binary)
        .with(&bounds)
        .with(&[&format!("-artifact_prefix={artifacts}")])
        .with(&["-max_len=65536", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .with(&[&corpus]);
    if root().join(&seeds).exists() {
        program = program.with(&[&seeds]);
    }
    let line = program.line().to_owned();
    let (fine, log) = program.capture()?;
    let executed = statistic(&log, "stat::number_of_executed_units:");
    let counters = log.contains("inline 8-bit counters");
    match executed {
        Some(executed) if fine && counters => {
            println!("{target}: {executed} runs");
            Ok(())
        }
        _ => {
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(40)..].join("\n");
            let why = if fine { "measured no coverage" } else { "found a fault" };
            Err(Failure(format!("{tail}\nfuzz target {target} {why}: {line}")))
        }
    }
}

fn statistic<'l>(log: &'l str, name: &str) -> Option<&'l str> {
    log.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_seconds_and_targets() {
        let plan = Plan::parse(&["json", "--seconds", "3"]);
        let expected = Plan { length: Length::Seconds(3), fresh: false, only: vec!["json".into()] };
        assert_eq!(plan.ok(), Some(expected));
        assert!(Plan::parse(&["--fresh"]).is_ok_and(|plan| plan.fresh));
        assert!(Plan::parse(&["--seconds", "soon"]).is_err());
        assert!(Plan::parse(&["--runs"]).is_err());
    }

    #[test]
    fn a_statistic_is_read_from_the_log() {
        let log = "Done 12 runs\nstat::number_of_executed_units: 8123\n";
        assert_eq!(statistic(log, "stat::number_of_executed_units:"), Some("8123"));
        assert_eq!(statistic(log, "stat::peak"), None);
    }
}
