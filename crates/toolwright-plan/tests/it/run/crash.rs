//! Random plans whose process is killed at random moments, and continued by the next one. The effects of the tools are
//! lines in a file, so that they are counted outside of the processes.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use toolwright_core::{Json, object};
use toolwright_plan::journal::{EntryEvent, SqlitePlanJournal};
use toolwright_plan::{Engine, LocalEngine, NewRun, Plan, PlanEvent, RunReport, StepAnswer};
use toolwright_testing::process::{self, Player};

use super::generate::{self, Random};
use super::random::compare;
use super::tools::{Log, place, toolbox};
use super::{json, reference};

/// Minimum number of kills.
const KILLS: usize = 120;
/// The longest time that a tool takes before and after its effect.
const PACE: Duration = Duration::from_millis(3);

/// Case 44.
#[test]
fn killed_processes_leave_runs_that_end_like_the_sequential_reference() {
    if let Some(role) = process::role() {
        let [journal, run, effects] = &role[..] else { panic!("no such role: {role:?}") };
        drive(Path::new(journal), run, Path::new(effects));
        process::leave();
    }
    let (mut kills, mut uncertain, mut repeated, mut seed) = (0, 0, 0, 0);
    while kills < KILLS {
        let mut trial = Trial::new(seed);
        let report = trial.run();
        trial.check(&report);
        kills += trial.kills;
        uncertain += trial.answered.len();
        repeated += trial.log.counts("start").values().filter(|count| **count > 1).count();
        seed += 1;
    }
    println!("{seed} plans, {kills} kills, {uncertain} uncertain calls, {repeated} repeated calls");
    assert!(uncertain > 0 && repeated > 0, "kills hit calls in progress");
}

/// Continues a run, and prints what happens.
fn drive(journal: &Path, run: &str, effects: &Path) {
    let log: Arc<dyn Log> = Arc::new(FileLog::open(effects, true));
    let journal = Arc::new(SqlitePlanJournal::open(journal).unwrap());
    let engine = LocalEngine::new(toolbox(&log, PACE)).with_journal(journal);
    let observer = |event: &PlanEvent| process::say(event.name());
    let driven = Runtime::new().unwrap().block_on(engine.drive(run, Some(Arc::new(observer))));
    driven.unwrap();
    process::say("end");
}

/// A file with a line for each start and for each effect of a call.
struct FileLog {
    path: PathBuf,
    file: Mutex<File>,
    /// Whether effects are printed
    is_loud: bool,
}

impl FileLog {
    fn open(path: &Path, is_loud: bool) -> FileLog {
        let file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        FileLog { path: path.to_owned(), file: Mutex::new(file), is_loud }
    }

    fn lines(&self) -> Vec<Json> {
        fs::read_to_string(&self.path).unwrap().lines().map(json).collect()
    }

    /// The number of lines of a kind, by call.
    fn counts(&self, kind: &str) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for line in self.lines() {
            if let Some(place) = line.get(kind).and_then(Json::as_str) {
                *counts.entry(place.to_owned()).or_default() += 1;
            }
        }
        counts
    }
}

impl Log for FileLog {
    fn start(&self, place: &str, key: &str) -> u64 {
        let mut file = self.file.lock().unwrap();
        let earlier = self.counts("start").get(place).copied().unwrap_or(0);
        file.write_all(format!("{}\n", object! {"start": place, "key": key}.compact()).as_bytes())
            .unwrap();
        earlier
    }

    fn effect(&self, place: &str, key: &str, result: &Result<Json, String>) {
        let mut line = object! {"effect": place, "key": key};
        match result {
            Ok(output) => line.insert("output", output.clone()),
            Err(error) => line.insert("error", error.as_str()),
        }
        self.file.lock().unwrap().write_all(format!("{}\n", line.compact()).as_bytes()).unwrap();
        if self.is_loud {
            process::say("effect");
        }
    }
}

/// A plan that runs in processes that are killed.
struct Trial {
    random: Random,
    folder: tempfile::TempDir,
    runtime: Runtime,
    log: Arc<FileLog>,
    document: Json,
    kills: usize,
    answered: Vec<String>,
    /// The number of starts of each call with a result, when the result was first seen
    finished: HashMap<String, u64>,
}

impl Trial {
    fn new(seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let document = generate::plan(&mut random, false);
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(FileLog::open(&folder.path().join("effects"), false));
        let runtime = Runtime::new().unwrap();
        let (answered, finished) = (Vec::new(), HashMap::new());
        Trial { random, folder, runtime, log, document, kills: 0, answered, finished }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("plans.sqlite")
    }

