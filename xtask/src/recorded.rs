//! Recorded vendor traffic, translated into every dialect and checked: `cargo xtask recorded DIR`.
//!
//! The example `translate_recorded` of the dialects translates; `conformance/judge_recorded.py`
//! extracts the content of each document without the codecs, compares it, and validates it with the
//! SDKs' types.

use std::fs;
use std::path::PathBuf;

use crate::run::{Failure, Outcome, Program, root};
use crate::{build, conformance};

const EXAMPLE: &str = "translate_recorded";
const JUDGE: &str = "conformance/judge_recorded.py";

/// Which recordings are checked, and how much is printed.
pub(crate) struct Plan {
    directory: PathBuf,
    /// `--only` and `--to`, for the translation
    limits: Vec<String>,
    /// `--verbose`, for the check
    talk: Vec<String>,
}

impl Plan {
    /// Reads the arguments of the command.
    pub(crate) fn parse(words: &[&str]) -> Outcome<Plan> {
        let [directory, options @ ..] = words else {
            return Err(Failure("recorded: no directory is given".into()));
        };
        let directory = std::env::current_dir()?.join(directory);
        let mut plan = Plan { directory, limits: Vec::new(), talk: Vec::new() };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--verbose" => plan.talk.push("--verbose".into()),
                "--only" | "--to" => {
                    let none = || Failure(format!("{option}: no value"));
                    let value = options.next().ok_or_else(none)?;
                    plan.limits.extend([(*option).to_owned(), (*value).to_owned()]);
                }
                other => return Err(Failure(format!("unknown option {other}"))),
            }
        }
        Ok(plan)
    }
}

/// Translates and checks a directory beside the repository, if it exists.
pub(crate) fn run_if_present(directory: &str) -> Outcome {
    let directory = root().join(directory);
    if !directory.exists() {
        println!("skipped: there are no recordings in {}", directory.display());
        return Ok(());
    }
    run(&Plan { directory, limits: Vec::new(), talk: Vec::new() })
}

/// Translates and checks a directory.
pub(crate) fn run(plan: &Plan) -> Outcome {
    if !plan.directory.is_dir() {
        return Err(Failure(format!("{}: not a directory", plan.directory.display())));
    }
    let sdks = conformance::sdks();
    sdks.install()?;
    sdks.python(JUDGE).with(&["--self-test"]).run()?;
    let folder = root().join("target/recorded");
    fs::create_dir_all(&folder)?;
    let translated = folder.join(format!("translated-{}.jsonl", std::process::id()));
    let (directory, out) = (plan.directory.to_string_lossy(), translated.to_string_lossy());
    let translate = Program::new(root().join(build::example(EXAMPLE)?));
    let judged = translate.with(&[&directory, &out]).with(&plan.limits).run();
    let judged =
        judged.and_then(|()| sdks.python(JUDGE).with(&plan.talk).with(&[&directory, &out]).run());
    if translated.exists() {
        fs::remove_file(&translated)?;
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_limit_a_run() {
        let plan =
            Plan::parse(&["x", "--only", "anthropic.stream", "--verbose", "--to", "bedrock"]);
        let plan = plan.unwrap();
        assert_eq!(plan.limits, ["--only", "anthropic.stream", "--to", "bedrock"]);
        assert_eq!(plan.talk, ["--verbose"]);
        for wrong in [&[][..], &["x", "--to"], &["x", "--fast"]] {
            assert!(Plan::parse(wrong).is_err());
        }
    }
}
