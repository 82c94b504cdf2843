//! Reports how a directory of arguments like `fixtures/args` is resolved: right, refused or
//! silently wrong.
//!
//! The built `toolwright` resolves every case, once with the opt-in coercions and once without.
//! Each kind has a minimum share of right cases and a maximum share of silently wrong ones, which
//! is zero except for slips of structural characters. Malformed texts are also repaired with
//! Python's `json_repair`, for comparison.

mod case;
mod compare;
mod peer;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use self::case::{Answer, Case, Kind, Verdict};
use self::peer::Comparison;
use self::table::Table;
use crate::build::{self, BINARY};
use crate::run::{Failure, Outcome, Program, root};

/// Whether the opt-in coercions are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Plain,
    Lenient,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Lenient => "lenient",
        }
    }
}

/// The files of such a directory.
const FILES: [&str; 4] = ["valid", "mutated", "malformed", "structural"];

/// Maximum number of cases that are listed because they are not right.
const NAMED: usize = 30;

/// Evaluates a directory.
pub(crate) fn run(directory: &str) -> Outcome {
    let directory = std::env::current_dir()?.join(directory);
    let mut cases = Vec::new();
    for file in FILES {
        let path = directory.join(file).with_extension("jsonl");
        if path.exists() {
            cases.extend(read(file, &path)?);
        }
    }
    if cases.is_empty() {
        return Err(Failure(format!(
            "{}: no {}.jsonl",
            directory.display(),
            FILES.join(".jsonl, ")
        )));
    }
    build::gateway()?;
    let mut table = Table::default();
    let (mut named, mut plain) = (Vec::new(), Vec::new());
    let lines: Vec<String> = cases.iter().map(Case::line).collect();
    for mode in [Mode::Plain, Mode::Lenient] {
        for (case, answer) in cases.iter().zip(judge(&lines, mode)?) {
            let verdict = case.verdict(&answer);
            table.add(case, mode, verdict);
            if mode == Mode::Plain {
                plain.push(verdict);
            }
            if case.kind.is_named(mode, verdict) {
                named.push(format!("{} {}: {}", mode.word(), case.id, answer.told(verdict)));
            }
        }
    }
    print!("{table}{}", Comparison::run(&cases, &plain)?);
    for line in named.iter().take(NAMED) {
        println!("  {line}");
    }
    if named.len() > NAMED {
        println!("  and {} more", named.len() - NAMED);
    }
    match table.missed() {
        missed if missed.is_empty() => Ok(()),
        missed => Err(Failure(format!("missed: {}", missed.join("; ")))),
    }
}

fn read(file: &'static str, path: &Path) -> Outcome<Vec<Case>> {
    let text = fs::read_to_string(path)?;
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("{}:{}", path.display(), index + 1);
        cases.push(Case::parse(file, line).map_err(|why| Failure(format!("{}: {why}", place())))?);
    }
    Ok(cases)
}

/// Runs `toolwright args --batch` and returns its answer to each line.
fn judge(lines: &[String], mode: Mode) -> Outcome<Vec<Answer>> {
    let file = scratch()?;
    fs::write(&file, lines.join("\n"))?;
    let path = file.to_string_lossy();
    let mut program = Program::new(root().join(BINARY)).with(&["args", "--batch", &path]);
    if mode == Mode::Lenient {
        program = program.with(&["--lenient"]);
    }
    let answers = program.answer();
    fs::remove_file(&file)?;
    let answers: Result<Vec<Answer>, String> = answers?.lines().map(Answer::parse).collect();
    let answers = answers.map_err(|why| Failure(format!("an answer is not as expected: {why}")))?;
    if answers.len() != lines.len() {
        return Err(Failure(format!("{} answers for {} calls", answers.len(), lines.len())));
    }
    Ok(answers)
}

fn scratch() -> Outcome<PathBuf> {
    let folder = root().join("target/xtask");
    fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("args-report-{}.jsonl", std::process::id())))
}

impl Kind {
    /// Whether a verdict in a mode is listed: opt-in coercions are not expected of the plain mode,
    /// and a slip may be refused.
    fn is_named(self, mode: Mode, verdict: Verdict) -> bool {
        let is_expected = match self {
            Kind::Coercible => mode == Mode::Lenient,
            Kind::Slip => verdict == Verdict::Wrong,
            _ => true,
        };
        is_expected && verdict != Verdict::Right
    }
}
