//! A process that makes calls is killed repeatedly, at any point; the next one continues the same
//! run. A third process performs the effects, which are lines in a file, so that they are counted
//! outside of both.
//!
//! Half of the kills are aimed, most of those between an effect and its record: the caller stops at
//! a point and waits there to be killed. The others come some microseconds after an event. Where a
//! kill has hit is read from the journal and the file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;
use toolwright_core::object;
use toolwright_core::{Arguments, Call, Json, Tool};
use toolwright_runtime::call::journal::{
    Begun, Intent, Journal, JournalError, MemoryJournal, SharedJournal, SqliteJournal,
};
use toolwright_runtime::call::{CallStatus, Completeness};
use toolwright_runtime::toolbox::Toolbox;
use toolwright_runtime::{Effect, Handler, Output, Scope, Session, ToolError};

use toolwright_testing::process::{self, Player};

/// Calls of a run, in turns of several parallel calls.
const CALLS: usize = 6;
const AT_ONCE: usize = 3;
/// Minimum number of kills for each kind of tool.
const KILLS: usize = 100;
/// Minimum number of kills between an effect and its record.
const BETWEEN: usize = 60;
/// A timeout that no process reaches unless it hangs.
const HANG: Duration = Duration::from_mins(10);

#[test]
fn a_kill_repeats_no_effect_of_a_tool_that_honours_its_key() {
    play();
    let test = "crash::a_kill_repeats_no_effect_of_a_tool_that_honours_its_key";
    let mut trial = Trial::new("keyed", "file", test);
    let hits = trial.rounds(KILLS);
    for (key, lines) in trial.lines() {
        assert_eq!(lines, 1, "effects of {key}");
    }
    assert_eq!(trial.done, trial.calls, "every call succeeded in the end");
    assert_eq!(trial.uncertain, 0);
    assert!(trial.refused() > 0, "effects were asked for again, and their keys were known");
    println!("a tool that honours its key: {hits}");
    hits.check();
}

#[test]
fn a_kill_repeats_no_effect_of_any_other_tool_silently() {
    play();
    let test = "crash::a_kill_repeats_no_effect_of_any_other_tool_silently";
    let mut trial = Trial::new("naive", "file", test);
    let hits = trial.rounds(KILLS);
    for (key, lines) in trial.lines() {
        assert_eq!(lines, 1, "effects of {key}");
    }
    assert_eq!(trial.done + trial.uncertain, trial.calls);
    assert!(trial.uncertain > 0, "kills between begin and record leave doubt, and it is told");
    println!("any other tool: {hits}");
    hits.check();
}

/// Shows that the trials above can fail: with a journal in memory, effects are repeated, and the
/// test detects it.
#[test]
fn without_a_persistent_journal_effects_are_repeated() {
    play();
    let test = "crash::without_a_persistent_journal_effects_are_repeated";
    let trial = Trial::new("naive", "memory", test);
    for round in 0..5 {
        let run = format!("run {round}");
        let mut caller = trial.caller(&run, &Aim { point: "effected".to_owned(), nth: 1 });
        wait_for(&mut caller, |said| said == "held");
        caller.kill();
        drop(trial.caller(&run, &Aim::NOWHERE).end());
    }
    trial.wait_until_idle();
    let twice = trial.lines().values().filter(|lines| **lines > 1).count();
    assert!(twice >= 5, "{twice} effects were done twice");
}

/// Where a call was when its process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    BeforeBegin,
    BetweenBeginAndEffect,
    BetweenEffectAndRecord,
    AfterRecord,
}

impl Phase {
    const ALL: [Phase; 4] = [
        Phase::BeforeBegin,
        Phase::BetweenBeginAndEffect,
        Phase::BetweenEffectAndRecord,
        Phase::AfterRecord,
    ];
}

/// The number of calls in each phase when the first process of a run was killed, and the number of
/// kills that hit the phase.
#[derive(Default)]
struct Hits {
    calls: BTreeMap<Phase, usize>,
    kills: BTreeMap<Phase, usize>,
    late: usize,
}

impl Hits {
    fn add(&mut self, phases: &[Phase]) {
        for phase in phases {
            *self.calls.entry(*phase).or_default() += 1;
        }
        let mut once = phases.to_vec();
        once.sort_unstable();
        once.dedup();
        for phase in once {
            *self.kills.entry(phase).or_default() += 1;
        }
    }

