//! A journal in memory, which ends with the process.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::{
    Entry, EntryEvent, PlanJournal, PlanJournalError, PlanJournalFuture, RunClaim, RunFilter,
    RunQuota, RunRecord, RunStatus, RunSummary,
};

/// A journal in memory.
#[derive(Debug, Default)]
pub struct MemoryPlanJournal {
    runs: Mutex<BTreeMap<String, (RunRecord, Vec<Entry>)>>,
    claimed: Arc<Mutex<HashSet<String>>>,
}

impl MemoryPlanJournal {
    /// Creates an empty journal.
    pub fn new() -> MemoryPlanJournal {
        MemoryPlanJournal::default()
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, (RunRecord, Vec<Entry>)>> {
        self.runs.lock()
    }

    /// Returns the state of a run: nothing makes the calls of one that is not claimed.
    fn status(&self, run: &RunRecord) -> RunStatus {
        match run.status {
            RunStatus::Running if !self.claimed.lock().contains(&*run.id) => RunStatus::Interrupted,
            status => status,
        }
    }

    fn summarize(&self, run: &RunRecord) -> RunSummary {
        RunSummary { status: self.status(run), ..RunSummary::from(run) }
    }

    fn with<T>(
        &self,
        run: &str,
        act: impl FnOnce(&mut (RunRecord, Vec<Entry>)) -> T,
    ) -> Result<T, PlanJournalError> {
        let unknown = || PlanJournalError::UnknownRun(run.to_owned());
        self.runs().get_mut(run).map(act).ok_or_else(unknown)
    }
}

struct Claim(String, Arc<Mutex<HashSet<String>>>);

impl RunClaim for Claim {}

impl Drop for Claim {
    fn drop(&mut self) {
        self.1.lock().remove(&self.0);
    }
}

impl PlanJournal for MemoryPlanJournal {
    /// Runs in memory have no bytes.
    fn create<'a>(
        &'a self,
        run: &'a RunRecord,
        entries: Vec<Entry>,
        quota: Option<RunQuota>,
    ) -> PlanJournalFuture<'a, ()> {
        Box::pin(async move {
            let mut runs = self.runs();
            if runs.contains_key(&*run.id) {
                return Err(PlanJournalError::Exists(run.id.to_string()));
            }
            if let Some(quota) = quota {
                let tenant = &run.caller.tenant;
                let own = runs.values().filter(|(run, _)| run.caller.tenant == *tenant);
                let excess = (own.clone().count() + 1).saturating_sub(quota.runs);
                let ended = own.filter(|(run, _)| run.status.is_final());
                let mut ended: Vec<(u64, Arc<str>)> =
                    ended.map(|(run, _)| (run.created_ms, run.id.clone())).collect();
                ended.sort_unstable();
                let oldest = ended.get(..excess).ok_or(PlanJournalError::Full(quota))?;
                for (_, id) in oldest {
                    runs.remove(&**id);
                }
            }
            runs.insert(run.id.to_string(), (run.clone(), entries));
            Ok(())
        })
    }

    fn claim<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, Box<dyn RunClaim>> {
        Box::pin(async move {
            let is_new = self.claimed.lock().insert(run.to_owned());
            if !is_new {
                return Err(PlanJournalError::InProgress(run.to_owned()));
            }
            Ok(Box::new(Claim(run.to_owned(), Arc::clone(&self.claimed))) as Box<dyn RunClaim>)
        })
    }

    fn append<'a>(&'a self, run: &'a str, entry: Entry) -> PlanJournalFuture<'a, ()> {
        Box::pin(async move { self.with(run, |(_, entries)| entries.push(entry)) })
    }

    fn set_status<'a>(
        &'a self,
        run: &'a str,
        status: RunStatus,
        ended_ms: Option<u64>,
    ) -> PlanJournalFuture<'a, ()> {
        Box::pin(async move {
            self.with(run, |(record, _)| {
                record.status = status;
                record.ended_ms = ended_ms;
            })
        })
    }

    fn load<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, (RunRecord, Vec<Entry>)> {
        Box::pin(async move {
            let (mut record, entries) = self.with(run, |own| own.clone())?;
            record.status = self.status(&record);
            Ok((record, entries))
        })
    }

    fn weight<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, usize> {
        let weight = |entry: &Entry| match &entry.event {
            EntryEvent::Succeeded { output, .. } => output.weight(),
            _ => 0,
        };
        Box::pin(async move {
            self.with(run, |(record, entries)| {
                record.inputs.weight() + entries.iter().map(weight).sum::<usize>()
            })
        })
    }

    fn summary<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, RunSummary> {
        Box::pin(async move { self.with(run, |(record, _)| self.summarize(record)) })
    }

    fn list<'a>(&'a self, filter: &'a RunFilter) -> PlanJournalFuture<'a, Vec<RunSummary>> {
        Box::pin(async move {
            let runs = self.runs();
            let is_wanted = |run: &RunSummary| {
                filter.tenant.as_ref().is_none_or(|tenant| *tenant == run.caller.tenant)
                    && filter.status.is_none_or(|status| status == run.status)
                    && filter.before_ms.is_none_or(|before| {
                        (run.created_ms, &*run.id)
                            < (before, filter.before_id.as_deref().unwrap_or_default())
                    })
            };
            let summaries = runs.values().map(|(run, _)| self.summarize(run));
            let mut found: Vec<RunSummary> = summaries.filter(is_wanted).collect();
            found.sort_by(|one, other| {
                (other.created_ms, &other.id).cmp(&(one.created_ms, &one.id))
            });
            found.truncate(filter.limit.unwrap_or(usize::MAX));
            Ok(found)
        })
    }

    fn delete<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, ()> {
        self.runs().remove(run);
        Box::pin(async { Ok(()) })
    }

    fn prune(&self, ended_before_ms: u64) -> PlanJournalFuture<'_, usize> {
        let mut runs = self.runs();
        let before = runs.len();
        runs.retain(|_, (run, _)| {
            let ended_ms = run.ended_ms.filter(|_| run.status.is_final());
            ended_ms.is_none_or(|ended| ended >= ended_before_ms)
        });
        let removed = before - runs.len();
        Box::pin(async move { Ok(removed) })
    }
}
