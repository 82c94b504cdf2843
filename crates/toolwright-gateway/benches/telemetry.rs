//! What it costs an exchange to be told of: all of it, and its parts.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use divan::Bencher;
use toolwright::Caller;
use toolwright::ledger::MemoryLedger;
use toolwright_core::{Dialect, StopReason, Usage};
use toolwright_gateway::config::{Config, Log, LogFormat};
use toolwright_gateway::telemetry::exchanged::Attempt;
use toolwright_gateway::telemetry::log::{Lines, subscriber};
use toolwright_gateway::telemetry::{
    Exchanged, Losses, Lost, Metrics, Records, RequestId, Telemetry,
};

fn main() {
    divan::main();
}

fn told() -> Exchanged {
    let mut told = Exchanged::new(Dialect::OpenaiChat, "chat", Caller::new("alice"));
    told.asked = Some("fast".into());
    told.upstream = Some("claude".into());
    told.upstream_dialect = Some(Dialect::Anthropic);
    told.model = Some("claude-haiku-5".to_owned());
    told.answer_id = Some("msg_01".to_owned());
    told.status = 200;
    told.attempts = vec![Attempt {
        upstream: "claude".into(),
        fault: None,
        began: Duration::from_micros(60),
        took: Duration::from_millis(300),
    }];
    told.took.first_byte = Some(Duration::from_millis(301));
    told.took.added = Duration::from_micros(110);
    told.usage = Some(Usage { input: Some(700), output: Some(50), ..Usage::default() });
    told.stop = Some(StopReason::ToolUse);
    told.calls = vec!["read_csv".to_owned(), "git_status".to_owned()];
    told
}

#[divan::bench]
fn id() -> RequestId {
    RequestId::random()
}

#[divan::bench]
fn metrics(bencher: Bencher<'_, '_>) {
    let metrics = Metrics::new();
    metrics.know(["fast"]);
    bencher.with_inputs(told).bench_refs(|told| metrics.count(told));
}

#[divan::bench]
fn losses(bencher: Bencher<'_, '_>) {
    let losses = Losses::new(10_000);
    let input = || {
        let Exchanged { id, client, dialect, request, response, .. } = told();
        Lost { id, client, from: dialect, to: None, request, response }
    };
    bencher.with_inputs(input).bench_values(|lost| losses.keep(lost));
}

/// On the path of the exchange: metrics, losses and what is handed to the ledger's thread.
#[divan::bench]
fn exchange(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { data: folder.path().to_owned(), ..Config::default() };
    let telemetry = Telemetry::open(&config).unwrap();
    bencher.with_inputs(told).bench_values(|told| telemetry.exchanged(told));
}

/// The same with a line of the log, which goes to a sink.
#[divan::bench(args = [LogFormat::Text, LogFormat::Full, LogFormat::Json])]
fn exchange_with_line(bencher: Bencher<'_, '_>, format: LogFormat) {
    let log = Log { format, ..Log::default() };
    let config = Config { log: log.clone(), ..Config::default() };
    let telemetry = Telemetry::new(Records::Memory(MemoryLedger::new()), &config);
    let (lines, _rest) = Lines::new(std::io::sink(), telemetry.metrics().dropped_lines());
    tracing::subscriber::with_default(subscriber(&log, false, lines).0, || {
        bencher.with_inputs(told).bench_values(|told| telemetry.exchanged(told));
    });
}