    /// Asserts that every phase was hit, and the most important one often enough.
    fn check(&self) {
        for phase in Phase::ALL {
            assert!(self.kills.contains_key(&phase), "no kill has hit {phase:?}");
        }
        assert!(self.between() >= BETWEEN, "too few kills between effect and record");
    }

    /// The number of kills between an effect and its record.
    fn between(&self) -> usize {
        self.kills.get(&Phase::BetweenEffectAndRecord).copied().unwrap_or(0)
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hits { calls, kills, late } = self;
        write!(formatter, "calls under way {calls:?}, kills {kills:?}, {late} came late")
    }
}

/// Where a caller stops and waits to be killed.
struct Aim {
    point: String,
    nth: u32,
}

impl Aim {
    const NOWHERE: Aim = Aim { point: String::new(), nth: 0 };
}

/// How a caller is to be killed.
enum Kill {
    /// At the point where it has stopped
    Aimed(Aim),
    /// This long after it has printed this many lines
    Stray(usize, Duration),
}

/// A deterministic pseudorandom generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn kill(&mut self) -> Kill {
        if self.below(2) == 0 {
            // A run of six calls prints about two dozen lines.
            let (said, micros) = (self.below(24), self.below(2_000));
            return Kill::Stray(usize::try_from(said).unwrap(), Duration::from_micros(micros));
        }
        let point = match self.below(8) {
            0 => "intent",
            1 => "begun",
            2 => "recorded",
            _ => "effected",
        };
        let point = point.to_owned();
        let nth = u32::try_from(1 + self.below(CALLS as u64)).unwrap();
        Kill::Aimed(Aim { point, nth })
    }
}

/// One kind of tool with one kind of journal, killed many times.
struct Trial {
    folder: TempDir,
    /// Lives as long as the trial
    _server: Player,
    port: String,
    tool: &'static str,
    journal: &'static str,
    test: &'static str,
    calls: usize,
    done: usize,
    uncertain: usize,
}

