//! Tests of the output for Prometheus.

use std::time::Duration;

use toolwright_core::{Dialect, FaultClass, Usage};
use toolwright_runtime::{CallErrorKind, Caller};

use crate::telemetry::record::{Attempt, ExecutedCall, Timing};
use crate::telemetry::{ExchangeRecord, Telemetry};

fn record(asked: &str) -> ExchangeRecord {
    let mut record = ExchangeRecord::new(Dialect::OpenaiChat, "chat", Caller::new("alice"));
    record.requested_model = Some(asked.into());
    record.upstream = Some("claude".into());
    record.upstream_dialect = Some(Dialect::Anthropic);
    record.status = 200;
    record.timing = Timing {
        total: Duration::from_millis(3),
        first_byte: Some(Duration::from_millis(2)),
        added: Duration::from_micros(60),
    };
    let attempt = |upstream: &str, fault| Attempt {
        upstream: upstream.into(),
        fault,
        began: Duration::ZERO,
        took: Duration::ZERO,
    };
    record.attempts =
        vec![attempt("openai", Some(FaultClass::RateLimited)), attempt("claude", None)];
    record.usage = Some(Usage {
        input: Some(7),
        cache_read: Some(3),
        output: Some(5),
        reasoning: Some(2),
        ..Usage::default()
    });
    record.calls = vec!["a".to_owned(), "b".to_owned()];
    let ran = |tool: &str, error| ExecutedCall {
        tool: tool.into(),
        error,
        began: Duration::ZERO,
        took: Duration::ZERO,
    };
    record.executed_calls = vec![ran("a", None), ran("b", Some(CallErrorKind::TimedOut))];
    (record.bytes_in, record.bytes_out) = (1_000, 2_000);
    record
}

