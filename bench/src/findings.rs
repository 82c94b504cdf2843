//! The checks after a run, printed as a table.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::table::Table;

/// Checks in order.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<(&'static str, bool, String)>);

impl Findings {
    /// Adds a check.
    pub(crate) fn add(&mut self, what: &'static str, fine: bool, detail: String) {
        self.0.push((what, fine, detail));
    }

    /// Prints the checks; fails if one of them failed.
    pub(crate) fn print(&self, log: &Path) -> Outcome {
        println!();
        let mut table = Table::new(3, &["check", "", ""]);
        for (what, fine, detail) in &self.0 {
            let word = if *fine { "ok" } else { "FAILED" };
            table.row(vec![(*what).into(), word.into(), detail.clone()]);
        }
        table.print();
        let bad = self.0.iter().filter(|(_, fine, _)| !fine).count();
        match bad {
            0 => Ok(()),
            bad => Err(Failure(format!("{bad} checks failed; see {}", log.display()))),
        }
    }
}

/// Reads until a value is as wanted, or a timeout; returns the last value.
pub(crate) fn until<T>(
    patience: Duration,
    mut read: impl FnMut() -> T,
    wanted: impl Fn(&T) -> bool,
) -> T {
    let begun = Instant::now();
    loop {
        let reading = read();
        if wanted(&reading) || begun.elapsed() > patience {
            return reading;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The sum of a metric over its labels.
pub(crate) fn metric(metrics: &str, name: &str) -> Option<f64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        if !rest.starts_with(['{', ' ']) {
            return None;
        }
        rest.rsplit(' ').next()?.parse::<f64>().ok()
    });
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels() {
        let text = "# HELP a words\na{x=\"1\"} 2\na{x=\"2\"} 3\nab 7\n";
        assert_eq!(metric(text, "a"), Some(5.0));
        assert_eq!(metric(text, "ab"), Some(7.0));
        assert_eq!(metric(text, "b"), None);
    }
}
