//! The ledger of a running gateway, and the command that reads it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::{Dialect, FaultClass, Json};
use toolwright_gateway::Config;
use toolwright_gateway::telemetry::config::{LedgerSettings, OnFailure, TelemetrySettings};
use toolwright_gateway::telemetry::{Records, Telemetry};
use toolwright_runtime::Caller;
use toolwright_runtime::call::ResultSource;
use toolwright_runtime::ledger::{CallEntry, Overflow, SqliteLedger};

use crate::gateway::vendor::vendor;
use crate::gateway::{DATA, Gateway, Upstream, table, until};
use crate::run::toolwright;

const CHAT: &str = r#"{"model":"offline/rules","messages":[{"role":"user","content":"hello"}]}"#;

/// A ledger in a folder, with an exchange and a call of each client.
fn written(folder: &Path, clients: &[&str]) {
    let telemetry = Telemetry::open(folder, &TelemetrySettings::default()).unwrap();
    for client in clients {
        let caller = Caller::new(*client).with_tenant("acme");
        telemetry.begin(Dialect::OpenaiChat, "chat/completions", caller.clone()).finish();
        telemetry.records().shared().record(call(caller).into());
    }
}

fn call(caller: Caller) -> CallEntry {
    CallEntry {
        time: SystemTime::now(),
        run: format!("run of {}", caller.id).into(),
        caller,
        call_id: "call_1".into(),
        parent: None,
        tool: "read_csv".into(),
        key: None,
        error: None,
        source: None,
        attempts: 1,
        duration: Duration::from_micros(5),
        changes: Vec::new(),
        losses: Vec::new(),
        data: None,
    }
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let data = ["--data", folder.to_str().unwrap()];
    let ran = toolwright(&[&["ledger"], arguments, data.as_slice()].concat(), b"");
    (ran.code, ran.text(), ran.stderr)
}

#[test]
fn entries_are_filtered_by_options() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), &["alice", "bob"]);
    let (code, all, _) = run(folder.path(), &["show"]);
    assert_eq!((code, all.lines().count()), (0, 4), "{all}");
    let (_, shown, _) = run(folder.path(), &["show", "--caller", "bob", "--kind", "call"]);
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert!(shown.contains("bob call read_csv") && shown.contains("     4 "), "{shown}");
    let (_, shown, _) = run(folder.path(), &["show", "--run", "run of alice", "--json"]);
    let lines: Vec<Json> = shown.lines().map(|line| Json::parse(line).unwrap()).collect();
    let sequences: Vec<_> =
        lines.iter().map(|line| line.get("sequence").unwrap().compact()).collect();
    assert_eq!(sequences, ["2"]);
    let (_, shown, _) = run(folder.path(), &["show", "--limit", "1"]);
    assert!(shown.contains("     4 ") && shown.lines().count() == 1, "{shown}");
    let (_, shown, _) = run(folder.path(), &["show", "--after", "3", "--tool", "read_csv"]);
    assert_eq!(shown.lines().count(), 1, "{shown}");
}

#[test]
fn tail_prints_entries_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), &["alice"]);
    let mut tail = Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .args(["ledger", "tail", "--kind", "call", "--data", folder.path().to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("alice call read_csv"));
    written(folder.path(), &["bob"]);
    assert!(lines.next().unwrap().unwrap().contains("bob call read_csv"));
    tail.kill().unwrap();
    tail.wait().unwrap();
}

#[test]
fn verify_prints_the_head_and_finds_changes() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), &["alice"]);
    let (code, text, _) = run(folder.path(), &["verify"]);
    assert_eq!(code, 0);
    assert!(text.starts_with("2 entries, none changed\nhead 2:"), "{text}");
    let (_, text, _) = run(folder.path(), &["verify", "--json"]);
    let head = Json::parse(&text).unwrap().get("head").unwrap().as_str().unwrap().to_owned();
    assert_eq!(run(folder.path(), &["verify", "--against", &head]).0, 0);
    written(folder.path(), &["bob"]);
    let file = folder.path().join("ledger.sqlite");
    let mut bytes = std::fs::read(&file).unwrap();
    let places: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"alice")).collect();
    for at in places {
        bytes[at..at + 5].copy_from_slice(b"mallo");
    }
    std::fs::write(&file, bytes).unwrap();
    let (code, _, error) = run(folder.path(), &["verify"]);
    assert_eq!(code, 1);
    assert!(error.contains("tampered with at entry 1"), "{error}");
}

