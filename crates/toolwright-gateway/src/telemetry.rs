//! What happened: every exchange is told of once, and becomes a line in the log, numbers in the
//! metrics, an entry in the ledger, and a report of what was lost.
//!
//! ```text
//! Telemetry::begin → Exchanging → (finished, or dropped) → Exchanged → line, metrics, ledger, losses
//! ```
//!
//! Nothing here waits: numbers are atomic, lines and entries are written by threads of their own.

pub mod exchanged;
mod exchanging;
pub mod id;
pub mod ledger;
pub mod line;
pub mod log;
pub mod losses;
pub mod metrics;
#[cfg(feature = "otel")]
pub mod otel;
pub mod trace;
mod trail;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use toolwright::Caller;
use toolwright::ledger::{LedgerError, MemoryLedger};
use toolwright::store::StoreError;
use toolwright_core::translate::Report;
use toolwright_core::{Dialect, Fault, FaultClass, Json};

use crate::config::{self, Config};

pub use exchanged::Exchanged;
pub use exchanging::Exchanging;
pub use id::RequestId;
pub use ledger::{Records, RecordsError};
pub use losses::{Losses, Lost};
pub use metrics::Metrics;
pub use trail::Trail;

/// Where exchanges are told of. Clones are the same.
#[derive(Debug, Clone)]
pub struct Telemetry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    metrics: Metrics,
    records: Records,
    losses: Losses,
    log: config::Log,
    /// How long a request waits for room in the ledger
    wait: Duration,
    /// Whether spans go to a collector
    traces: AtomicBool,
    #[cfg(feature = "otel")]
    exporter: std::sync::OnceLock<otel::Exporter>,
}

impl Telemetry {
    /// With a ledger, as the configuration says for log and losses.
    pub fn new(records: Records, config: &Config) -> Telemetry {
        Telemetry(Arc::new(Inner {
            metrics: Metrics::new(),
            records,
            losses: Losses::new(config.losses.keep),
            log: config.log.clone(),
            wait: config.ledger.wait,
            traces: AtomicBool::new(false),
            #[cfg(feature = "otel")]
            exporter: std::sync::OnceLock::new(),
        }))
    }

    /// With a ledger in the data folder.
    pub fn open(config: &Config) -> Result<Telemetry, RecordsError> {
        Ok(Telemetry::new(Records::open(&config.data, &config.ledger)?, config))
    }

    /// Waits until the ledger accepts entries, up to the configured limit. A request that is refused
    /// here is not recorded.
    pub async fn admit(&self) -> Result<(), Fault> {
        let Some(room) = self.0.records.room() else { return Ok(()) };
        tokio::time::timeout(self.0.wait, room).await.map_err(|_| {
            let message = "The gateway cannot write its ledger now, and answers nothing that it \
                           cannot record. Try again later; the gateway's log says why.";
            let mut fault = Fault::new(FaultClass::Overloaded, message);
            fault.status = Some(503);
            fault.retry_after_ms = Some(1000);
            fault
        })
    }

    /// Begins an exchange: the request's head has been read, and it is known whose it is.
    pub fn begin(&self, dialect: Dialect, endpoint: &'static str, client: Caller) -> Exchanging {
        Exchanging::new(Exchanged::new(dialect, endpoint, client), self.clone())
    }

    /// Tells of an exchange that is over. [`Exchanging`] does it by itself.
    pub fn exchanged(&self, mut told: Exchanged) {
        self.tell(&mut told);
    }

    /// Whether an exchange shall bring its bodies along.
    pub fn wants_payloads(&self) -> bool {
        self.0.log.payloads || self.0.records.wants_payloads()
    }

    /// The report of an exchange, for the client that made it. What has left the memory is looked
    /// for in the ledger.
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

    /// Sends traces from now on. Only the first exporter counts.
    #[cfg(feature = "otel")]
    pub fn export(&self, exporter: otel::Exporter) -> &otel::Exporter {
        self.0.traces.store(true, Ordering::Relaxed);
        self.0.exporter.get_or_init(|| exporter)
    }

    /// Waits until everything that was told is written and sent.
    pub async fn flush(&self) -> Result<(), StoreError> {
        #[cfg(feature = "otel")]
        if let Some(exporter) = self.0.exporter.get() {
            exporter.flush().await;
        }
        self.0.records.flush().await
    }

    /// Whether exchanges become spans that somebody records.
    fn traces(&self) -> bool {
        self.0.traces.load(Ordering::Relaxed)
    }

    /// The numbers.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The numbers as text for Prometheus.
    pub fn prometheus(&self) -> String {
        self.0.metrics.text(self.0.records.numbers())
    }

    /// The ledger.
    pub fn records(&self) -> &Records {
        &self.0.records
    }

    fn lost(&self, told: &Exchanged) {
        self.keep(told, told.request.clone(), told.response.clone());
    }

    fn tell(&self, told: &mut Exchanged) {
        line::write(told, self.0.log.format);
        if self.0.log.payloads {
            line::payloads(told);
        }
        self.0.metrics.count(told);
        #[cfg(feature = "otel")]
        if let Some(exporter) = self.0.exporter.get() {
            exporter.exchanged(told);
        }
        self.0.records.record(told);
        // What passes as it is loses nothing: the ledger says so to whoever asks.
        if told.untouched {
            return;
        }
        let reports = (std::mem::take(&mut told.request), std::mem::take(&mut told.response));
        self.keep(told, reports.0, reports.1);
    }

    fn keep(&self, told: &Exchanged, request: Report, response: Report) {
        let Exchanged { id, dialect: from, upstream_dialect: to, .. } = *told;
        self.0.losses.keep(Lost { id, client: told.client.clone(), from, to, request, response });
    }
}

impl Default for Telemetry {
    /// In memory only.
    fn default() -> Telemetry {
        Telemetry::new(Records::Memory(MemoryLedger::new()), &Config::default())
    }
}