impl Trial {
    fn new(tool: &'static str, journal: &'static str, test: &'static str) -> Trial {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("effects");
        let mut server = Player::start(test, &["effects", tool, file.to_str().unwrap()]);
        let port = server.next().expect("the server says its port");
        Trial {
            folder,
            _server: server,
            port,
            tool,
            journal,
            test,
            calls: 0,
            done: 0,
            uncertain: 0,
        }
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    fn caller(&self, run: &str, aim: &Aim) -> Player {
        let (journal, nth) = (self.journal_path(), aim.nth.to_string());
        let journal = if self.journal == "file" { journal.to_str().unwrap() } else { "" };
        Player::start(self.test, &["caller", self.tool, journal, &self.port, run, &aim.point, &nth])
    }

    /// Waits until the server has handled all requests, including those of killed processes.
    fn wait_until_idle(&self) {
        assert_eq!(ask(&self.port, "sync").unwrap(), "synced");
    }

    /// The number of requests for effects that had already happened.
    fn refused(&self) -> usize {
        ask(&self.port, "refused").unwrap().parse().unwrap()
    }

    /// The effects, by their keys.
    fn lines(&self) -> HashMap<String, usize> {
        let mut lines = HashMap::new();
        for key in fs::read_to_string(self.folder.path().join("effects")).unwrap().lines() {
            *lines.entry(key.to_owned()).or_default() += 1;
        }
        lines
    }

    /// Runs until there were enough kills. Each run is killed once, some twice, and then completes.
    fn rounds(&mut self, kills: usize) -> Hits {
        let mut dice = Dice(0x7001_0a1d_5eed_0001);
        let mut hits = Hits::default();
        let (mut killed, mut round) = (0, 0);
        while killed < kills || hits.between() < BETWEEN {
            let run = format!("run {round}");
            round += 1;
            assert!(round < 3 * kills, "too few kills have hit");
            let mut known = HashMap::new();
            for time in 0..=u64::from(dice.below(4) == 0) {
                let Some(phases) = self.kill(&run, dice.kill(), &mut known) else {
                    hits.late += 1;
                    continue;
                };
                killed += 1;
                // A second kill may find calls that the first one left.
                if time == 0 {
                    hits.add(&phases);
                }
            }
            self.finish(&run, known);
        }
        hits
    }

    /// Starts a caller and kills it. Returns the phases of the calls without a reported outcome;
    /// `None` if it had finished before.
    fn kill(&self, run: &str, kill: Kill, known: &mut Known) -> Option<Vec<Phase>> {
        let (aim, said, delay) = match kill {
            Kill::Aimed(aim) => (aim, usize::MAX, Duration::ZERO),
            Kill::Stray(said, delay) => (Aim::NOWHERE, said, delay),
        };
        let mut caller = self.caller(run, &aim);
        let mut heard = Vec::new();
        let mut at_end = false;
        while heard.len() < said && heard.last().is_none_or(|last| last != "held") {
            let Some(line) = caller.next() else {
                at_end = true;
                break;
            };
            heard.push(line);
        }
        let start = Instant::now();
        while start.elapsed() < delay {
            std::hint::spin_loop();
        }
        caller.kill();
        heard.extend(caller.rest());
        self.wait_until_idle();
        for line in &heard {
            learn(known, line);
        }
        (!at_end && known.len() < CALLS).then(|| self.phases(run, known))
    }

    /// The phases of the started calls of a run without a reported outcome.
    fn phases(&self, run: &str, known: &Known) -> Vec<Phase> {
        let lines = self.lines();
        let begun = self.begun(run);
        let next = (0..CALLS).filter(|call| !known.contains_key(call)).take(AT_ONCE);
        next.map(|call| match begun.get(&format!("call_{call}")) {
            None => Phase::BeforeBegin,
            Some((_, true)) => Phase::AfterRecord,
            Some((key, false)) if lines.contains_key(key) => Phase::BetweenEffectAndRecord,
            Some(_) => Phase::BetweenBeginAndEffect,
        })
        .collect()
    }

    /// The journal's entries of a run: for each call its key, and whether it is finished.
    fn begun(&self, run: &str) -> HashMap<String, (String, bool)> {
        if !self.journal_path().exists() {
            return HashMap::new();
        }
        let journal = Connection::open(self.journal_path()).unwrap();
        // Killed before it was created.
        let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'effect'";
        if journal.query_row(tables, [], |row| row.get::<_, u32>(0)).unwrap() == 0 {
            return HashMap::new();
        }
        let query = "SELECT call_id, key, finished IS NOT NULL FROM effect WHERE run = ?1";
        let mut query = journal.prepare(query).unwrap();
        let rows = query.query_map([run], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Completes a run, and compares its outcomes with the reported ones and with the effects.
    fn finish(&mut self, run: &str, known: Known) {
        let before = self.begun(run);
        let mut outcomes = HashMap::new();
        for line in self.caller(run, &Aim::NOWHERE).end() {
            learn(&mut outcomes, &line);
        }
        self.wait_until_idle();
        let (after, lines) = (self.begun(run), self.lines());
        assert_eq!(outcomes.len(), CALLS, "every call of {run} has an outcome");
        for (call, outcome) in known {
            assert_eq!(outcomes[&call], outcome, "what call {call} of {run} was told stays");
        }
        for (call, outcome) in outcomes {
            let id = format!("call_{call}");
            let effects = lines.get(&after[&id].0).copied().unwrap_or(0);
            let in_doubt = self.tool == "naive" && before.get(&id).is_some_and(|(_, done)| !done);
            let expected = if in_doubt { "uncertain" } else { "done" };
            assert_eq!(outcome, expected, "call {call} of {run}");
            if outcome == "done" {
                assert_eq!(effects, 1, "effects of call {call} of {run}");
                self.done += 1;
            } else {
                assert!(effects <= 1, "effects of call {call} of {run}");
                self.uncertain += 1;
            }
            self.calls += 1;
        }
    }
}

/// The outcomes of calls, by their numbers.
type Known = HashMap<usize, String>;

/// Records an outcome line; once reported, an outcome must not change.
fn learn(known: &mut Known, line: &str) {
    if let Some((call, outcome)) =
        line.strip_prefix("outcome ").and_then(|rest| rest.split_once(' '))
    {
        let earlier = known.insert(call.parse().unwrap(), outcome.to_owned());
        assert!(earlier.is_none_or(|earlier| earlier == outcome), "{line}");
    }
}

fn wait_for(player: &mut Player, is_it: impl Fn(&str) -> bool) {
    for line in player.by_ref() {
        if is_it(&line) {
            return;
        }
    }
    panic!("the caller ended before");
}

/// Plays the role that this process was started for, and exits.
fn play() {
    let Some(role) = process::role() else { return };
    std::thread::spawn(|| {
        std::thread::sleep(HANG);
        std::process::exit(3);
    });
    let role: Vec<&str> = role.iter().map(String::as_str).collect();
    match role[..] {
        ["effects", tool, file] => serve(tool, Path::new(file)),
        ["caller", tool, journal, port, run, point, nth] => {
            let aim = Aim { point: point.to_owned(), nth: nth.parse().unwrap() };
            make_calls(tool, journal, port, run, aim);
        }
        _ => panic!("no such role: {role:?}"),
    }
    process::leave()
}

/// Sends one request to the server.
fn ask(port: &str, question: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))?;
    writeln!(stream, "{question}")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}

/// Performs effects: appends a line with the key to a file, for a keyed tool once for each key.
/// Requests of killed processes are performed as well, in their order.
fn serve(tool: &str, file: &Path) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    process::say(&listener.local_addr().unwrap().port().to_string());
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    let (mut keys, mut refused) = (HashSet::new(), 0);
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut line = String::new();
        let read = BufReader::new(&stream).read_line(&mut line);
        // A truncated request is ignored.
        if read.is_err() || !line.ends_with('\n') {
            continue;
        }
        let answer = match line.trim_end() {
            "sync" => "synced".to_owned(),
            "refused" => refused.to_string(),
            key if tool == "keyed" && !keys.insert(key.to_owned()) => {
                refused += 1;
                "done before".to_owned()
            }
            key => {
                file.write_all(format!("{key}\n").as_bytes()).unwrap();
                "done now".to_owned()
            }
        };
        drop(writeln!(stream, "{answer}"));
    }
}