#[test]
fn a_missing_ledger_is_reported_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, error) = run(folder.path(), &["show"]);
    assert_eq!(code, 1);
    assert!(error.contains("ledger.sqlite") && error.contains("--data"), "{error}");
    assert!(!folder.path().join("ledger.sqlite").exists());
}

#[test]
fn a_killed_gateway_leaves_a_gap_that_the_next_one_reports() {
    let gateway = Gateway::start("");
    gateway.ask_json("/v1/chat/completions", CHAT).ok();
    let gateway = gateway.crash("");
    until("the gap in the log", || gateway.log().contains("the ledger has a gap").then_some(()));
    let (code, text, _) = run(&gateway.data(), &["verify"]);
    assert_eq!(code, 0);
    assert!(text.contains("a process ended without closing the ledger"), "{text}");
}

#[test]
fn a_ledger_that_was_deleted_while_no_gateway_ran_is_noticed_at_the_start() {
    let gateway = Gateway::start("");
    gateway.ask_json("/v1/chat/completions", CHAT).ok();
    let head = gateway.data().join("ledger.head");
    until("the head beside the ledger", || {
        std::fs::read_to_string(&head).ok().filter(|head| head.starts_with("1:"))
    });
    let gateway = gateway.crash_with("", |data| {
        for file in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
            let _gone = std::fs::remove_file(data.join(file));
        }
    });
    let lacks = "the ledger lacks entry 1";
    until("the loss in the log", || gateway.log().contains(lacks).then_some(()));
}

#[test]
fn a_deleted_ledger_turns_the_gateway_not_ready() {
    let gateway = Gateway::start("");
    assert_eq!(gateway.get("/readyz", &[]).status, 200);
    std::fs::remove_file(gateway.data().join("ledger.sqlite")).unwrap();
    let told = until("the gateway not ready", || {
        let answer = gateway.get("/readyz", &[]);
        (answer.status == 503).then(|| answer.text())
    });
    assert_eq!(told, "the ledger cannot be written\n");
    assert_eq!(gateway.get("/healthz", &[]).status, 200);
    let metrics = gateway.get("/metrics", &[]).ok().text();
    assert!(!metrics.contains("toolwright_ledger_write_failures_total 0"), "{metrics}");
    let log = until("the failure in the log", || {
        let log = gateway.log();
        log.contains("deleted or replaced while in use").then_some(log)
    });
    assert_eq!(log.matches("the ledger cannot be written").count(), 1, "{log}");
}

#[test]
fn a_full_disk_turns_the_gateway_not_ready_until_space_is_free() {
    let gateway = Gateway::start_on_disk(1024);
    gateway.ask_json("/v1/chat/completions", CHAT).ok();
    let data = gateway.root().join(gateway.data().strip_prefix("/").unwrap());
    let ballast = data.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    drop(file);
    let mut answered = 1;
    until("the gateway not ready", || {
        // Requests are answered whatever happens to the ledger.
        gateway.ask_json("/v1/chat/completions", CHAT).ok();
        answered += 1;
        (gateway.get("/readyz", &[]).status == 503).then_some(())
    });
    std::fs::remove_file(&ballast).unwrap();
    until("the gateway ready", || (gateway.get("/readyz", &[]).status == 200).then_some(()));
    // SQLite cannot open a file in the mount namespace of another process.
    let copy = tempfile::tempdir().unwrap();
    for file in ["ledger.sqlite", "ledger.sqlite-wal"] {
        std::fs::copy(data.join(file), copy.path().join(file)).unwrap();
    }
    let (code, verified, _) = run(copy.path(), &["verify", "--json"]);
    let entries = Json::parse(&verified).unwrap().get("entries").unwrap().compact();
    assert_eq!((code, entries), (0, answered.to_string()), "no entry is lost");
    let log = gateway.log();
    assert!(log.contains("the ledger cannot be written"), "{log}");
}