    /// An engine of this process, which makes no calls.
    fn engine(&self) -> LocalEngine {
        let log: Arc<dyn Log> = self.log.clone();
        let journal = Arc::new(SqlitePlanJournal::open(self.journal()).unwrap());
        LocalEngine::new(toolbox(&log, PACE)).with_journal(journal)
    }

    /// Runs the plan to its end.
    fn run(&mut self) -> RunReport {
        let plan = Plan::parse(&self.document).unwrap();
        let start = NewRun::new(plan, generate::inputs());
        let run = self.runtime.block_on(self.engine().start(start)).unwrap();
        let mut left = 4;
        for _ in 0..50 {
            let is_killed = left > 0;
            self.process(&run, is_killed);
            left -= usize::from(is_killed);
            let engine = self.engine();
            self.note_finished(&engine, &run);
            let report = self.runtime.block_on(engine.report(&run)).unwrap();
            if report.status().is_final() {
                return report;
            }
            self.answer(&engine, &report);
        }
        panic!("the run does not end\n{}", self.document.pretty());
    }

    /// Drives the run in another process, which may be killed.
    fn process(&mut self, run: &str, is_killed: bool) {
        let test = "run::crash::killed_processes_leave_runs_that_end_like_the_sequential_reference";
        let (journal, effects) = (self.journal(), self.folder.path().join("effects"));
        let mut player =
            Player::start(test, &[journal.to_str().unwrap(), run, effects.to_str().unwrap()]);
        if !is_killed {
            assert_eq!(player.end().last().unwrap(), "end");
            return;
        }
        let (lines, delay) =
            (self.random.below(16), Duration::from_micros(self.random.below(3_000)));
        for _ in 0..lines {
            if player.next().is_none_or(|line| line == "end") {
                return;
            }
        }
        let start = Instant::now();
        while start.elapsed() < delay {
            std::hint::spin_loop();
        }
        player.kill();
        self.kills += usize::from(player.rest().last().is_none_or(|line| line != "end"));
    }

    /// Remembers how often calls had started when their results were first seen.
    fn note_finished(&mut self, engine: &LocalEngine, run: &str) {
        let (_, entries) = self.runtime.block_on(engine.journal().load(run)).unwrap();
        let starts = self.log.counts("start");
        for entry in entries {
            if matches!(entry.event, EntryEvent::Succeeded { .. } | EntryEvent::Failed { .. }) {
                let place = place(&entry.step, entry.item);
                let count = starts.get(&place).copied().unwrap_or(0);
                self.finished.entry(place).or_insert(count);
            }
        }
    }

    /// Answers the questions of a run by what really happened.
    fn answer(&mut self, engine: &LocalEngine, report: &RunReport) {
        for question in &report.questions {
            let place = place(&question.step, question.item);
            let lines = self.log.lines();
            let effect =
                lines.iter().find(|line| line.get("effect").and_then(Json::as_str) == Some(&place));
            let output = |line: &Json| match line.get("output") {
                Some(output) => StepAnswer::Output(Arc::new(output.clone())),
                None => StepAnswer::Reject("it failed".to_owned()),
            };
            let answer = effect.map_or(StepAnswer::Approve, output);
            let outer = question.step.split(['#', '/']).next().unwrap();
            self.answered.push(outer.to_owned());
            let (step, item) = (question.step.as_str(), question.item);
            self.runtime.block_on(engine.answer(&report.run.id, step, item, answer)).unwrap();
        }
    }

    fn check(&self, report: &RunReport) {
        let expected = reference::run(&self.document, &generate::inputs());
        compare(&self.document, &expected, report, &self.answered);
        let starts = self.log.counts("start");
        for (place, count) in &self.finished {
            let now = starts.get(place).copied().unwrap_or(0);
            assert_eq!(now, *count, "{place} ran again, and it has a result");
        }
        let mut keys = HashMap::new();
        for line in self.log.lines() {
            let member = |name| line.get(name).and_then(Json::as_str).map(str::to_owned);
            let place = member("start").or(member("effect")).unwrap();
            let key = member("key").unwrap();
            assert_eq!(*keys.entry(place.clone()).or_insert(key.clone()), key, "{place}");
        }
        for (place, count) in self.log.counts("effect") {
            let step = place.split(' ').next().unwrap();
            let once = reference::is_once(&self.document, step);
            assert!(!once || count == 1, "{place} had its effect {count} times");
        }
    }
}