/// Makes all calls of a run and prints each outcome. A restarted process repeats calls that were
/// made before.
fn make_calls(tool: &str, journal: &str, port: &str, run: &str, aim: Aim) {
    let watch = Arc::new(Watch { aim, reached: AtomicU32::new(0) });
    let journal = match journal {
        "" => SharedJournal::new(Watched { inner: MemoryJournal::new(), watch: watch.clone() }),
        path => {
            let inner = SqliteJournal::open(path).unwrap();
            SharedJournal::new(Watched { inner, watch: watch.clone() })
        }
    };
    let effect = if tool == "keyed" { Effect::Keyed } else { Effect::Once };
    let schema = object! {"type": "object", "required": vec!["n"]};
    let port = port.to_owned();
    let append = move |scope: Scope, _| {
        let answer = ask(&port, &scope.key).map_err(ToolError::from)?;
        watch.reach("effected");
        Ok(Output::text(answer.split(' ').next().unwrap_or_default()))
    };
    let handler =
        Handler::blocking(Tool::function("append", schema.into()), append).with_effect(effect);
    let toolbox = Toolbox::new([handler]).unwrap().with_journal(journal);
    let session = Session::new(run);
    let calls: Vec<Call> = (0..CALLS)
        .map(|number| {
            let arguments = Json::from(object! {"n": number});
            Call::new(format!("call_{number}"), "append", Arguments::from_json(&arguments))
        })
        .collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for (turn, calls) in calls.chunks(AT_ONCE).enumerate() {
            let session = session.clone().with_turn(turn as u64);
            let called = toolbox.call_all(&session, calls, Completeness::Complete).await;
            for (at, called) in called.iter().enumerate() {
                process::say(&format!("outcome {} {}", turn * AT_ONCE + at, word(called)));
            }
        }
    });
}

/// The outcome of a call in one word.
fn word(called: &CallStatus) -> String {
    let done = called.result().expect("nobody is asked");
    match &done.error {
        Some(error) => error.kind.as_str().to_owned(),
        None => match &done.outcome.content[0].body {
            toolwright_core::part::Body::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        },
    }
}

/// Prints the progress of calls, and stops at the aimed point.
struct Watch {
    aim: Aim,
    reached: AtomicU32,
}

impl Watch {
    fn reach(&self, point: &str) {
        process::say(point);
        if point == self.aim.point
            && self.reached.fetch_add(1, Ordering::Relaxed) + 1 == self.aim.nth
        {
            process::say("held");
            loop {
                std::thread::park();
            }
        }
    }
}

/// A journal that reports its operations.
struct Watched<J> {
    inner: J,
    watch: Arc<Watch>,
}

impl<J: Journal> Journal for Watched<J> {
    async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        self.watch.reach("intent");
        let begun = self.inner.begin(intent).await;
        if let Ok(Begun::New | Begun::Unfinished(_)) = begun {
            self.watch.reach("begun");
        }
        begun
    }

    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        let finished = self.inner.finish(key, record).await;
        self.watch.reach("recorded");
        finished
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        self.inner.withdraw(key).await
    }

    async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
        self.inner.reopen(intent, record).await
    }
}