/// A telemetry whose ledger queue is always full.
fn without_room(folder: &Path, overflow: Overflow) -> Telemetry {
    let ledger = SqliteLedger::open(folder.join("ledger.sqlite")).unwrap();
    let ledger = ledger.with_backlog(0).with_overflow(overflow);
    let max_wait = Duration::from_millis(1);
    let settings = LedgerSettings { max_wait, ..LedgerSettings::default() };
    let settings = TelemetrySettings { ledger: settings, ..TelemetrySettings::default() };
    Telemetry::new(Records::File(Arc::new(ledger)), &settings)
}

#[tokio::test]
async fn a_request_waits_for_the_ledger_up_to_a_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let fault = without_room(folder.path(), Overflow::Wait).admit().await.unwrap_err();
    assert_eq!((fault.class, fault.status), (FaultClass::Overloaded, Some(503)));
    assert!(fault.message.contains("ledger"), "{}", fault.message);
}

#[tokio::test]
async fn a_gateway_may_continue_without_the_ledger_and_counts_missing_entries() {
    let folder = tempfile::tempdir().unwrap();
    let telemetry = without_room(folder.path(), Overflow::Drop);
    telemetry.admit().await.unwrap();
    telemetry.begin(Dialect::Anthropic, "messages", Caller::new("alice")).finish();
    let metrics = telemetry.prometheus(|_| true);
    assert!(metrics.contains("toolwright_ledger_entries_dropped_total 1"), "{metrics}");
}

#[test]
fn the_behaviour_on_a_ledger_failure_is_configurable() {
    let parse = |text: &str| Config::parse(text, Path::new(""), &|_| None);
    let config = parse("[ledger]\non_failure = \"continue\"\nmax_wait = \"10s\"").unwrap();
    assert_eq!(config.telemetry.ledger.on_failure, OnFailure::Continue);
    assert_eq!(config.telemetry.ledger.max_wait, Duration::from_secs(10));
    assert!(parse("[ledger]\non_failure = \"ignore\"").is_err());
}

/// A ledger with calls that began some days ago, of clients in turn.
fn aged(folder: &Path, days: &[u32], clients: &[&str]) {
    let telemetry = Telemetry::open(folder, &TelemetrySettings::default()).unwrap();
    for (days, client) in days.iter().zip(clients.iter().cycle()) {
        let time = SystemTime::now() - Duration::from_hours(24) * *days;
        let source = Some(ResultSource::Executed);
        let call = CallEntry { time, source, ..call(Caller::new(*client)) };
        telemetry.records().shared().record(call.into());
    }
}

#[test]
fn entries_are_shown_by_their_time() {
    let folder = tempfile::tempdir().unwrap();
    aged(folder.path(), &[9, 5, 3, 0], &["alice"]);
    let count = |arguments: &[&str]| {
        let (code, shown, error) = run(folder.path(), &[&["show"], arguments].concat());
        assert_eq!(code, 0, "{error}");
        shown.lines().count()
    };
    assert_eq!(count(&["--since", "4d"]), 2);
    assert_eq!(count(&["--until", "4d"]), 2);
    assert_eq!(count(&["--since", "7d", "--until", "2h"]), 2);
    assert_eq!(count(&["--since", "2020-02-29", "--until", "2020-03-01T12:00:00"]), 0);
    assert_eq!(count(&["--since", "2020-02-29T00:00:00Z"]), 4);
    let (code, _, error) = run(folder.path(), &["show", "--since", "yesterday"]);
    assert_eq!(code, 2);
    assert!(error.contains("2026-11-15") && error.contains("ms, s, m, h, d"), "{error}");
}