#[test]
fn every_number_is_where_it_belongs() {
    let telemetry = Telemetry::default();
    telemetry.metrics().know(["fast"]);
    for asked in ["fast", "fast", "made up 1", "made up 2"] {
        telemetry.emit(record(asked));
    }
    let failed = ExchangeRecord {
        status: 503,
        client_left: true,
        upstream: None,
        upstream_dialect: None,
        untouched: true,
        ..record("fast")
    };
    telemetry.emit(failed);
    let text = telemetry.prometheus(|_| true);
    for line in [
        r#"toolwright_requests_total{dialect="openai-chat",upstream="claude",model="fast",status="2xx"} 2"#,
        r#"toolwright_requests_total{dialect="openai-chat",upstream="claude",model="other",status="2xx"} 2"#,
        r#"toolwright_requests_total{dialect="openai-chat",upstream="none",model="fast",status="5xx"} 1"#,
        r#"toolwright_client_disconnects_total{dialect="openai-chat"} 1"#,
        r#"toolwright_overhead_seconds_bucket{le="0.00005",dialect="openai-chat",upstream_dialect="anthropic",mode="translated"} 0"#,
        r#"toolwright_overhead_seconds_bucket{le="0.000075",dialect="openai-chat",upstream_dialect="anthropic",mode="translated"} 4"#,
        r#"toolwright_overhead_seconds_count{dialect="openai-chat",upstream_dialect="none",mode="passthrough"} 1"#,
        r#"toolwright_request_duration_seconds_bucket{le="0.002",dialect="openai-chat",upstream="claude",stream="false"} 0"#,
        r#"toolwright_request_duration_seconds_bucket{le="0.004",dialect="openai-chat",upstream="claude",stream="false"} 4"#,
        r#"toolwright_time_to_first_byte_seconds_count{dialect="openai-chat",upstream="claude",stream="false"} 4"#,
        r#"toolwright_upstream_attempts_total{upstream="openai",outcome="rate_limited"} 5"#,
        r#"toolwright_upstream_attempts_total{upstream="claude",outcome="ok"} 5"#,
        r#"toolwright_tokens_total{upstream="claude",model="fast",direction="input",kind="uncached"} 14"#,
        r#"toolwright_tokens_total{upstream="claude",model="fast",direction="input",kind="cache_read"} 6"#,
        r#"toolwright_tokens_total{upstream="claude",model="fast",direction="output",kind="reasoning"} 4"#,
        r#"toolwright_tokens_total{upstream="claude",model="fast",direction="output",kind="answer"} 6"#,
        r#"toolwright_tool_calls_total{by="model",outcome="asked"} 10"#,
        r#"toolwright_tool_calls_total{by="gateway",outcome="ok"} 5"#,
        r#"toolwright_tool_calls_total{by="gateway",outcome="timed_out"} 5"#,
        r#"toolwright_body_bytes_total{direction="in"} 5000"#,
        r#"toolwright_body_bytes_total{direction="out"} 10000"#,
        "toolwright_requests_in_flight 0",
        "toolwright_ledger_entries_waiting 0",
        "toolwright_log_lines_dropped_total 0",
    ] {
        assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("made up"), "a client's words are no label");
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn losses_are_counted_by_severity() {
    use toolwright_dialects::dialect::{WireRequest, lookup};
    use toolwright_dialects::translate::{Options, Translator};
    let body = r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}],
        "tools":[{"name":"a","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}"#;
    let (from, to) = (lookup("anthropic").unwrap(), lookup("gemini").unwrap());
    let body = toolwright_core::Json::parse(body).unwrap();
    let wire = WireRequest { path: "/v1/messages".to_owned(), headers: Vec::new(), body };
    let report = Translator::new(from, to, &Options::default()).request(wire).unwrap().report;
    let telemetry = Telemetry::default();
    let mut record = record("fast");
    record.dialect = Dialect::Anthropic;
    record.upstream_dialect = Some(Dialect::Gemini);
    record.request_report = report;
    let lost = record.losses_of(toolwright_core::loss::Severity::Minor);
    assert!(lost > 0);
    telemetry.emit(record);
    let line = format!(
        r#"toolwright_losses_total{{dialect="anthropic",upstream_dialect="gemini",severity="minor"}} {lost}"#
    );
    assert!(telemetry.prometheus(|_| true).contains(&line), "{}", telemetry.prometheus(|_| true));
}

#[test]
fn exchanges_under_way_are_counted_until_they_end() {
    let telemetry = Telemetry::default();
    let begin = || telemetry.begin(Dialect::Gemini, "generate", Caller::new("alice"));
    let (one, two) = (begin(), begin());
    assert_eq!(telemetry.metrics().in_flight(), 2);
    one.finish();
    drop(two);
    assert_eq!(telemetry.metrics().in_flight(), 0);
    let text = telemetry.prometheus(|_| true);
    assert!(text.contains(r#"toolwright_client_disconnects_total{dialect="gemini"} 1"#), "{text}");
}

#[test]
fn calls_of_functions_are_counted_up_to_a_limit_of_names() {
    use toolwright_runtime::ledger::{CallEntry, ResultSource};

    let telemetry = Telemetry::default();
    let ledger = telemetry.ledger();
    let call = |tool: &str, error, source| CallEntry {
        time: std::time::SystemTime::UNIX_EPOCH,
        run: "run".into(),
        caller: Caller::new("alice"),
        call_id: "1".into(),
        parent: None,
        tool: tool.into(),
        key: None,
        error,
        source,
        attempts: 1,
        duration: Duration::from_millis(3),
        changes: Vec::new(),
        losses: Vec::new(),
        data: None,
    };
    let ran = Some(ResultSource::Executed);
    for (tool, error, source) in [
        ("files/parse", None, ran),
        ("files/parse", None, ran),
        ("files/parse", Some(CallErrorKind::TimedOut), ran),
        ("files/waits", None, None),
        ("files/unknown", Some(CallErrorKind::UnknownTool), ran),
        ("read_csv", None, ran),
    ] {
        ledger.record(call(tool, error, source).into());
    }
    let text = telemetry.prometheus(|_| true);
    for line in [
        r#"toolwright_function_calls_total{function="files/parse",outcome="ok"} 2"#,
        r#"toolwright_function_calls_total{function="files/parse",outcome="timed_out"} 1"#,
        r#"toolwright_function_duration_seconds_count{function="files/parse"} 3"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for name in ["files/waits", "files/unknown", "read_csv"] {
        assert!(!text.contains(name), "{name}\n{text}");
    }
    for number in 0..1_100 {
        ledger.record(call(&format!("many/{number}"), None, ran).into());
    }
    let text = telemetry.prometheus(|_| true);
    let own = text.matches("toolwright_function_duration_seconds_count{").count();
    assert_eq!(own, 1_001, "the limit, and `other`");
    assert!(text.contains(r#"toolwright_function_calls_total{function="other",outcome="ok"} 101"#));
}
