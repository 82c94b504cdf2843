//! Telemetry: every exchange is recorded once, as a line in the log, counts in the metrics, an entry in
//! the ledger and a report of losses.
//!
//! ```text
//! Telemetry::begin → ExchangeRecorder → (finished or dropped) → ExchangeRecord → log, metrics, ledger, losses
//! ```
//!
//! Nothing here blocks: counters are atomic, and separate threads write lines and entries.

mod attempts;
pub mod config;
mod functions;
pub mod id;
pub mod ledger;
pub mod line;
pub mod log;
pub mod losses;
pub mod metrics;
#[cfg(feature = "otel")]
pub mod otel;
pub mod record;
mod recorder;
mod refusals;
mod run;
pub mod trace;
mod wire;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use toolwright_core::{Dialect, Fault, FaultClass, Json};
use toolwright_dialects::translate::Report;
use toolwright_runtime::Caller;
use toolwright_runtime::ledger::{Ledger, LedgerError, MemoryLedger};
use toolwright_runtime::store::StoreError;

use self::config::{LedgerSettings, LogFormat, LogSettings, TelemetrySettings};

pub use attempts::AttemptContext;
pub use id::RequestId;
pub use ledger::{Records, RecordsError};
pub use losses::{Losses, Lost};
pub use metrics::Metrics;
pub use record::ExchangeRecord;
pub use recorder::{BYTES_PER_TOKEN, BusySpan, ExchangeRecorder};
use refusals::Refusals;
pub use run::RunRecord;

/// Emits the records of exchanges. Clones share one state.
#[derive(Debug, Clone)]
pub struct Telemetry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    metrics: Metrics,
    records: Records,
    losses: Losses,
    refusals: Refusals,
    log: LogSettings,
    ledger: LedgerSettings,
    /// Whether spans are exported
    traces: AtomicBool,
    #[cfg(feature = "otel")]
    exporter: std::sync::OnceLock<otel::Exporter>,
}

impl Telemetry {
    /// Creates telemetry with a ledger.
    pub fn new(records: Records, settings: &TelemetrySettings) -> Telemetry {
        Telemetry(Arc::new(Inner {
            metrics: Metrics::new(),
            records,
            losses: Losses::new(settings.losses.max_entries),
            refusals: Refusals::default(),
            log: settings.log.clone(),
            ledger: settings.ledger.clone(),
            traces: AtomicBool::new(false),
            #[cfg(feature = "otel")]
            exporter: std::sync::OnceLock::new(),
        }))
    }

    /// Creates telemetry with a ledger in the data folder.
    pub fn open(data: &Path, settings: &TelemetrySettings) -> Result<Telemetry, RecordsError> {
        Ok(Telemetry::new(Records::open(data, &settings.ledger)?, settings))
    }

    /// Waits until the ledger accepts entries, up to the configured limit. A request that is refused
    /// here is not recorded.
    pub async fn admit(&self) -> Result<(), Fault> {
        let Some(room) = self.0.records.backpressure() else { return Ok(()) };
        tokio::time::timeout(self.0.ledger.max_wait, room).await.map_err(|_| {
            let message = "The gateway cannot write its ledger now, and refuses requests that it \
                           cannot record. Try again later; see the gateway's log for the reason.";
            let fault = Fault::new(FaultClass::Overloaded, message);
            Fault { status: Some(503), retry_after_ms: Some(1000), ..fault }
        })
    }

    /// Begins to record an exchange, after the head of the request was read and its client is known.
    pub fn begin(
        &self,
        dialect: Dialect,
        endpoint: &'static str,
        client: Caller,
    ) -> ExchangeRecorder {
        self.recorder(ExchangeRecord::new(dialect, endpoint, client))
    }

    /// The format of the log.
    pub fn log_format(&self) -> LogFormat {
        self.0.log.format
    }

    /// Continues to record an exchange.
    pub fn recorder(&self, record: ExchangeRecord) -> ExchangeRecorder {
        ExchangeRecorder::new(record, self.clone())
    }

