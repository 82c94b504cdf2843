//! Measures the cost of recording an exchange: in total, and by part.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use divan::Bencher;
use toolwright_core::{Dialect, StopReason, Usage};
use toolwright_gateway::telemetry::config::{LogFormat, LogSettings, TelemetrySettings};
use toolwright_gateway::telemetry::log::{Lines, subscriber};
use toolwright_gateway::telemetry::record::Attempt;
use toolwright_gateway::telemetry::{
    ExchangeRecord, Losses, Lost, Metrics, Records, RequestId, Telemetry,
};
use toolwright_runtime::Caller;
use toolwright_runtime::ledger::MemoryLedger;

fn main() {
    divan::main();
}

fn record() -> ExchangeRecord {
    let mut record = ExchangeRecord::new(Dialect::OpenaiChat, "chat", Caller::new("alice"));
    record.requested_model = Some("fast".into());
    record.upstream = Some("claude".into());
    record.upstream_dialect = Some(Dialect::Anthropic);
    record.response_model = Some("claude-haiku-5".to_owned());
    record.response_id = Some("msg_01".to_owned());
    record.status = 200;
    record.attempts = vec![Attempt {
        upstream: "claude".into(),
        fault: None,
        began: Duration::from_micros(60),
        took: Duration::from_millis(300),
    }];
    record.timing.first_byte = Some(Duration::from_millis(301));
    record.timing.added = Duration::from_micros(110);
    record.usage = Some(Usage { input: Some(700), output: Some(50), ..Usage::default() });
    record.stop = Some(StopReason::ToolUse);
    record.calls = vec!["read_csv".to_owned(), "git_status".to_owned()];
    record
}

#[divan::bench]
fn id() -> RequestId {
    RequestId::random()
}

#[divan::bench]
fn metrics(bencher: Bencher<'_, '_>) {
    let metrics = Metrics::new();
    metrics.know(["fast"]);
    bencher.with_inputs(record).bench_refs(|record| metrics.count(record));
}

#[divan::bench]
fn losses(bencher: Bencher<'_, '_>) {
    let losses = Losses::new(10_000);
    let input = || {
        let ExchangeRecord { id, client, dialect, request_report, response_report, .. } = record();
        let (request, response) = (request_report, response_report);
        Lost { id, client, from: dialect, to: None, request, response }
    };
    bencher.with_inputs(input).bench_values(|lost| losses.insert(lost));
}

/// On the path of the exchange: metrics, losses and the hand-over to the ledger's thread.
#[divan::bench]
fn exchange(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let telemetry = Telemetry::open(folder.path(), &TelemetrySettings::default()).unwrap();
    bencher.with_inputs(record).bench_values(|record| telemetry.emit(record));
}

/// The same with a log line, which is written to a sink.
#[divan::bench(args = [LogFormat::Text, LogFormat::Full, LogFormat::Json])]
fn exchange_with_line(bencher: Bencher<'_, '_>, format: LogFormat) {
    let log = LogSettings { format, ..LogSettings::default() };
    let settings = TelemetrySettings { log: log.clone(), ..TelemetrySettings::default() };
    let telemetry = Telemetry::new(Records::Memory(MemoryLedger::new()), &settings);
    let (lines, _guard) = Lines::new(std::io::sink(), telemetry.metrics().dropped_lines());
    tracing::subscriber::with_default(subscriber(&log, false, lines).0, || {
        bencher.with_inputs(record).bench_values(|record| telemetry.emit(record));
    });
}
