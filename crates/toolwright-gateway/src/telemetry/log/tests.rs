//! Tests of the formats of log lines.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use prometheus_client::metrics::counter::Counter;
use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::origin::Origin;
use toolwright_core::{Dialect, FaultClass, Json, StopReason, Usage};
use toolwright_dialects::translate::Entry;
use toolwright_runtime::Caller;
use toolwright_runtime::ledger::MemoryLedger;
use tracing::level_filters::LevelFilter;

use super::*;
use crate::telemetry::config::TelemetrySettings;
use crate::telemetry::record::{Attempt, Payloads};
use crate::telemetry::{ExchangeRecord, Records, Telemetry};

/// A buffer that can be read later.
#[derive(Debug, Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs `work` and returns what it logs.
fn written(log: &LogSettings, work: impl FnOnce()) -> String {
    written_in(false, log, work)
}

fn written_in(colour: bool, log: &LogSettings, work: impl FnOnce()) -> String {
    let sink = Sink::default();
    let (lines, guard) = Lines::new(sink.clone(), Counter::default());
    tracing::subscriber::with_default(subscriber(log, colour, lines).0, work);
    drop(guard);
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn log(format: LogFormat) -> LogSettings {
    LogSettings { format, ..LogSettings::default() }
}

fn record() -> ExchangeRecord {
    let mut record = ExchangeRecord::new(Dialect::OpenaiChat, "chat", Caller::new("alice"));
    record.requested_model = Some("fast".into());
    record.upstream = Some("claude".into());
    record.upstream_dialect = Some(Dialect::Anthropic);
    record.response_model = Some("claude-haiku-5".to_owned());
    record.response_id = Some("msg_1".to_owned());
    record.status = 200;
    record.stop = Some(StopReason::ToolUse);
    record.usage =
        Some(Usage { input: Some(7), cache_read: Some(3), output: Some(5), ..Usage::default() });
    record.calls = vec!["read_csv".to_owned()];
    record.payloads = Some(Payloads {
        request: Bytes::from_static(br#"{"prompt":"private words","api_key":"hunter2"}"#),
        response: b"data: {\"delta\":\"private answer\"}\n\n".to_vec(),
        ..Payloads::default()
    });
    record
}

/// The line of one exchange.
fn line_of(log: &LogSettings, record: ExchangeRecord) -> String {
    written(log, || telemetry(log).emit(record))
}

fn telemetry(log: &LogSettings) -> Telemetry {
    let config = TelemetrySettings { log: log.clone(), ..TelemetrySettings::default() };
    Telemetry::new(Records::Memory(MemoryLedger::new()), &config)
}

/// An exchange with a value in every column and every optional part.
fn full_line() -> ExchangeRecord {
    let loss = |severity| {
        let loss = Loss::new(severity, Site::of(&Origin::NONE), "dropped", "unsupported");
        Entry { path: String::new(), loss }
    };
    let mut record = record();
    record.timing.total = Duration::from_millis(1_240);
    record.timing.added = Duration::from_micros(110);
    record.calls.push("git_status".to_owned());
    record.request_report.losses = vec![loss(Severity::Major), loss(Severity::Note)];
    record
}

/// A line without its time.
fn untimed(line: &str) -> &str {
    line.split_once("  ").unwrap().1
}

#[test]
fn an_exchange_is_one_line_of_json_with_conventional_names() {
    let record = record();
    let id = record.id.to_string();
    let text = line_of(&log(LogFormat::Json), record);
    assert_eq!(text.lines().count(), 1, "{text}");
    let line = Json::parse(text.trim()).unwrap();
    for (name, value) in [
        ("level", Json::from("INFO")),
        ("target", Json::from("toolwright::exchange")),
        ("toolwright.request.id", Json::from(id)),
        ("gen_ai.operation.name", Json::from("chat")),
        ("gen_ai.provider.name", Json::from("anthropic")),
        ("gen_ai.request.model", Json::from("fast")),
        ("gen_ai.response.model", Json::from("claude-haiku-5")),
        ("gen_ai.response.id", Json::from("msg_1")),
        ("gen_ai.response.finish_reasons", Json::from("tool_calls")),
        ("gen_ai.usage.input_tokens", Json::from(10_u64)),
        ("gen_ai.usage.output_tokens", Json::from(5_u64)),
        ("http.response.status_code", Json::from(200_u64)),
        ("toolwright.client", Json::from("alice")),
        ("toolwright.dialect", Json::from("openai-chat")),
        ("toolwright.upstream", Json::from("claude")),
        ("toolwright.calls", Json::from(1_u64)),
        ("toolwright.losses", Json::from(0_u64)),
    ] {
        assert_eq!(line.get(name), Some(&value), "{name}: {text}");
    }
    assert_eq!(line.get("error.type"), None);
    assert_eq!(line.get("toolwright.first_byte_us"), None);
}

#[test]
fn an_exchange_has_a_short_line_in_columns() {
    let whole = full_line();
    let id = whole.id;
    let failed = ExchangeRecord {
        dialect: Dialect::OpenaiResponses,
        upstream: Some("openai".into()),
        response_model: None,
        requested_model: Some("openai/gpt-4o".into()),
        status: 503,
        fault: Some(FaultClass::Overloaded),
        attempts: vec![attempt(), attempt(), attempt()],
        usage: None,
        calls: Vec::new(),
        ..record()
    };
    let failed_id = failed.id;
    let unrouted = ExchangeRecord {
        upstream: None,
        response_model: None,
        requested_model: None,
        status: 0,
        client_left: true,
        usage: None,
        calls: Vec::new(),
        ..record()
    };
    let unrouted_id = unrouted.id;
    let text = log(LogFormat::Text);
    let lines = [whole, failed, unrouted].map(|record| line_of(&text, record));
    assert_eq!(
        lines.each_ref().map(|line| untimed(line)),
        [
            format!(
                "openai-chat      → claude/claude-haiku-5            200   1.24s  +110µs      10 in      5 out  2 calls, 2 losses (1 major), {id}\n"
            ),
            format!(
                "openai-responses → openai/gpt-4o                    503     0µs    +0µs       - in      - out  overloaded, 3 attempts, {failed_id}\n"
            ),
            format!(
                "openai-chat      → -                                  -     0µs    +0µs       - in      - out  client_left, {unrouted_id}\n"
            ),
        ]
    );
    let (time, _) = lines[0].split_once("  ").unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
}

fn attempt() -> Attempt {
    Attempt { upstream: "openai".into(), fault: None, began: Duration::ZERO, took: Duration::ZERO }
}

#[test]
fn lines_have_colours_only_on_a_terminal() {
    let (text, full) = (log(LogFormat::Text), log(LogFormat::Full));
    let work = |log: &LogSettings| {
        let telemetry = telemetry(log);
        move || {
            telemetry.emit(full_line());
            tracing::warn!(target: "toolwright::test", why = "\u{1b}[31m", "late");
        }
    };
    let coloured = written_in(true, &text, work(&text));
    let (exchange, warning) = coloured.trim_end().split_once('\n').unwrap();
    assert!(exchange.starts_with("\u{1b}[2m") && exchange.contains("\u{1b}[32m 200\u{1b}[0m"));
    assert!(warning.ends_with("\u{1b}[33mWARN \u{1b}[0m  late why=\"\\u{1b}[31m\""), "{warning}");
    assert!(!written_in(false, &text, work(&text)).contains('\u{1b}'));
    assert!(!written_in(true, &full, work(&full)).contains('\u{1b}'));
}

#[test]
fn names_from_outside_cannot_break_or_colour_a_short_line() {
    let record = ExchangeRecord {
        upstream: Some("up".into()),
        response_model: Some("m\nFAKE\u{1b}[31m\u{202e}\u{2028}".to_owned()),
        ..record()
    };
    let text = line_of(&log(LogFormat::Text), record);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(r"up/m\nFAKE\u{1b}[31m\u{202e}\u{2028} "), "{text}");
}

#[test]
fn names_in_wide_scripts_keep_the_columns() {
    let of = |model: &str| {
        let record = ExchangeRecord { response_model: Some(model.to_owned()), ..record() };
        let line = line_of(&log(LogFormat::Text), record);
        let (before, _) = line.split_once(" 200 ").unwrap();
        crate::terminal::width(before)
    };
    assert_eq!(of("通义千问"), of("qwen"));
}

#[test]
fn events_are_a_level_a_message_and_their_fields() {
    let text = written(&log(LogFormat::Text), || {
        tracing::warn!(target: "toolwright::test", entry = 7, "the ledger has a gap");
        tracing::error!(target: "hyper::proto", "broken");
    });
    let lines: Vec<&str> = text.lines().map(untimed).collect();
    assert_eq!(lines, ["WARN   the ledger has a gap entry=7", "ERROR  hyper::proto: broken"]);
}

#[test]
fn the_full_format_has_every_field() {
    let text = line_of(&log(LogFormat::Full), record());
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(" INFO toolwright::exchange: exchange "), "{text}");
    assert!(text.contains("gen_ai.request.model=\"fast\""), "{text}");
}

