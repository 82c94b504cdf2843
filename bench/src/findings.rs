//! The checks after a run, printed as a table.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::process::{Child, get};
use crate::table::Table;

/// Time for requests in flight to end, and for batched writes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Checks in order.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<(&'static str, bool, String)>);

impl Findings {
    /// Adds a check.
    pub(crate) fn add(&mut self, what: &'static str, fine: bool, detail: String) {
        self.0.push((what, fine, detail));
    }

    /// Adds a check that nothing was found, with the first few findings.
    pub(crate) fn add_none(&mut self, what: &'static str, count: u64, found: &[String], of: &str) {
        let mut detail = format!("{count} {of}");
        for one in found.iter().take(10) {
            let _ = write!(detail, "\n    {one}");
        }
        self.add(what, count == 0, detail);
    }

    /// Checks that the gateway has no request in flight.
    pub(crate) fn nothing_under_way(&mut self, gateway: SocketAddr) {
        let gauge = || metric(&get(gateway, "/metrics").ok()?, "toolwright_requests_in_flight");
        let last = until(PATIENCE, gauge, |number| *number == Some(0.0));
        self.add("nothing is under way", last == Some(0.0), format!("gauge at {last:?}"));
    }

    /// Checks that the gateway has no more open files than when it was idle.
    pub(crate) fn files(&mut self, gateway: &Child, idle: usize) {
        let last = until(PATIENCE, || gateway.files(), |files| *files <= idle);
        let detail = format!("{last}, idle {idle}");
        self.add("no file or socket is left open", last <= idle, detail);
    }

    /// Checks that the memory of the gateway did not grow.
    pub(crate) fn memory(&mut self, gateway: &Child, (early, late): (f64, f64)) {
        let now = gateway.resident();
        let detail =
            format!("{early:.1} MB after warm-up, {late:.1} MB at the end, {now:.1} MB now");
        self.add("memory stays level", late <= early * 1.25 + 16.0, detail);
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
