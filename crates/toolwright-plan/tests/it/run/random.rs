//! Random plans whose engine crashes at random points: at any write to the journal, before or after it is recorded. The
//! result is that of the sequential reference.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use toolwright_core::Json;
use toolwright_plan::journal::{
    Entry, EntryEvent, MemoryPlanJournal, PlanJournal, PlanJournalError, PlanJournalFuture,
    Question, RunClaim, RunFilter, RunQuota, RunRecord, RunSummary,
};
use toolwright_plan::{Engine, LocalEngine, NewRun, Plan, RunReport, RunStatus, StepAnswer};
use toolwright_runtime::Toolbox;
use toolwright_runtime::handle::MemoryHandles;

use super::generate::{self, Random};
use super::reference::{self, Ended, Expected};
use super::tools::{Log, place, toolbox};

/// Minimum number of crashes.
const CRASHES: usize = 1_200;

/// Case 44.
#[test]
fn random_plans_with_crashes_end_like_the_sequential_reference() {
    let world: Arc<World> = Arc::default();
    let log: Arc<dyn Log> = world.clone();
    let toolbox = toolbox(&log, Duration::from_millis(8));
    let (mut crashes, mut plans, mut asked) = (BTreeMap::<Fault, usize>::new(), 0, 0);
    let mut states = HashMap::<&str, usize>::new();
    while crashes.values().sum::<usize>() < CRASHES {
        let seed = Seed(plans);
        let mut trial = Trial::new(seed.0, &world, &toolbox);
        let report = trial.run(&mut crashes);
        trial.check(&report);
        for step in &report.steps {
            *states.entry(step.status.state.as_str()).or_default() += 1;
        }
        asked += trial.answered.len();
        plans += 1;
    }
    println!("{plans} plans, crashes {crashes:?}, {asked} uncertain calls, steps {states:?}");
    assert!(states.len() == 4 && states.values().all(|count| *count > 100), "{states:?}");
    assert!(crashes.len() == Fault::ALL.len() && asked > 100, "{crashes:?}, {asked}");
}

/// Prints the seed of a plan that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(writeln!(std::io::stderr(), "seed {}", self.0));
        }
    }
}

/// What happens at a write to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// The process ends before the entry is recorded
    KilledBefore,
    /// The process ends after the entry is recorded
    KilledAfter,
    /// The drive is dropped before the entry is recorded, and the process goes on
    DroppedBefore,
    /// The drive is dropped after the entry is recorded, and the process goes on
    DroppedAfter,
    /// This entry cannot be recorded
    Refused,
    /// Neither this entry nor any later one can be recorded
    Broken,
}

impl Fault {
    const ALL: [Fault; 6] = [
        Fault::KilledBefore,
        Fault::KilledAfter,
        Fault::DroppedBefore,
        Fault::DroppedAfter,
        Fault::Refused,
        Fault::Broken,
    ];
}

/// What really happened, outside of the engine.
#[derive(Default)]
struct World(Mutex<Facts>);

#[derive(Default)]
struct Facts {
    starts: HashMap<String, u64>,
    keys: HashMap<String, String>,
    /// The number of effects, and what the call returned
    effects: HashMap<String, (usize, Result<Json, String>)>,
    /// The calls whose results are recorded
    recorded: HashSet<String>,
    /// Calls that started although their results were recorded, or with another key
    wrong: Vec<String>,
}

impl Log for World {
    fn start(&self, place: &str, key: &str) -> u64 {
        let mut facts = self.0.lock().unwrap();
        if facts.recorded.contains(place) {
            facts.wrong.push(format!("{place} ran again, and it has a result"));
        }
        let known = facts.keys.entry(place.to_owned()).or_insert_with(|| key.to_owned());
        if known != key {
            facts.wrong.push(format!("{place} has another key"));
        }
        let starts = facts.starts.entry(place.to_owned()).or_default();
        *starts += 1;
        *starts - 1
    }

    fn effect(&self, place: &str, _: &str, result: &Result<Json, String>) {
        let mut facts = self.0.lock().unwrap();
        let entry = facts.effects.entry(place.to_owned()).or_insert((0, result.clone()));
        entry.0 += 1;
    }
}

/// A plan that runs with crashes.
struct Trial<'w> {
    random: Random,
    world: &'w Arc<World>,
    toolbox: Toolbox,
    document: Json,
    journal: Arc<MemoryPlanJournal>,
    runtime: Option<Runtime>,
    /// Steps with calls whose outcome was unknown, until a person answered
    answered: Vec<String>,
}

