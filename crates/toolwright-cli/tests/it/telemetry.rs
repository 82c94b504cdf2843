//! Telemetry of exchanges, from their end to the ledger's file.

mod gateway;
pub mod openapi;
#[cfg(feature = "otel")]
mod otel;

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use toolwright_core::{Dialect, FaultClass, Json, StopReason, Usage};
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, Report, Translator};
use toolwright_gateway::telemetry::config::{LedgerSettings, LossSettings, TelemetrySettings};
use toolwright_gateway::telemetry::record::{Attempt, ExecutedCall, Payloads};
use toolwright_gateway::telemetry::{ExchangeRecord, ExchangeRecorder, Records, Telemetry, ledger};
use toolwright_runtime::ledger::{ExchangeEntry, Kind, Query, SqliteLedger};
use toolwright_runtime::{CallErrorKind, Caller};

/// Telemetry with a ledger in the data folder below a folder.
pub fn open(folder: &Path, settings: &TelemetrySettings) -> Telemetry {
    Telemetry::open(&folder.join("data"), settings).unwrap()
}

fn begin(telemetry: &Telemetry) -> ExchangeRecorder {
    telemetry.recorder(record())
}

fn record() -> ExchangeRecord {
    ExchangeRecord::new(Dialect::Anthropic, "messages", Caller::new("alice").with_tenant("acme"))
}

/// A record with every field set.
fn full_record() -> ExchangeRecord {
    let mut record = record();
    fill(&mut record);
    record
}

/// The report of a real translation.
fn report() -> Report {
    let body = r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}],
        "tools":[{"name":"a","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}"#;
    let (from, to) = (lookup("anthropic").unwrap(), lookup("gemini").unwrap());
    let (path, body) = ("/v1/messages".to_owned(), Json::parse(body).unwrap());
    let wire = WireRequest { path, headers: Vec::new(), body };
    let report = Translator::new(from, to, &Options::default()).request(wire).unwrap().report;
    assert!(!report.losses.is_empty());
    report
}

/// Sets every field of a record.
fn fill(record: &mut ExchangeRecord) {
    record.requested_model = Some("fast".into());
    record.upstream = Some("google".into());
    record.upstream_dialect = Some(Dialect::Gemini);
    record.response_model = Some("gemini-3".to_owned());
    record.response_id = Some("answer-1".to_owned());
    record.stream = true;
    record.status = 200;
    record.fault = Some(FaultClass::Overloaded);
    record.attempts = vec![Attempt {
        upstream: "google".into(),
        fault: None,
        began: Duration::from_micros(3),
        took: Duration::from_micros(5),
    }];
    record.timing.first_byte = Some(Duration::from_micros(9));
    record.timing.added = Duration::from_micros(4);
    record.usage = Some(Usage { input: Some(7), output: Some(5), ..Usage::default() });
    record.stop = Some(StopReason::MaxTokens);
    record.calls = vec!["a".to_owned()];
    record.executed_calls = vec![ExecutedCall {
        tool: "b".into(),
        error: Some(CallErrorKind::Failed),
        began: Duration::ZERO,
        took: Duration::from_micros(2),
    }];
    record.request_report = report();
    (record.bytes_in, record.bytes_out) = (100, 200);
    record.payloads = Some(Payloads {
        request: Bytes::from_static(br#"{"prompt":"private words","api_key":"hunter2"}"#),
        response: b"data: {\"delta\":\"private answer\"}\n\n".to_vec(),
        ..Payloads::default()
    });
}

/// The exchanges of a data folder.
async fn exchanges(folder: &Path) -> Vec<ExchangeEntry> {
    let ledger = SqliteLedger::open(folder.join("data").join(ledger::FILE)).unwrap();
    ledger.verify().await.unwrap();
    let entries = ledger.entries(&Query::new().with_kind(Kind::Exchange)).await.unwrap();
    entries.into_iter().map(|each| each.entry.as_exchange().unwrap().clone()).collect()
}

#[tokio::test]
async fn an_exchange_is_in_the_ledger_with_every_field() {
    let folder = tempfile::tempdir().unwrap();
    let telemetry = open(folder.path(), &TelemetrySettings::default());
    let one = telemetry.recorder(full_record());
    let id = one.id();
    one.finish();
    telemetry.records().flush().await.unwrap();
    let entries = exchanges(folder.path()).await;
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!(*entry.run, id.to_string());
    assert_eq!((&*entry.caller.id, &*entry.caller.tenant), ("alice", "acme"));
    assert_eq!((entry.dialect, &*entry.endpoint), (Dialect::Anthropic, "messages"));
    assert_eq!(entry.model.as_deref(), Some("fast"));
    assert_eq!(entry.upstream.as_deref(), Some("google"));
    assert_eq!(entry.upstream_dialect, Some(Dialect::Gemini));
    assert_eq!(entry.answered.as_deref(), Some("gemini-3"));
    assert_eq!(entry.answer_id.as_deref(), Some("answer-1"));
    assert_eq!((entry.stream, entry.untouched, entry.left), (true, false, false));
    assert_eq!((entry.status, entry.error), (200, Some(FaultClass::Overloaded)));
    assert_eq!(entry.attempts.len(), 1);
    assert_eq!(entry.attempts[0].duration, Duration::from_micros(5));
    assert_eq!(entry.first_byte, Some(Duration::from_micros(9)));
    assert_eq!(entry.added, Duration::from_micros(4));
    assert_eq!(entry.usage.as_ref().unwrap().total(), 12);
    assert_eq!(entry.stop, Some(StopReason::MaxTokens));
    assert_eq!(entry.calls, ["a"]);
    assert_eq!(entry.ran[0].error, Some(CallErrorKind::Failed));
    assert_eq!((entry.bytes_in, entry.bytes_out), (100, 200));
    let (record, kept) = (report(), &entry.losses);
    let paths = |losses: &[toolwright_core::loss::Loss]| -> Vec<String> {
        losses.iter().map(|loss| loss.site.pointer(&[])).collect()
    };
    let expected: Vec<String> = record.losses.iter().map(|entry| entry.path.clone()).collect();
    assert_eq!(paths(kept), expected);
    assert_eq!(entry.more_losses, 0);
    assert_eq!(entry.data, None, "payloads are off");
}

#[tokio::test]
async fn every_exchange_is_recorded_once_however_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let telemetry = open(folder.path(), &TelemetrySettings::default());
    begin(&telemetry).finish();
    drop(begin(&telemetry));
    let held = begin(&telemetry);
    let crashed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _held = held;
        panic!("on purpose")
    }));
    assert!(crashed.is_err());
    telemetry.records().flush().await.unwrap();
    let entries = exchanges(folder.path()).await;
    let left: Vec<bool> = entries.iter().map(|entry| entry.left).collect();
    assert_eq!(left, [false, true, false]);
    // A client that met a panic is still connected and received the fault.
    assert_eq!((entries[2].error, entries[2].status), (Some(FaultClass::Internal), 500));
    assert_eq!(telemetry.metrics().in_flight(), 0);
}

