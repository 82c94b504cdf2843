//! The figures by file, kind, operator and mode, and whether the goals are met.

use std::collections::BTreeMap;
use std::fmt;

use super::Mode;
use super::case::{Case, Kind, Verdict};

/// The number of cases by verdict.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) cases: u32,
    pub(super) right: u32,
    pub(super) refused: u32,
    pub(super) wrong: u32,
}

impl Count {
    pub(super) fn add(&mut self, verdict: Verdict) {
        self.cases += 1;
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Refused => self.refused += 1,
            Verdict::Wrong => self.wrong += 1,
        }
    }

    pub(super) fn merge(&mut self, other: Count) {
        self.cases += other.cases;
        self.right += other.right;
        self.refused += other.refused;
        self.wrong += other.wrong;
    }

    fn rate(self) -> f64 {
        100.0 * f64::from(self.right) / f64::from(self.cases.max(1))
    }

    fn wrong_rate(self) -> f64 {
        100.0 * f64::from(self.wrong) / f64::from(self.cases.max(1))
    }
}

/// The minimum share of right cases in percent.
fn goal(kind: Kind, mode: Mode) -> f64 {
    match (kind, mode) {
        (Kind::Valid | Kind::Invalid | Kind::Control, _) => 100.0,
        (Kind::Coercible, Mode::Lenient) => 98.0,
        (Kind::Coercible, Mode::Plain) | (Kind::Slip, _) => 0.0,
        (Kind::Malformed, _) => 95.0,
        (Kind::Keep, _) => 97.0,
    }
}

/// The maximum share of silently wrong cases in percent.
fn allowance(kind: Kind) -> f64 {
    if kind == Kind::Slip { 1.0 } else { 0.0 }
}

/// The mode in which the operators of a kind are counted.
fn shown_mode(kind: Kind) -> Mode {
    if kind == Kind::Coercible { Mode::Lenient } else { Mode::Plain }
}

/// All figures.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By file and kind; the operators in the mode of the kind's goal
    operators: BTreeMap<(Kind, String), Count>,
    kinds: BTreeMap<(Mode, Kind), Count>,
    files: BTreeMap<Kind, &'static str>,
}

impl Table {
    pub(crate) fn add(&mut self, case: &Case, mode: Mode, verdict: Verdict) {
        self.files.insert(case.kind, case.file);
        self.kinds.entry((mode, case.kind)).or_default().add(verdict);
        if mode == shown_mode(case.kind) && !case.operator.is_empty() {
            let key = (case.kind, case.operator.clone());
            self.operators.entry(key).or_default().add(verdict);
        }
    }

    /// The goals that are not met.
    pub(crate) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for ((mode, kind), count) in &self.kinds {
            let name = format!("{} ({})", kind.word(), mode.word());
            let (rate, goal) = (count.rate(), goal(*kind, *mode));
            if rate < goal {
                missed.push(format!("{name} {rate:.1} % of {goal} %"));
            }
            if count.wrong_rate() > allowance(*kind) {
                missed.push(format!("{name} {} silently wrong", count.wrong));
            }
        }
        missed
    }

    fn row(
        &self,
        formatter: &mut fmt::Formatter<'_>,
        (kind, operator, mode): (Kind, &str, &str),
        count: Count,
    ) -> fmt::Result {
        let Count { cases, right, refused, wrong } = count;
        let file = self.files.get(&kind).copied().unwrap_or_default();
        writeln!(
            formatter,
            "{file:<10} {:<10} {operator:<34} {mode:<8} {cases:>6} {right:>6} {refused:>8} {wrong:>6} {:>7.1} %",
            kind.word(),
            count.rate()
        )
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<10} {:<10} {:<34} {:<8} {:>6} {:>6} {:>8} {:>6} {:>9}",
            "file", "kind", "operator", "mode", "cases", "right", "refused", "wrong", "rate"
        )?;
        for ((kind, operator), count) in &self.operators {
            self.row(formatter, (*kind, operator, shown_mode(*kind).word()), *count)?;
        }
        writeln!(formatter)?;
        for ((mode, kind), count) in &self.kinds {
            self.row(formatter, (*kind, "all", mode.word()), *count)?;
        }
        Ok(())
    }
}
