//! Figures of a function, from the calls in the ledger.

use std::path::Path;
use std::time::Duration;

use toolwright_catalog::tool_name;
use toolwright_core::json::Object;
use toolwright_core::object;
use toolwright_gateway::telemetry::ledger::FILE;
use toolwright_gateway::terminal::counted;
use toolwright_runtime::CallErrorKind;
use toolwright_runtime::ledger::{CallEntry, Kind, LedgerFile, Query, ResultSource};

use crate::exit::{self, Result};

/// Number of entries that are read at a time.
const PAGE_ENTRIES: usize = 10_000;

/// Maximum number of calls that are counted, the newest.
const MAX_CALLS: usize = 100_000;

/// How often a function was called, in any version, and how long that took.
#[derive(Default)]
pub(super) struct Figures {
    calls: usize,
    errors: usize,
    /// Durations of the calls that ran, sorted
    durations: Vec<Duration>,
    /// Whether there are earlier calls, which are not counted
    has_earlier: bool,
}

impl Figures {
    /// Reads the figures from the ledger of a data folder; none if there is no ledger.
    pub(super) fn read(data: &Path, prefab: &str, function: &str) -> Result<Option<Figures>> {
        let file = data.join(FILE);
        if !file.exists() {
            return Ok(None);
        }
        let ledger = LedgerFile::open(file).map_err(exit::failed)?;
        let mut figures = Figures::default();
        let query = Query::new().with_kind(Kind::Call).with_tool(tool_name(prefab, function));
        let mut query = query.newest_first().with_limit(PAGE_ENTRIES);
        loop {
            let page = ledger.entries(&query);
            let page = page.map_err(exit::failed)?;
            for call in page.iter().filter_map(|found| found.entry.as_call()) {
                figures.add(call, MAX_CALLS);
            }
            match page.last() {
                Some(last) if page.len() == PAGE_ENTRIES && !figures.has_earlier => {
                    query.after = Some(last.sequence);
                }
                _ => break,
            }
        }
        figures.durations.sort_unstable();
        Ok(Some(figures))
    }

    /// Counts a call, unless there are as many already.
    fn add(&mut self, call: &CallEntry, max_calls: usize) {
        // A call that waits for approval has no result yet.
        let Some(source) = call.source else { return };
        if call.error == Some(CallErrorKind::UnknownTool) {
            return;
        }
        if self.calls == max_calls {
            self.has_earlier = true;
            return;
        }
        self.calls += 1;
        self.errors += usize::from(call.error.is_some());
        if source == ResultSource::Executed {
            self.durations.push(call.duration);
        }
    }

    /// The duration that this share of the calls, in percent, did not exceed.
    fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.durations.len() * percent).div_ceil(100);
        self.durations.get(rank.checked_sub(1)?).copied()
    }

    /// Returns the figures as one line.
    pub(super) fn line(&self) -> String {
        let newest = if self.has_earlier { "the newest " } else { "" };
        let calls = counted(self.calls, "call", "calls");
        let errors = counted(self.errors, "error", "errors");
        let line = format!("{newest}{calls}, {errors}");
        match (self.percentile(50), self.percentile(99)) {
            (Some(p50), Some(p99)) => {
                let (p50, p99) = (millis(p50), millis(p99));
                format!("{line}, latency p50 {p50:.1} ms, p99 {p99:.1} ms")
            }
            _ => line,
        }
    }

    /// Returns the figures as a document. `has_earlier` says that there are calls before those that are counted.
    pub(super) fn document(&self) -> Object {
        object! {
            "has_earlier": self.has_earlier,
            "calls": self.calls,
            "errors": self.errors,
            "latency_p50_ms": self.percentile(50).map(millis),
            "latency_p99_ms": self.percentile(99).map(millis),
        }
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use toolwright_runtime::Caller;

    use super::*;

    #[test]
    fn percentiles_are_durations_of_calls() {
        let durations = (1..=200).map(Duration::from_millis).collect();
        let figures = Figures { calls: 201, errors: 2, durations, has_earlier: false };
        let line = "201 calls, 2 errors, latency p50 100.0 ms, p99 198.0 ms";
        assert_eq!(figures.line(), line);
        assert_eq!(Figures::default().line(), "0 calls, 0 errors");
    }

    #[test]
    fn figures_of_the_newest_calls_say_so() {
        let call = CallEntry {
            time: SystemTime::now(),
            run: "run".into(),
            caller: Caller::new("alice"),
            call_id: "call_1".into(),
            parent: None,
            tool: "weather-prefab/forecast".into(),
            key: None,
            error: None,
            source: Some(ResultSource::Cached),
            attempts: 1,
            duration: Duration::ZERO,
            changes: Vec::new(),
            losses: Vec::new(),
            data: None,
        };
        let mut figures = Figures::default();
        for (added, line) in [(2, "2 calls, 0 errors"), (1, "the newest 2 calls, 0 errors")] {
            (0..added).for_each(|_| figures.add(&call, 2));
            assert_eq!(figures.line(), line);
            assert_eq!(figures.document().get("has_earlier"), Some(&(added == 1).into()));
        }
    }
}
