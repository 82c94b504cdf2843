//! What happened: every exchange is told of once, and becomes a line in the log, numbers in the
//! metrics, an entry in the ledger, and a report of what was lost.
//!
//! ```text
//! Telemetry::begin → Exchanging → (finished, or dropped) → Exchanged → line, metrics, losses, ledger
//! ```
//!
//! Nothing here waits: numbers are atomic, lines and entries are written by threads of their own.

pub mod exchanged;
mod exchanging;
pub mod id;
pub mod line;
pub mod losses;
pub mod metrics;

use std::sync::Arc;

use toolwright::Caller;
use toolwright_core::{Dialect, Json};

pub use exchanged::Exchanged;
pub use exchanging::Exchanging;
pub use id::RequestId;
pub use losses::{Losses, Lost};
pub use metrics::Metrics;

/// Where exchanges are told of. Clones are the same.
#[derive(Debug, Clone)]
pub struct Telemetry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    metrics: Metrics,
    losses: Losses,
}

impl Telemetry {
    /// With room for the reports of so many exchanges.
    pub fn new(losses: usize) -> Telemetry {
        Telemetry(Arc::new(Inner { metrics: Metrics::new(), losses: Losses::new(losses) }))
    }

    /// Begins an exchange: the request's head has been read, and it is known whose it is.
    pub fn begin(&self, dialect: Dialect, endpoint: &'static str, client: Caller) -> Exchanging {
        Exchanging::new(Exchanged::new(dialect, endpoint, client), self.clone())
    }

    /// Tells of an exchange that is over. [`Exchanging`] does it by itself.
    pub fn exchanged(&self, mut told: Exchanged) {
        self.tell(&mut told);
    }

    /// Keeps a report before its exchange is over, so that a client that has seen the header finds
    /// it. At the end it is kept again, with the losses of the answer.
    pub fn lost(&self, lost: Lost) {
        self.0.losses.keep(lost);
    }

    /// The report of an exchange, for the client that made it.
    pub fn losses(&self, id: RequestId, client: &Caller) -> Option<Json> {
        self.0.losses.find(id, client)
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    fn tell(&self, told: &mut Exchanged) {
        line::write(told);
        self.0.metrics.count(told);
        self.0.losses.keep(Lost {
            id: told.id,
            client: told.client.clone(),
            from: told.dialect,
            to: told.upstream_dialect,
            request: std::mem::take(&mut told.request),
            response: std::mem::take(&mut told.response),
        });
    }
}
