//! Repairs the same malformed texts with Python's `json_repair`, operator by operator.
//!
//! Its results go through the same check and coercion as ours, so that only the repair differs.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use super::case::{Case, Verdict};
use super::table::Count;
use super::{Mode, judge, scratch};
use crate::packages::Venv;
use crate::run::{Failure, Outcome};

/// Prints the result of `json_repair` for each text of a file, one per line.
const SCRIPT: &str = "conformance/json_repair/repair.py";

/// The verdicts on the cases of an operator, ours and theirs.
#[derive(Debug, Default)]
pub(super) struct Comparison(BTreeMap<(&'static str, String), [Count; 2]>);

impl Comparison {
    /// Compares our verdicts with those on the results of `json_repair`.
    pub(super) fn run(cases: &[Case], ours: &[Verdict]) -> Outcome<Comparison> {
        let malformed: Vec<(&Case, &str, Verdict)> = cases
            .iter()
            .zip(ours)
            .filter_map(|(case, own)| Some((case, case.malformed()?, *own)))
            .collect();
        let mut comparison = Comparison::default();
        if malformed.is_empty() {
            return Ok(comparison);
        }
        let texts: Vec<&str> = malformed.iter().map(|(_, text, _)| *text).collect();
        let repaired = repaired(&texts)?;
        let lines = malformed.iter().zip(&repaired).map(|((case, ..), own)| case.line_with(own));
        let answers = judge(&lines.collect::<Vec<_>>(), Mode::Plain)?;
        for ((case, _, own), answer) in malformed.into_iter().zip(&answers) {
            let key = (case.kind.word(), case.operator.clone());
            let [ours, theirs] = comparison.0.entry(key).or_default();
            ours.add(own);
            theirs.add(case.verdict(answer));
        }
        Ok(comparison)
    }
}

/// Runs `json_repair` on texts that are given as JSON strings.
fn repaired(texts: &[&str]) -> Outcome<Vec<String>> {
    let requirements = "conformance/json_repair/requirements.txt";
    let venv = Venv::new("target/json-repair-venv", requirements);
    venv.install()?;
    let file = scratch()?;
    fs::write(&file, texts.join("\n"))?;
    let answer = venv.python(SCRIPT).with(&[&file.to_string_lossy()]).read();
    fs::remove_file(&file)?;
    let lines: Vec<String> = answer?.lines().map(str::to_owned).collect();
    if lines.len() == texts.len() {
        return Ok(lines);
    }
    Err(Failure(format!("{SCRIPT}: {} answers to {} texts", lines.len(), texts.len())))
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let heads = ["right", "refused", "wrong"];
        let [right, refused, wrong] = heads;
        writeln!(
            formatter,
            "\n{:<10} {:<34} {:>6} {right:>7} {refused:>7} {wrong:>7}   json_repair: {right:>6} {refused:>7} {wrong:>7}",
            "kind", "operator", "cases"
        )?;
        let mut sums: BTreeMap<&str, [Count; 2]> = BTreeMap::new();
        for ((kind, operator), counts) in &self.0 {
            row(formatter, kind, operator, *counts)?;
            for (sum, count) in sums.entry(kind).or_default().iter_mut().zip(counts) {
                sum.merge(*count);
            }
        }
        for (kind, counts) in sums {
            row(formatter, kind, "all", counts)?;
        }
        writeln!(formatter)
    }
}

fn row(
    formatter: &mut fmt::Formatter<'_>,
    kind: &str,
    operator: &str,
    [ours, theirs]: [Count; 2],
) -> fmt::Result {
    writeln!(
        formatter,
        "{kind:<10} {operator:<34} {:>6} {:>7} {:>7} {:>7}                {:>6} {:>7} {:>7}",
        ours.cases,
        ours.right,
        ours.refused,
        ours.wrong,
        theirs.right,
        theirs.refused,
        theirs.wrong
    )
}
