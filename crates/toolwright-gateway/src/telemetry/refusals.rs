//! Refusals of requests without a valid key: anyone can cause them, so the ledger has one entry for all of a minute
//! with the same reason, with their number.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolwright_core::FaultClass;
use toolwright_runtime::ledger::ExchangeEntry;

use super::Records;

/// The time that one entry covers.
const INTERVAL: Duration = Duration::from_mins(1);

/// Refusals that are not in the ledger yet, by their reason: the time and the entry of the first.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<Option<FaultClass>, (Instant, ExchangeEntry)>>);

impl Refusals {
    /// Counts a refusal.
    pub(super) fn add(&self, entry: ExchangeEntry, now: Instant) {
        let mut waiting = self.0.lock();
        let counted =
            waiting.entry(entry.error).or_insert((now, ExchangeEntry { count: 0, ..entry }));
        counted.1.count += 1;
    }

    /// Records the entries whose minute is over, or all.
    pub(super) fn record(&self, now: Option<Instant>, records: &Records) {
        self.take(now).into_iter().for_each(|entry| records.record(entry));
    }

    fn take(&self, now: Option<Instant>) -> Vec<ExchangeEntry> {
        let mut waiting = self.0.lock();
        let is_over = |began: Instant| now.is_none_or(|now| now.duration_since(began) >= INTERVAL);
        let over = waiting.extract_if(|_, (began, _)| is_over(*began));
        over.map(|(_, (_, entry))| entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use toolwright_core::Dialect;
    use toolwright_runtime::Caller;

    use super::*;
    use crate::telemetry::{ExchangeRecord, ledger};

    #[test]
    fn a_minute_of_refusals_is_one_entry_for_each_reason() {
        let refusals = Refusals::default();
        let start = Instant::now();
        let add = |fault, now| {
            let mut record =
                ExchangeRecord::new(Dialect::OpenaiChat, "chat", Caller::new("nobody"));
            record.fault = Some(fault);
            refusals.add(ledger::entry(&mut record), now);
        };
        for second in 0..100 {
            add(FaultClass::Unauthenticated, start + Duration::from_millis(second * 500));
        }
        add(FaultClass::Forbidden, start + Duration::from_secs(30));
        assert!(refusals.take(Some(start + Duration::from_secs(59))).is_empty());
        let counts = |entries: Vec<ExchangeEntry>| {
            entries.iter().map(|entry| (entry.error, entry.count)).collect::<Vec<_>>()
        };
        let over = refusals.take(Some(start + Duration::from_mins(1)));
        assert_eq!(counts(over), [(Some(FaultClass::Unauthenticated), 100)]);
        add(FaultClass::Unauthenticated, start + Duration::from_secs(61));
        let mut rest = counts(refusals.take(None));
        rest.sort_by_key(|(_, count)| *count);
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert!(rest.iter().all(|(_, count)| *count == 1), "{rest:?}");
    }
}