#[test]
fn entries_are_summed_up_in_a_table_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    aged(folder.path(), &[2, 2, 2, 1], &["爱丽丝", "bob"]);
    written(folder.path(), &["爱丽丝"]);
    let (code, table, _) = run(folder.path(), &["sum", "--by", "caller,tool"]);
    assert_eq!(code, 0);
    let expected = "\
CALLER  TOOL      EXCHANGES  CALLS  FAILED  INPUT TOKENS  OUTPUT TOKENS
bob     read_csv  0          2      0       0             0
爱丽丝  -         1          0      0       0             0
爱丽丝  read_csv  0          2      0       0             0
";
    assert_eq!(table, expected);
    let (_, json, _) =
        run(folder.path(), &["sum", "--by", "day", "--kind", "call", "--until", "12h", "--json"]);
    let Json::Array(days) = Json::parse(&json).unwrap() else { panic!("{json}") };
    let calls: Vec<u64> =
        days.iter().map(|day| day.get("calls").unwrap().as_u64().unwrap()).collect();
    assert_eq!(calls, [3, 1], "{json}");
    assert_eq!(run(folder.path(), &["sum", "--by", "colour"]).0, 2);
}

#[test]
fn the_tokens_of_a_model_are_summed_up() {
    let gateway = Gateway::start("");
    for _ in 0..3 {
        gateway.ask_json("/v1/chat/completions", CHAT).ok();
    }
    let data = gateway.data();
    let sums = until("the exchanges", || {
        let (_, json, _) = run(&data, &["sum", "--json"]);
        let sums = Json::parse(&json).ok()?;
        (sums.pointer("/0/exchanges")?.as_u64() == Some(3)).then_some(sums)
    });
    assert_eq!(sums.pointer("/0/model").and_then(Json::as_str), Some("offline/rules"));
    assert!(sums.pointer("/0/input_tokens").and_then(Json::as_u64).unwrap() > 0);
}

#[test]
fn all_entries_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    aged(folder.path(), &[9; 1_200], &["a,\"b\"", "=1+1"]);
    let (code, lines, _) = run(folder.path(), &["export"]);
    assert_eq!((code, lines.lines().count()), (0, 1_200));
    let last = Json::parse(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last.get("sequence").and_then(Json::as_u64), Some(1_200));
    let (_, table, _) = run(folder.path(), &["export", "--format", "csv", "--since", "10d"]);
    assert_eq!(table.lines().count(), 1_201);
    assert!(table.starts_with("sequence,time,kind,run,caller,tenant,"), "{}", &table[..100]);
    let rows: Vec<&str> = table.lines().skip(1).take(2).collect();
    assert!(rows[0].contains(",call,") && rows[0].contains(",\"a,\"\"b\"\"\",local,"), "{rows:?}");
    assert!(rows[1].contains(",'=1+1,local,"), "a spreadsheet must not run it: {rows:?}");
}

#[test]
fn old_entries_are_removed_and_verification_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join(DATA);
    aged(&data, &[9, 8, 0], &["alice"]);
    let (_, head, _) = run(&data, &["verify", "--json"]);
    let head = Json::parse(&head).unwrap().get("head").unwrap().as_str().unwrap().to_owned();
    let first = run(&data, &["show", "--json", "--limit", "9"]).1;
    let first = Json::parse(first.lines().next().unwrap()).unwrap();
    let gateway = Gateway::start_with(folder, "[ledger]\nmax_age = \"7d\"\n");
    let verified = until("the removal", || {
        let (code, text, _) = run(&data, &["verify"]);
        (code == 0 && text.starts_with("1 entry,")).then_some(text)
    });
    let told = "validly signed, for 2 entries that max_age removed";
    assert!(verified.contains("checkpoint 2:") && verified.contains(told), "{verified}");
    assert_eq!(run(&data, &["verify", "--against", &head]).0, 0);
    let link = first.get("link").and_then(Json::as_str).unwrap();
    let (code, _, error) = run(&data, &["verify", "--against", &format!("1:{link}")]);
    assert_eq!(code, 1);
    assert!(error.contains("entry 1 was removed because of its age"), "{error}");
    // The gateway goes on, and the next one finds nothing wrong.
    gateway.ask_json("/v1/chat/completions", CHAT).ok();
    let gateway = gateway.restart("[ledger]\nmax_age = \"7d\"\n");
    gateway.ask_json("/v1/chat/completions", CHAT).ok();
    until("both exchanges", || run(&data, &["verify"]).1.starts_with("3 entries").then_some(()));
    assert!(!gateway.log().contains("the ledger"), "{}", gateway.log());
    std::fs::write(data.join("signing.key"), [7; 32]).unwrap();
    let (code, _, error) = run(&data, &["verify"]);
    assert_eq!(code, 1);
    assert!(error.contains("entry 2") && error.contains("signing.key"), "{error}");
}