impl<'w> Trial<'w> {
    fn new(seed: u64, world: &'w Arc<World>, toolbox: &'w Toolbox) -> Trial<'w> {
        *world.0.lock().unwrap() = Facts::default();
        let mut random = Random::new(seed);
        let document = generate::plan(&mut random, true);
        Trial {
            random,
            world,
            toolbox: toolbox.clone(),
            document,
            journal: Arc::default(),
            runtime: None,
            answered: Vec::new(),
        }
    }

    /// Runs the plan to its end, with crashes on the way.
    fn run(&mut self, crashes: &mut BTreeMap<Fault, usize>) -> RunReport {
        let plan = Plan::parse(&self.document).unwrap();
        let engine = LocalEngine::new(self.toolbox.clone()).with_journal(self.journal.clone());
        let run = self.block_on(engine.start(NewRun::new(plan, generate::inputs())));
        let run = run.unwrap_or_else(|error| panic!("{error}\n{}", self.document.pretty()));
        let mut left = 1 + self.random.below(3);
        for _ in 0..100 {
            let fault = Fault::ALL[self.random.index(Fault::ALL.len())];
            let at = if left > 0 { self.random.below(7) } else { u64::MAX };
            match self.drive(&run, fault, at) {
                Some(report) if report.status().is_final() => {
                    let mut reported = self.block_on(engine.report(&run)).unwrap();
                    // Only a report on request has the arguments.
                    reported.steps.iter_mut().for_each(|step| step.input = None);
                    let (reported, driven) =
                        (Json::from(reported.to_json()), Json::from(report.to_json()));
                    assert_eq!(reported.pretty(), driven.pretty(), "the journal tells the same");
                    return report;
                }
                Some(report) => self.answer(&engine, &report),
                None => {
                    *crashes.entry(fault).or_default() += 1;
                    left -= 1;
                }
            }
        }
        panic!("the run does not end\n{}", self.document.pretty());
    }

    fn block_on<T>(&mut self, future: impl Future<Output = T>) -> T {
        // Time passes when there is nothing else to do.
        let runtime = self.runtime.get_or_insert_with(|| {
            Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
        });
        runtime.block_on(future)
    }

    /// Drives the run in a new engine. Returns nothing if there was a fault.
    fn drive(&mut self, run: &str, fault: Fault, at: u64) -> Option<RunReport> {
        let journal = Arc::new(FaultyJournal {
            inner: Arc::clone(&self.journal),
            world: Arc::clone(self.world),
            fault,
            at,
            writes: AtomicU64::new(0),
            crash: Notify::new(),
        });
        let engine = LocalEngine::new(self.toolbox.clone()).with_journal(journal.clone());
        let report = self.block_on(async {
            tokio::select! {
                biased;
                report = engine.drive(run, None) => Some(report),
                () = journal.crash.notified() => None,
            }
        });
        if matches!(fault, Fault::KilledBefore | Fault::KilledAfter) && report.is_none() {
            // The calls and the values in memory end with their process.
            drop(self.runtime.take());
            self.toolbox = self.toolbox.clone().with_handles(Arc::new(MemoryHandles::default()));
        }
        match report? {
            Ok(report) => Some(report),
            Err(error) => {
                let is_fault = matches!(fault, Fault::Refused | Fault::Broken);
                assert!(is_fault && journal.writes.load(Ordering::Relaxed) > at, "{error}");
                None
            }
        }
    }

    /// Answers the questions of a run by what really happened.
    fn answer(&mut self, engine: &LocalEngine, report: &RunReport) {
        assert!(!report.questions.is_empty(), "{}", Json::from(report.to_json()));
        // Calls of drives that were dropped are stopped.
        self.block_on(async { tokio::time::sleep(Duration::from_secs(5)).await });
        for question in &report.questions {
            if self.random.one_in(4) && report.questions.len() > 1 {
                continue;
            }
            let place = place(&question.step, question.item);
            let effect = self.world.0.lock().unwrap().effects.get(&place).cloned();
            let answer = match (&question.question, effect) {
                (Question::Uncertain, Some((_, Ok(output)))) => {
                    StepAnswer::Output(Arc::new(output))
                }
                (Question::Uncertain, Some((_, Err(error)))) => StepAnswer::Reject(error),
                _ => StepAnswer::Approve,
            };
            if question.question == Question::Uncertain {
                let outer = question.step.split(['#', '/']).next().unwrap();
                self.answered.push(outer.to_owned());
            }
            let (step, item) = (question.step.as_str(), question.item);
            self.block_on(engine.answer(&report.run.id, step, item, answer)).unwrap();
        }
    }

    fn check(&self, report: &RunReport) {
        let expected = reference::run(&self.document, &generate::inputs());
        compare(&self.document, &expected, report, &self.answered);
        let facts = self.world.0.lock().unwrap();
        assert_eq!(facts.wrong, Vec::<String>::new());
        for (place, (count, _)) in &facts.effects {
            let step = place.split(' ').next().unwrap();
            let once = reference::is_once(&self.document, step);
            assert!(
                !once || *count == 1,
                "{place} had its effect {count} times\n{}",
                self.document.pretty()
            );
        }
    }
}

