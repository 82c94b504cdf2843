//! Records exchanges in the ledger, in one chain with the calls of the gateway's tools.

mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_core::json::Object;
use toolwright_core::loss::{Loss, Site};
use toolwright_core::{FaultClass, Json, Origin, object};
use toolwright_dialects::translate::Report;
use toolwright_runtime::ledger::{
    Backpressure, ExchangeEntry, Kind, Ledger, LedgerError, MemoryLedger, Overflow, Query,
    SqliteLedger, Tried,
};
use toolwright_runtime::store::StoreError;
use toolwright_runtime::{CallErrorKind, Caller};
use toolwright_transport::private_file;

use super::config::{LedgerSettings, OnFailure};
use super::record::{Attempt, ExecutedCall, Payloads};
use super::{ExchangeRecord, RequestId};

/// The file in the data folder.
pub const FILE: &str = "ledger.sqlite";

/// Maximum number of losses of a request, or of a reply, that an entry lists.
const MAX_LISTED_LOSSES: usize = 1_000;

/// Counters of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Numbers {
    /// Entries that are not written yet
    pub(super) waiting: usize,
    /// Writes that failed
    pub(super) failures: u64,
    /// Entries that were dropped
    pub(super) dropped: u64,
}

/// The ledger of exchanges and calls.
#[derive(Debug, Clone)]
pub enum Records {
    /// In memory, the last ten thousand entries
    Memory(MemoryLedger),
    /// In a file
    File(Arc<SqliteLedger>),
}

/// Why the ledger cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The data folder cannot be created
    #[error("the data folder {} cannot be created: {why}; choose another with --data", path.display())]
    Folder {
        /// The folder
        path: PathBuf,
        /// The system's error
        why: io::Error,
    },
    /// The file cannot be used
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Records {
    /// Opens the ledger in the data folder, which is created for its owner only.
    pub fn open(folder: &Path, config: &LedgerSettings) -> Result<Records, RecordsError> {
        private_file::create_folder(folder)
            .map_err(|why| RecordsError::Folder { path: folder.to_owned(), why })?;
        let ledger = SqliteLedger::open(folder.join(FILE))?.with_observer(observe);
        let ledger = if config.payloads { ledger.with_data() } else { ledger };
        let ledger = ledger.with_overflow(match config.on_failure {
            OnFailure::Refuse => Overflow::Wait,
            OnFailure::Continue => Overflow::Drop,
        });
        Ok(Records::File(Arc::new(ledger)))
    }

    /// Logs the result of a quick check of the file, then checks it every second while the gateway
    /// runs, and calls a function each time. Removes what is older than the configuration allows, now and every hour.
    pub async fn watch(&self, config: &LedgerSettings, each: impl Fn()) {
        if let Records::File(ledger) = self {
            watch::watch(ledger, config, each).await;
        }
    }

    /// Returns why the gateway is not ready: the file cannot be written, and requests would be
    /// refused.
    pub fn failure(&self) -> Option<StoreError> {
        match self {
            Records::File(ledger) if ledger.overflow() == Overflow::Wait => ledger.failure(),
            Records::File(_) | Records::Memory(_) => None,
        }
    }

    /// Returns the counters for the metrics.
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Records::Memory(_) => Numbers::default(),
            Records::File(ledger) => Numbers {
                waiting: ledger.backlog(),
                failures: ledger.failures(),
                dropped: ledger.dropped(),
            },
        }
    }

    /// Returns the ledger for the calls of the gateway's tools.
    pub fn shared(&self) -> Arc<dyn Ledger> {
        match self {
            Records::Memory(ledger) => Arc::new(ledger.clone()),
            Records::File(ledger) => ledger.clone(),
        }
    }

    /// Returns what the next exchange must wait for, if entries arrive faster than they are
    /// written.
    pub fn backpressure(&self) -> Option<Backpressure> {
        self.ledger().backpressure()
    }

    /// Waits until all entries are written.
    pub async fn flush(&self) -> Result<(), StoreError> {
        match self {
            Records::Memory(_) => Ok(()),
            Records::File(ledger) => ledger.flush().await,
        }
    }

    /// Waits until all entries are written, and records that none is missing.
    pub async fn close(&self) -> Result<(), StoreError> {
        match self {
            Records::Memory(_) => Ok(()),
            Records::File(ledger) => ledger.close().await,
        }
    }

    /// Whether bodies are recorded.
    pub(super) fn wants_payloads(&self) -> bool {
        self.ledger().wants_data()
    }

    /// Returns the losses of an exchange, for the client that made it.
    pub(super) async fn losses(
        &self,
        id: RequestId,
        client: &Caller,
    ) -> Result<Option<Json>, LedgerError> {
        let query = Query::new()
            .with_kind(Kind::Exchange)
            .with_run(id.to_string())
            .with_caller(&*client.id)
            .with_tenant(&*client.tenant)
            .with_limit(1);
        let entries = match self {
            Records::Memory(ledger) => ledger.entries(&query),
            Records::File(ledger) => ledger.entries(&query).await?,
        };
        Ok(entries.first().and_then(|found| found.entry.as_exchange()).map(document))
    }

    /// Records an exchange.
    pub(super) fn record(&self, entry: ExchangeEntry) {
        self.ledger().record(entry.into());
    }

    fn ledger(&self) -> &dyn Ledger {
        match self {
            Records::Memory(ledger) => ledger,
            Records::File(ledger) => &**ledger,
        }
    }
}

