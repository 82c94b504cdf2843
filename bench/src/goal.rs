//! Goals of a measurement, with the measured values.

use crate::table::{Table, figure};

/// A goal and the measured value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Goal {
    /// The name of the figure
    pub(crate) what: String,
    /// Its unit
    pub(crate) unit: &'static str,
    /// The maximum
    pub(crate) most: f64,
    /// The measured value
    pub(crate) reached: f64,
}

impl Goal {
    /// Creates a goal.
    pub(crate) fn new(what: &str, unit: &'static str, most: f64, reached: f64) -> Goal {
        Goal { what: what.to_owned(), unit, most, reached }
    }

    /// Whether the goal was met. An unmeasured goal was not met.
    pub(crate) fn is_met(&self) -> bool {
        self.reached <= self.most
    }

    /// By how much it was met or missed, as a fraction of the goal.
    pub(crate) fn margin(&self) -> f64 {
        (self.reached - self.most) / self.most
    }
}

/// Prints the goals.
pub(crate) fn print(goals: &[Goal]) {
    if goals.is_empty() {
        return;
    }
    println!("\ngoals");
    let mut table = Table::new(1, &["goal", "at most", "reached", "", "", "by"]);
    for goal in goals {
        let word = if goal.is_met() { "met" } else { "MISSED" };
        table.row(vec![
            goal.what.clone(),
            figure(goal.most),
            figure(goal.reached),
            goal.unit.into(),
            word.into(),
            format!("{:.0} %", goal.margin().abs() * 100.0),
        ]);
    }
    table.print();
    let met = goals.iter().filter(|goal| goal.is_met()).count();
    println!("{met} of {} goals met", goals.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_reports_its_margin() {
        let goal = |reached| Goal { what: "memory".into(), unit: "MB", most: 40.0, reached };
        assert!(goal(30.0).is_met());
        assert!(!goal(50.0).is_met());
        assert_eq!((goal(50.0).margin() * 100.0) as i64, 25);
        assert!(!goal(f64::NAN).is_met());
    }
}
