//! Traces as a collector receives them: a receiver on loopback decodes the posted OTLP documents.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use toolwright_core::Json;
use toolwright_gateway::telemetry::otel::{Exporter, Settings};
use toolwright_gateway::telemetry::{Telemetry, trace};

use super::{begin, full_record};

const CLIENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A received request: its head, and its body.
type Posted = (String, Json);

/// A collector that answers everything with a status.
async fn collector(status: &'static str) -> (String, mpsc::UnboundedReceiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (told, posted) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, status, told.clone()));
        }
    });
    (address, posted)
}

async fn serve(mut stream: TcpStream, status: &str, told: mpsc::UnboundedSender<Posted>) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
            if body.len() >= length {
                let body = Json::parse(&body[..length]).unwrap();
                bytes.clear();
                told.send((head, body)).unwrap();
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                stream.write_all(answer.as_bytes()).await.unwrap();
                continue;
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            return;
        }
    }
}

fn telemetry(address: &str) -> Telemetry {
    let telemetry = Telemetry::default();
    let settings = Settings::of(&|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(address.to_owned()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-team=agents".to_owned()),
        _ => None,
    });
    let settings = settings.unwrap().unwrap();
    let exporter = Exporter::start(settings, telemetry.metrics()).unwrap();
    telemetry.export(exporter);
    telemetry
}

fn headers(traceparent: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(trace::HEADER, HeaderValue::try_from(traceparent).unwrap());
    headers
}

/// An attribute of a span, whatever its type.
fn attribute(span: &Json, name: &str) -> Option<Json> {
    let attributes = span.get("attributes")?.as_array()?;
    let found =
        attributes.iter().find(|own| own.get("key").and_then(Json::as_str) == Some(name))?;
    found.get("value")?.as_object()?.iter().next().map(|(_, value)| value.clone())
}

fn text<'s>(span: &'s Json, name: &str) -> &'s str {
    span.get(name).and_then(Json::as_str).unwrap()
}