/// Logs when writing starts to fail, and when it works again.
fn observe(failure: Option<&StoreError>) {
    if let Some(error) = failure {
        tracing::error!(%error, "the ledger cannot be written");
    } else {
        tracing::info!("the ledger is written again");
    }
}

/// Builds the entry, and takes everything from the record except its reports.
pub(super) fn entry(record: &mut ExchangeRecord) -> ExchangeEntry {
    let listed = [&record.request_report, &record.response_report]
        .map(|report| report.losses.len().min(MAX_LISTED_LOSSES));
    ExchangeEntry {
        time: record.start,
        run: record.id.to_string().into(),
        caller: record.client.clone(),
        conversation: record.conversation.take(),
        dialect: record.dialect,
        endpoint: record.endpoint.into(),
        model: record.requested_model.take(),
        upstream: record.upstream.take(),
        upstream_dialect: record.upstream_dialect,
        answered: record.response_model.take(),
        answer_id: record.response_id.take(),
        stream: record.stream,
        untouched: record.untouched,
        status: record.status,
        error: record.fault,
        left: record.client_left,
        attempts: std::mem::take(&mut record.attempts).into_iter().map(attempt).collect(),
        duration: record.timing.total,
        first_byte: record.timing.first_byte,
        added: record.timing.added,
        usage: record.usage.take(),
        stop: record.stop,
        calls: std::mem::take(&mut record.calls),
        ran: std::mem::take(&mut record.executed_calls).into_iter().map(ran).collect(),
        bytes_in: record.bytes_in,
        bytes_out: record.bytes_out,
        losses: losses(&record.request_report),
        response_losses: losses(&record.response_report),
        more_losses: (record.loss_count() - listed.iter().sum::<usize>()) as u64,
        count: 1,
        data: record.payloads.take().map(data),
    }
}

fn attempt(Attempt { upstream, fault, took, .. }: Attempt) -> Tried<FaultClass> {
    Tried { name: upstream, error: fault, duration: took }
}

fn ran(ExecutedCall { tool, error, took, .. }: ExecutedCall) -> Tried<CallErrorKind> {
    Tried { name: tool, error, duration: took }
}

/// Returns the losses with their paths.
fn losses(report: &Report) -> Vec<Loss> {
    let losses = report.losses.iter().take(MAX_LISTED_LOSSES);
    let spelled = losses.map(|entry| {
        let (what, why) = (entry.loss.what.clone(), entry.loss.why.clone());
        Loss::new(entry.loss.severity, Site::of(&Origin::NONE).below(&*entry.path), what, why)
    });
    spelled.collect()
}

fn data(Payloads { request, response, upstream }: Payloads) -> Json {
    let mut members = object! {"request": body(&request), "response": body(&response)};
    let named =
        |(name, own): (Arc<str>, Payloads)| object! {"upstream": &*name, "bodies": data(own)};
    if !upstream.is_empty() {
        members.push("upstreams", upstream.into_iter().map(named).collect::<Vec<Object>>());
    }
    members.into()
}

/// Returns a body as JSON, or as text if it is not JSON, such as a stream.
pub(super) fn body(bytes: &[u8]) -> Json {
    let text = String::from_utf8_lossy(bytes);
    Json::parse(&text).unwrap_or_else(|_| Json::from(text.into_owned()))
}

/// Returns the document for a client from the ledger, which has the losses only.
fn document(exchange: &ExchangeEntry) -> Json {
    let list = |losses: &[Loss]| {
        let losses = losses.iter().map(|loss| Json::Object(loss.to_json(&[])));
        object! {"losses": losses.collect::<Vec<Json>>()}
    };
    let to = exchange.upstream_dialect;
    Json::Object(object! {
        "request_id": &*exchange.run,
        "dialect": exchange.dialect.id(),
        "upstream_dialect": to.map_or(Json::Null, |to| to.id().into()),
        "request": list(&exchange.losses),
        "response": list(&exchange.response_losses),
    })
}
