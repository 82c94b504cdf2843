//! Converts an exchange to spans in OTLP/JSON. Names follow OpenTelemetry's conventions for
//! generative AI if there is one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright_core::json::Object;
use toolwright_core::{Dialect, FaultClass, Json, object};
use toolwright_runtime::CallErrorKind;

use super::settings::Settings;
use crate::telemetry::ExchangeRecord;
use crate::telemetry::line::{operation, provider};
use crate::telemetry::trace::{Trace, TraceParent};

/// OTLP's span kinds.
const INTERNAL: u64 = 1;
const SERVER: u64 = 2;
const CLIENT: u64 = 3;
/// OTLP's status code of an error.
const ERROR: u64 = 2;

/// Returns the document for the collector.
pub(super) fn document(spans: Vec<Json>, settings: &Settings) -> Json {
    let mut resource = Attributes::default();
    for (name, value) in &settings.resource {
        resource.text(name, Some(value));
    }
    let scope = object! {"name": "toolwright", "version": env!("CARGO_PKG_VERSION")};
    let scopes = vec![Json::Object(object! {"scope": scope, "spans": spans})];
    let resources = object! {
        "resource": object! {"attributes": resource.0},
        "scopeSpans": scopes,
    };
    Json::Object(object! {"resourceSpans": vec![Json::Object(resources)]})
}

/// Returns the spans of the exchange, its attempts and its calls.
pub(super) fn spans(record: &ExchangeRecord, trace: &Trace) -> Vec<Json> {
    let mut spans = vec![exchange(record, trace)];
    let operation = operation(record.endpoint);
    for (number, attempt) in record.attempts.iter().enumerate() {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", Some(operation));
        attributes.text("toolwright.upstream", Some(&attempt.upstream));
        spans.push(span(Span {
            name: format!("{operation} {}", attempt.upstream),
            kind: CLIENT,
            own: trace.child(number),
            parent: Some(trace.own),
            start: record.start + attempt.began,
            took: attempt.took,
            error: attempt.fault.map(FaultClass::word),
            attributes,
        }));
    }
    for (number, ran) in record.executed_calls.iter().enumerate() {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", Some("execute_tool"));
        attributes.text("gen_ai.tool.name", Some(&ran.tool));
        spans.push(span(Span {
            name: format!("execute_tool {}", ran.tool),
            kind: INTERNAL,
            own: trace.child(record.attempts.len() + number),
            parent: Some(trace.own),
            start: record.start + ran.began,
            took: ran.took,
            error: ran.error.map(CallErrorKind::as_str),
            attributes,
        }));
    }
    spans
}

fn exchange(record: &ExchangeRecord, trace: &Trace) -> Json {
    let operation = operation(record.endpoint);
    let mut all = Attributes::default();
    all.text("gen_ai.operation.name", Some(operation));
    all.text("gen_ai.provider.name", record.upstream_dialect.map(provider));
    all.text("gen_ai.request.model", record.requested_model.as_deref());
    all.text("gen_ai.response.model", record.response_model.as_deref());
    all.text("gen_ai.response.id", record.response_id.as_deref());
    if let Some(stop) = record.stop {
        let reasons = vec![Json::Object(object! {"stringValue": stop.name()})];
        let reasons = object! {"arrayValue": object! {"values": reasons}};
        all.push("gen_ai.response.finish_reasons", reasons);
    }
    if let Some(usage) = &record.usage {
        all.number("gen_ai.usage.input_tokens", Some(usage.input_total()));
        all.number("gen_ai.usage.output_tokens", usage.output);
    }
    all.number("http.response.status_code", Some(u64::from(record.status)));
    all.text("toolwright.request.id", Some(&record.id.to_string()));
    all.text("toolwright.client", Some(&record.client.id));
    all.text("toolwright.tenant", Some(&record.client.tenant));
    all.text("toolwright.dialect", Some(record.dialect.id()));
    all.text("toolwright.endpoint", Some(record.endpoint));
    all.text("toolwright.upstream", record.upstream.as_deref());
    all.text("toolwright.upstream.dialect", record.upstream_dialect.map(Dialect::id));
    all.flag("toolwright.stream", record.stream);
    all.flag("toolwright.untouched", record.untouched);
    all.number("toolwright.losses", Some(record.loss_count() as u64));
    let name = match &record.requested_model {
        Some(model) => format!("{operation} {model}"),
        None => operation.to_owned(),
    };
    span(Span {
        name,
        kind: SERVER,
        own: trace.own,
        parent: trace.parent,
        start: record.start,
        took: record.timing.total,
        error: record.error(),
        attributes: all,
    })
}

struct Span {
    name: String,
    kind: u64,
    own: TraceParent,
    parent: Option<TraceParent>,
    start: SystemTime,
    took: Duration,
    error: Option<&'static str>,
    attributes: Attributes,
}

fn span(mut span: Span) -> Json {
    span.attributes.text("error.type", span.error);
    let mut out = object! {
        "traceId": format!("{:032x}", span.own.trace),
        "spanId": format!("{:016x}", span.own.span),
    };
    if let Some(parent) = span.parent {
        out.push("parentSpanId", format!("{:016x}", parent.span));
    }
    out.push("name", span.name.as_str());
    out.push("kind", span.kind);
    // 64-bit integers are strings in protobuf's JSON.
    out.push("startTimeUnixNano", nanos(span.start));
    out.push("endTimeUnixNano", nanos(span.start + span.took));
    out.push("attributes", span.attributes.0);
    let status = span.error.map_or_else(Object::new, |_| object! {"code": ERROR});
    out.push("status", status);
    Json::Object(out)
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

#[derive(Default)]
struct Attributes(Vec<Json>);

impl Attributes {
    fn push(&mut self, name: &str, value: Object) {
        self.0.push(Json::Object(object! {"key": name, "value": value}));
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, object! {"stringValue": value});
        }
    }

    fn number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.push(name, object! {"intValue": value.to_string()});
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.push(name, object! {"boolValue": value});
    }
}