    /// Emits the record of an exchange that has ended. [`ExchangeRecorder`] does it when it is dropped.
    pub fn emit(&self, mut record: ExchangeRecord) {
        self.emit_parts(&mut record);
    }

    /// Whether bodies are recorded.
    pub fn wants_payloads(&self) -> bool {
        self.0.log.payloads || self.0.records.wants_payloads()
    }

    /// Returns the losses of an exchange, for the client that made it: from memory, or else from
    /// the ledger.
    pub async fn losses(
        &self,
        id: RequestId,
        client: &Caller,
    ) -> Result<Option<Json>, LedgerError> {
        match self.0.losses.find(id, client) {
            Some(found) => Ok(Some(found)),
            None => self.0.records.losses(id, client).await,
        }
    }

    /// Exports traces from now on. Later exporters are ignored.
    #[cfg(feature = "otel")]
    pub fn export(&self, exporter: otel::Exporter) -> &otel::Exporter {
        self.0.traces.store(true, Ordering::Relaxed);
        self.0.exporter.get_or_init(|| exporter)
    }

    /// Maintains the ledger while the gateway runs: checks its file, removes old entries, and records refusals.
    pub async fn watch(self) {
        let Inner { records, refusals, ledger, .. } = &*self.0;
        records.watch(ledger, || refusals.record(Some(Instant::now()), records)).await;
    }

    /// Waits until every emitted record is written and sent.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.0.refusals.record(None, &self.0.records);
        #[cfg(feature = "otel")]
        if let Some(exporter) = self.0.exporter.get() {
            exporter.flush().await;
        }
        self.0.records.flush().await
    }

    /// Does so at the end of a process, which may leave threads behind that hold the ledger. What they record is not
    /// missed if it is lost.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.flush().await?;
        self.0.records.close().await
    }

    /// Whether exchanges are exported as spans.
    fn traces(&self) -> bool {
        self.0.traces.load(Ordering::Relaxed)
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The metrics in the text format of Prometheus, with the series of those functions that the filter
    /// accepts.
    pub fn prometheus(&self, shows_function: impl Fn(&str) -> bool) -> String {
        self.0.metrics.text(self.0.records.numbers(), shows_function)
    }

    /// The ledger.
    pub fn records(&self) -> &Records {
        &self.0.records
    }

    /// Returns the ledger for calls of tools. It also counts the calls of functions.
    pub fn ledger(&self) -> Arc<dyn Ledger> {
        let inner = self.0.records.shared();
        Arc::new(functions::CountingLedger { inner, telemetry: self.clone() })
    }

    fn publish_losses(&self, record: &ExchangeRecord) {
        self.store_losses(record, record.request_report.clone(), record.response_report.clone());
    }

    /// Emits a record. The ledger and the losses take its parts.
    fn emit_parts(&self, record: &mut ExchangeRecord) {
        line::write(record, self.0.log.format);
        if self.0.log.payloads {
            line::payloads(record);
        }
        self.0.metrics.count(record);
        #[cfg(feature = "otel")]
        if let Some(exporter) = self.0.exporter.get() {
            exporter.export(record);
        }
        let entry = ledger::entry(record);
        if record.is_unauthenticated {
            self.0.refusals.add(entry, Instant::now());
        } else {
            self.0.records.record(entry);
        }
        // Bytes that pass through lose nothing, so no report is stored; the ledger has the
        // exchange.
        if record.untouched {
            return;
        }
        let request = std::mem::take(&mut record.request_report);
        let response = std::mem::take(&mut record.response_report);
        self.store_losses(record, request, response);
    }

    fn store_losses(&self, record: &ExchangeRecord, request: Report, response: Report) {
        let ExchangeRecord { id, dialect: from, upstream_dialect: to, .. } = *record;
        self.0.losses.insert(Lost {
            id,
            client: record.client.clone(),
            from,
            to,
            request,
            response,
        });
    }
}

impl Default for Telemetry {
    /// Creates telemetry with a ledger in memory.
    fn default() -> Telemetry {
        Telemetry::new(Records::Memory(MemoryLedger::new()), &TelemetrySettings::default())
    }
}