#[test]
fn refusals_of_strangers_are_counted_in_one_entry() {
    let hash = toolwright_gateway::key::KeyHash::of("key-alice");
    let gateway = Gateway::start(&format!("[keys.alice]\nhash = \"{hash}\"\n"));
    for number in 0..30 {
        let wrong = format!("Bearer wrong-{number}");
        let headers = [("authorization", wrong.as_str())];
        let path = if number % 2 == 0 { "/v1/chat/completions" } else { "/v1/messages" };
        assert_eq!(gateway.post(path, &headers, CHAT.as_bytes()).status, 401);
    }
    let gateway = gateway.restart("");
    let (_, shown, _) = run(&gateway.data(), &["show", "--json"]);
    let lines: Vec<Json> = shown.lines().map(|line| Json::parse(line).unwrap()).collect();
    let counted = |line: &Json| line.get("count").and_then(Json::as_u64).unwrap_or(1);
    let counts: Vec<u64> = lines.iter().map(counted).collect();
    // A test that takes longer than a minute has more entries.
    assert!(counts.len() <= 2 && counts.iter().sum::<u64>() == 30, "{counts:?} {shown}");
    assert_eq!(lines[0].get("caller").and_then(Json::as_str), Some("nobody"));
}

#[test]
fn bodies_between_gateway_and_upstream_are_recorded_beside_the_chain() {
    let own = vendor("anthropic");
    let body = |stream: bool| {
        format!(
            r#"{{"model":"up/m","stream":{stream},"messages":[{{"role":"user","content":"北京"}}]}}"#
        )
    };
    let replies = [own.reply(false), own.reply(true), own.reply(false)];
    let upstream = Upstream::start(replies);
    let config = format!("[ledger]\npayloads = true\n{}", table("up", own.id, &upstream));
    let gateway = Gateway::start(&config);
    for stream in [false, true] {
        gateway.ask_json("/v1/chat/completions", &body(stream)).ok();
    }
    let native = r#"{"model":"up/m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    gateway.ask_json("/v1/messages", native).ok();
    let data = gateway.data();
    let lines: Vec<Json> = until("the exchanges", || {
        let shown = run(&data, &["show", "--json"]).1;
        (shown.lines().count() == 3)
            .then(|| shown.lines().map(|line| Json::parse(line).unwrap()).collect())
    });
    for (line, sent) in lines.iter().zip(upstream.received()).take(2) {
        let attempt = line.pointer("/data/upstreams/0").unwrap();
        assert_eq!(attempt.get("upstream").and_then(Json::as_str), Some("up"));
        assert_eq!(attempt.pointer("/bodies/request"), Some(&sent.json()));
        let back = attempt.pointer("/bodies/response").unwrap().compact();
        assert!(back.contains("toolu_01A09q90qw90lq917835lq9"), "{back}");
        assert!(line.get("data_digest").is_some());
    }
    let passed = &lines[2];
    assert!(passed.pointer("/data/request").is_some());
    assert_eq!(passed.pointer("/data/upstreams"), None, "the same bytes are recorded once");
    let (code, verified, _) = run(&data, &["verify"]);
    assert_eq!(code, 0, "{verified}");
    let text = std::fs::read(data.join("ledger.sqlite")).unwrap();
    let key = crate::gateway::UPSTREAM_KEY.as_bytes();
    assert!(!text.windows(key.len()).any(|window| window == key), "no key is recorded");
}