#[test]
fn what_failed_is_told_with_its_class() {
    for (fault, left, level, word) in [
        (Some(FaultClass::Overloaded), false, "WARN", Some("overloaded")),
        (Some(FaultClass::Invalid), false, "INFO", Some("invalid")),
        (None, true, "INFO", Some("client_left")),
        (None, false, "INFO", None),
    ] {
        let text =
            line_of(&log(LogFormat::Json), ExchangeRecord { fault, client_left: left, ..record() });
        let line = Json::parse(text.trim()).unwrap();
        assert_eq!(line.get("level"), Some(&Json::from(level)));
        assert_eq!(line.get("error.type").and_then(Json::as_str), word);
    }
}

#[test]
fn bodies_are_in_the_log_only_if_told_so_and_without_secrets() {
    for payloads in [false, true] {
        for format in [LogFormat::Text, LogFormat::Full, LogFormat::Json] {
            let text =
                line_of(&LogSettings { payloads, level: LevelFilter::TRACE, format }, record());
            assert_eq!(text.contains("private words"), payloads, "{text}");
            assert_eq!(text.contains("private answer"), payloads, "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

#[test]
fn of_a_large_body_the_beginning_is_logged_without_a_secret_at_the_cut() {
    let log = LogSettings { payloads: true, ..LogSettings::default() };
    for padding in (65_440..65_560).step_by(40) {
        let (mut before, after) = ("many words ".repeat(6_000), "y".repeat(500_000));
        before.truncate(padding);
        let body = format!(r#"{{"prompt":"{before}","api_key":"hunter2","more":"{after}"}}"#);
        let request = Bytes::from(body);
        let payloads = Some(Payloads { request, ..Payloads::default() });
        let text = line_of(&log, ExchangeRecord { payloads, ..record() });
        assert!(text.contains("many words") && text.contains('…'), "{padding}");
        assert!(!text.contains("hunter") && text.len() < 70_000, "{padding}: {}", text.len());
    }
}

#[test]
fn other_crates_tell_no_more_than_warnings() {
    let log = LogSettings { level: LevelFilter::TRACE, ..LogSettings::default() };
    let text = written(&log, || {
        tracing::trace!(target: "h2", "header: authorization: hunter2");
        tracing::info!(target: "hyper", "body: hunter2");
        tracing::warn!(target: "hyper", "it is late");
        tracing::trace!(target: "toolwright::http", "hello");
    });
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("it is late") && text.contains("hello"), "{text}");
}

#[test]
fn the_level_decides_what_is_written() {
    for (level, lines) in [(LevelFilter::OFF, 0), (LevelFilter::WARN, 1), (LevelFilter::INFO, 2)] {
        let log = LogSettings { level, ..LogSettings::default() };
        let text = written(&log, || {
            let telemetry = telemetry(&log);
            telemetry.emit(record());
            telemetry.emit(ExchangeRecord { fault: Some(FaultClass::Timeout), ..record() });
        });
        assert_eq!(text.lines().count(), lines, "{level} {text}");
    }
}

/// A sink that blocks until it is released.
struct Stuck(mpsc::Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Returns when the sender is dropped.
        let _gone = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_that_nobody_reads_holds_nobody_up() {
    let (go, wait) = mpsc::channel();
    let dropped = Counter::default();
    let (lines, guard) = Lines::new(Stuck(wait), dropped.clone());
    let line = "a line of the log\n".repeat(100);
    tracing::subscriber::with_default(subscriber(&log(LogFormat::Text), false, lines).0, || {
        for _ in 0..2_000 {
            tracing::info!(target: "toolwright", "{line}");
        }
    });
    assert!(dropped.get() > 0);
    drop(go);
    drop(guard);
}

#[test]
fn a_value_cannot_break_its_line() {
    let text = written(&log(LogFormat::Text), || {
        tracing::warn!(target: "toolwright::test", why = %"one\ntwo \u{1b}[31mred", "three");
    });
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(r"why=one\ntwo \u{1b}[31mred"), "{text}");
    assert!(text.contains("three"), "{text}");
}

#[test]
fn the_level_can_be_changed() {
    let sink = Sink::default();
    let (lines, guard) = Lines::new(sink.clone(), Counter::default());
    let (subscriber, level) = subscriber(&log(LogFormat::Text), false, lines);
    tracing::subscriber::with_default(subscriber, || {
        let say = |word: &str| tracing::debug!(target: "toolwright::test", word, "said");
        say("early");
        level.set(LevelFilter::DEBUG);
        say("now");
        level.set(LevelFilter::INFO);
        say("late");
    });
    drop(guard);
    let written = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert!(written.contains("now") && written.lines().count() == 1, "{written}");
}