#[tokio::test]
async fn an_exchange_is_a_span_with_its_attempts_and_calls_below() {
    let (address, mut posted) = collector("200 OK").await;
    let telemetry = telemetry(&address);
    let mut record = full_record();
    let attempts = std::mem::take(&mut record.attempts);
    let mut one = telemetry.recorder(record);
    one.trace(&headers(CLIENT));
    let upstream = one.traceparent().unwrap();
    let mut waiting = one.wait();
    for attempt in attempts {
        waiting.add_attempt(attempt);
    }
    drop(waiting);
    let id = one.id().to_string();
    one.finish();
    telemetry.flush().await.unwrap();

    let (head, body) = posted.recv().await.unwrap();
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("x-team: agents"), "{head}");
    let service = body.pointer("/resourceSpans/0/resource/attributes/0/value/stringValue");
    assert_eq!(service, Some(&Json::from("toolwright")));
    let spans = body.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap();
    let [exchange, attempt, call] = spans else { panic!("three spans, not {spans:?}") };

    assert_eq!(text(exchange, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(text(exchange, "parentSpanId"), "00f067aa0ba902b7");
    assert_eq!(text(exchange, "name"), "chat fast");
    assert_eq!(exchange.get("kind"), Some(&Json::from(2_u64)));
    for (name, value) in [
        ("gen_ai.operation.name", Json::from("chat")),
        ("gen_ai.provider.name", Json::from("gcp.gemini")),
        ("gen_ai.request.model", Json::from("fast")),
        ("gen_ai.response.model", Json::from("gemini-3")),
        ("gen_ai.response.id", Json::from("answer-1")),
        ("gen_ai.usage.input_tokens", Json::from("7")),
        ("gen_ai.usage.output_tokens", Json::from("5")),
        ("error.type", Json::from("overloaded")),
        ("toolwright.request.id", Json::from(id)),
        ("toolwright.client", Json::from("alice")),
        ("toolwright.stream", Json::from(true)),
    ] {
        assert_eq!(attribute(exchange, name), Some(value), "{name}");
    }
    let reasons = attribute(exchange, "gen_ai.response.finish_reasons").unwrap();
    assert_eq!(reasons.pointer("/values/0/stringValue"), Some(&Json::from("length")));
    assert_eq!(exchange.pointer("/status/code"), Some(&Json::from(2_u64)));
    let nanos = |span, name| text(span, name).parse::<u128>().unwrap();
    assert!(nanos(exchange, "endTimeUnixNano") >= nanos(exchange, "startTimeUnixNano"));

    assert_eq!(text(attempt, "name"), "chat google");
    assert_eq!(attempt.get("kind"), Some(&Json::from(3_u64)));
    let start = nanos(exchange, "startTimeUnixNano");
    assert_eq!(nanos(attempt, "startTimeUnixNano"), start + 3_000);
    assert_eq!(nanos(attempt, "endTimeUnixNano"), start + 8_000);
    assert_eq!(attempt.pointer("/status/code"), None);
    let sent = format!("00-{}-{}-01", text(attempt, "traceId"), text(attempt, "spanId"));
    assert_eq!(upstream, sent, "the upstream was told the attempt's span");

    assert_eq!(text(call, "name"), "execute_tool b");
    assert_eq!(attribute(call, "gen_ai.tool.name"), Some(Json::from("b")));
    assert_eq!(attribute(call, "error.type"), Some(Json::from("failed")));
    for child in [attempt, call] {
        assert_eq!(text(child, "traceId"), text(exchange, "traceId"));
        assert_eq!(text(child, "parentSpanId"), text(exchange, "spanId"));
    }
    assert!(!body.compact().contains("private"), "no payload is in a trace");
    assert!(posted.try_recv().is_err());
}

#[tokio::test]
async fn an_unsampled_client_gets_no_trace() {
    let (address, mut posted) = collector("200 OK").await;
    let telemetry = telemetry(&address);
    let mut quiet = begin(&telemetry);
    quiet.trace(&headers(&CLIENT.replace("-01", "-00")));
    quiet.finish();
    let mut own = begin(&telemetry);
    own.trace(&HeaderMap::new());
    let id = own.id();
    own.finish();
    telemetry.flush().await.unwrap();
    let (_, body) = posted.recv().await.unwrap();
    let spans = body.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap();
    assert_eq!(spans.len(), 1);
    assert_eq!(text(&spans[0], "traceId"), format!("{:032x}", id.bits()));
    assert_eq!(spans[0].get("parentSpanId"), None);
}

#[tokio::test]
async fn spans_are_sent_in_batches() {
    let (address, mut posted) = collector("200 OK").await;
    let telemetry = Arc::new(telemetry(&address));
    for _ in 0..100 {
        let mut one = begin(&telemetry);
        one.trace(&HeaderMap::new());
        one.finish();
    }
    telemetry.flush().await.unwrap();
    let (_, body) = posted.recv().await.unwrap();
    let spans = body.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap();
    assert_eq!(spans.len(), 100);
    assert!(posted.try_recv().is_err());
}

#[tokio::test]
async fn spans_that_no_collector_accepts_are_counted() {
    let (address, _posted) = collector("503 Service Unavailable").await;
    let telemetry = telemetry(&address);
    let mut one = begin(&telemetry);
    one.trace(&HeaderMap::new());
    one.finish();
    telemetry.flush().await.unwrap();
    let text = telemetry.prometheus(|_| true);
    assert!(text.contains("toolwright_spans_dropped_total 1"), "{text}");
}

#[test]
fn without_a_collector_the_clients_trace_context_is_forwarded() {
    let telemetry = Telemetry::default();
    let mut one = begin(&telemetry);
    assert_eq!(one.traceparent(), None);
    one.trace(&headers(CLIENT));
    assert_eq!(one.traceparent().unwrap(), CLIENT);
    one.trace(&HeaderMap::new());
    assert_eq!(one.traceparent(), None);
}