#[tokio::test]
async fn exchanges_are_written_when_the_gateway_stops() {
    let folder = tempfile::tempdir().unwrap();
    let telemetry = open(folder.path(), &TelemetrySettings::default());
    for _ in 0..100 {
        begin(&telemetry).finish();
    }
    drop(telemetry);
    assert_eq!(exchanges(folder.path()).await.len(), 100);
}

#[tokio::test]
async fn losses_are_read_from_the_ledger_after_eviction_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let losses = LossSettings { max_entries: 1 };
    let settings = TelemetrySettings { losses, ..TelemetrySettings::default() };
    let telemetry = open(folder.path(), &settings);
    let ids: Vec<_> = (0..2)
        .map(|_| {
            let one = telemetry.recorder(full_record());
            let id = one.id();
            one.finish();
            id
        })
        .collect();
    let alice = Caller::new("alice").with_tenant("acme");
    let old = telemetry.losses(ids[0], &alice).await.unwrap().unwrap();
    let new = telemetry.losses(ids[1], &alice).await.unwrap().unwrap();
    assert_eq!(new.pointer("/request"), Some(&report().to_json()));
    assert_eq!(old.pointer("/request/losses"), new.pointer("/request/losses"));
    assert_eq!(old.pointer("/request/aliases"), None, "the ledger has losses only");
    for name in ["dialect", "upstream_dialect", "response/losses"] {
        let pointer = format!("/{name}");
        assert_eq!(old.pointer(&pointer), new.pointer(&pointer), "{name}");
    }
    for other in [Caller::new("bob").with_tenant("acme"), Caller::new("alice")] {
        for id in &ids {
            assert_eq!(telemetry.losses(*id, &other).await.unwrap(), None, "{other:?}");
        }
    }
}

#[tokio::test]
async fn losses_can_be_read_before_the_reply_is_complete() {
    let telemetry = Telemetry::default();
    let mut one = begin(&telemetry);
    one.record.request_report = report();
    let caller = one.record.client.clone();
    assert_eq!(telemetry.losses(one.id(), &caller).await.unwrap(), None);
    one.publish_losses();
    let found = telemetry.losses(one.id(), &caller).await.unwrap().unwrap();
    assert_eq!(found.pointer("/request"), Some(&report().to_json()));
    let id = one.id();
    one.record.response_report = report();
    one.finish();
    let found = telemetry.losses(id, &caller).await.unwrap().unwrap();
    assert_eq!(found.pointer("/response"), Some(&report().to_json()));
}

#[tokio::test]
async fn bodies_are_in_the_ledger_only_if_the_configuration_says_so() {
    for payloads in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerSettings { payloads, ..LedgerSettings::default() };
        let settings = TelemetrySettings { ledger, ..TelemetrySettings::default() };
        let telemetry = open(folder.path(), &settings);
        assert_eq!(telemetry.wants_payloads(), payloads);
        telemetry.recorder(full_record()).finish();
        drop(telemetry);
        let text = format!("{:?}", exchanges(folder.path()).await);
        assert_eq!(text.contains("private words"), payloads, "{text}");
        assert_eq!(text.contains("private answer"), payloads, "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_data_folder_that_cannot_be_created_is_reported_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), "a file").unwrap();
    let error = Records::open(&folder.path().join("data/below"), &LedgerSettings::default());
    let text = error.unwrap_err().to_string();
    assert!(text.contains("data/below") && text.contains("--data"), "{text}");
}

#[cfg(unix)]
#[test]
fn the_data_folder_is_private_to_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), &TelemetrySettings::default()));
    let data = folder.path().join("data");
    let mode = std::fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let file = std::fs::metadata(data.join(ledger::FILE)).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}
