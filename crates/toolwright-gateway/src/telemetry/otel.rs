//! Exports OpenTelemetry traces, with the feature `otel`: a span for each exchange, with child
//! spans for each attempt at an upstream and each call of the gateway's tools.
//!
//! ```text
//! ExchangeRecord → span (OTLP's JSON) → queue → batch → POST {endpoint}/v1/traces
//! ```
//!
//! An exchange does not wait for the collector: spans that exceed the queue or that the collector
//! rejects are counted in `toolwright_spans_dropped_total`.

mod settings;
mod span;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{mpsc, oneshot};
use toolwright_core::Json;
use toolwright_transport::{Deadlines, HttpClient, TransportError};

use super::{ExchangeRecord, Metrics};

pub use settings::{Settings, SettingsError};

/// Maximum number of exchanges in the queue.
const MAX_QUEUED_EXCHANGES: usize = 2_048;
/// Maximum number of exchanges in one request.
const MAX_BATCH: usize = 256;
/// Time that an exchange waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Maximum time for a request to the collector.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends spans to a collector.
#[derive(Debug)]
pub struct Exporter {
    queue: mpsc::Sender<Item>,
    dropped: Counter,
}

#[derive(Debug)]
enum Item {
    /// The spans of one exchange
    Spans(Vec<Json>),
    /// Acknowledges that everything before is sent
    Flush(oneshot::Sender<()>),
}

/// The sending task.
struct Sender {
    collector: HttpClient,
    settings: Settings,
    dropped: Counter,
}

impl Exporter {
    /// Starts to export to the collector of the settings, on the current runtime.
    pub fn start(settings: Settings, metrics: &Metrics) -> Result<Exporter, TransportError> {
        let deadlines = Deadlines::new().with_connect(SEND_TIMEOUT).with_first_byte(SEND_TIMEOUT);
        let mut collector =
            HttpClient::new("the OpenTelemetry collector")?.with_deadlines(deadlines);
        for (name, value) in &settings.headers {
            collector = collector.with_header(name, value)?;
        }
        let dropped = metrics.dropped_spans();
        let (queue, items) = mpsc::channel(MAX_QUEUED_EXCHANGES);
        let sender = Sender { collector, settings, dropped: dropped.clone() };
        tokio::spawn(sender.run(items));
        Ok(Exporter { queue, dropped })
    }

    /// Waits until every exported span is sent or has failed.
    pub async fn flush(&self) {
        let (ack, sent) = oneshot::channel();
        if self.queue.send(Item::Flush(ack)).await.is_ok() {
            // It fails only when the runtime has ended.
            let _sent = sent.await;
        }
    }

    /// Exports an exchange, if its trace is recorded.
    pub(super) fn export(&self, record: &ExchangeRecord) {
        let Some(trace) = record.trace.filter(super::trace::Trace::is_recorded) else { return };
        let spans = span::spans(record, &trace);
        let count = spans.len() as u64;
        if self.queue.try_send(Item::Spans(spans)).is_err() {
            self.dropped.inc_by(count);
        }
    }
}

impl Sender {
    async fn run(self, mut items: mpsc::Receiver<Item>) {
        while let Some(first) = items.recv().await {
            let (mut spans, mut waiting) = (Vec::new(), Vec::new());
            let mut exchanges = 0;
            let end = tokio::time::Instant::now() + BATCH_DELAY;
            let mut next = Some(first);
            while let Some(item) = next {
                match item {
                    Item::Spans(own) => spans.extend(own),
                    Item::Flush(ack) => waiting.push(ack),
                }
                exchanges += 1;
                next = if exchanges == MAX_BATCH || !waiting.is_empty() {
                    None
                } else {
                    tokio::time::timeout_at(end, items.recv()).await.ok().flatten()
                };
            }
            self.send(spans).await;
            for ack in waiting {
                // The caller may have stopped waiting.
                let _sent = ack.send(());
            }
        }
    }

    async fn send(&self, spans: Vec<Json>) {
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let body = span::document(spans, &self.settings).compact();
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.settings.url.clone();
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let why = match self.collector.send(request).await {
            Ok(reply) if reply.status.is_success() => return,
            Ok(reply) => reply.status.to_string(),
            Err(fault) => fault.message,
        };
        self.dropped.inc_by(count);
        tracing::warn!(target: "toolwright::otel", spans = count, "traces were not sent: {why}");
    }
}