/// Compares a report with what is expected. `answered` are the steps that a person may have rejected.
pub fn compare(document: &Json, expected: &Expected, report: &RunReport, answered: &[String]) {
    let show = || format!("{}\n{}", document.pretty(), Json::from(report.to_json()).pretty());
    for ((id, ended), step) in expected.steps.iter().zip(&report.steps) {
        assert_eq!((id, ended.state()), (&step.id, step.status.state), "{}", show());
        match ended {
            Ended::Succeeded(output) => {
                assert_eq!(Some(output), step.output.as_deref(), "{id}\n{}", show());
            }
            Ended::Failed { kind, item, .. } => {
                if !answered.contains(id) {
                    assert_eq!(Some(kind), step.error_kind.as_ref(), "{id}\n{}", show());
                }
                let prefix = item.map_or_else(String::new, |item| format!("item {item}: "));
                assert!(step.reason.as_ref().unwrap().starts_with(&prefix), "{id}\n{}", show());
            }
            _ => {}
        }
    }
    assert_eq!(expected.outputs, Json::from(report.outputs.clone()), "{}", show());
    let status = if expected.has_failed { RunStatus::Failed } else { RunStatus::Succeeded };
    assert_eq!(report.status(), status, "{}", show());
}

/// A journal with a fault at one of its writes.
pub(super) struct FaultyJournal {
    inner: Arc<MemoryPlanJournal>,
    world: Arc<World>,
    fault: Fault,
    /// The number of the write
    at: u64,
    writes: AtomicU64,
    crash: Notify,
}

impl FaultyJournal {
    /// A journal that can be written this many times.
    pub(super) fn until_full(inner: &Arc<MemoryPlanJournal>, writes: u64) -> FaultyJournal {
        FaultyJournal {
            inner: Arc::clone(inner),
            world: Arc::default(),
            fault: Fault::Broken,
            at: writes,
            writes: AtomicU64::new(0),
            crash: Notify::new(),
        }
    }

    async fn write(&self, run: &str, entry: Entry) -> Result<(), PlanJournalError> {
        let is_result =
            matches!(entry.event, EntryEvent::Succeeded { .. } | EntryEvent::Failed { .. });
        let place = place(&entry.step, entry.item);
        tokio::task::yield_now().await;
        self.inner.append(run, entry).await?;
        if is_result {
            self.world.0.lock().unwrap().recorded.insert(place);
        }
        tokio::task::yield_now().await;
        Ok(())
    }
}

impl PlanJournal for FaultyJournal {
    fn append<'a>(&'a self, run: &'a str, entry: Entry) -> PlanJournalFuture<'a, ()> {
        Box::pin(async move {
            let number = self.writes.fetch_add(1, Ordering::Relaxed);
            let is_fault = match self.fault {
                Fault::Broken => number >= self.at,
                _ => number == self.at,
            };
            if !is_fault {
                return self.write(run, entry).await;
            }
            match self.fault {
                Fault::Refused | Fault::Broken => {
                    return Err(PlanJournalError::Failed("the disk is full".to_owned()));
                }
                Fault::KilledAfter | Fault::DroppedAfter => self.write(run, entry).await?,
                Fault::KilledBefore | Fault::DroppedBefore => {}
            }
            self.crash.notify_one();
            std::future::pending().await
        })
    }

    fn create<'a>(
        &'a self,
        run: &'a RunRecord,
        entries: Vec<Entry>,
        quota: Option<RunQuota>,
    ) -> PlanJournalFuture<'a, ()> {
        self.inner.create(run, entries, quota)
    }

    fn claim<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, Box<dyn RunClaim>> {
        self.inner.claim(run)
    }

    fn set_status<'a>(
        &'a self,
        run: &'a str,
        status: RunStatus,
        ended_ms: Option<u64>,
    ) -> PlanJournalFuture<'a, ()> {
        self.inner.set_status(run, status, ended_ms)
    }

    fn load<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, (RunRecord, Vec<Entry>)> {
        self.inner.load(run)
    }

    fn weight<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, usize> {
        self.inner.weight(run)
    }

    fn summary<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, RunSummary> {
        self.inner.summary(run)
    }

    fn list<'a>(&'a self, filter: &'a RunFilter) -> PlanJournalFuture<'a, Vec<RunSummary>> {
        self.inner.list(filter)
    }

    fn delete<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, ()> {
        self.inner.delete(run)
    }

    fn prune(&self, ended_before_ms: u64) -> PlanJournalFuture<'_, usize> {
        self.inner.prune(ended_before_ms)
    }
}
