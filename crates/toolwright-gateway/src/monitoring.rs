//! `/readyz`, `/metrics` and `/v1/losses/{id}`: how the gateway is, what it did, and what an exchange lost.

use std::path::Path;

use toolwright_core::{Fault, FaultClass};
use toolwright_runtime::store;

use crate::fault;
use crate::http::{Health, Reply, typed_reply};
use crate::key::Client;
use crate::telemetry::{Telemetry, ledger};

/// The media type of metrics.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers `/readyz`: not ready while the server drains, the ledger cannot be written or a store is damaged.
pub(crate) fn readyz(telemetry: &Telemetry, health: &Health) -> Reply {
    if telemetry.records().failure().is_some() {
        return health.unready("the ledger cannot be written\n");
    }
    // Without its ledger, a gateway may go on.
    let damaged = store::damaged().into_iter().find(|path| !path.ends_with(ledger::FILE));
    match damaged.as_deref().and_then(Path::file_name) {
        Some(name) => health.unready(format!("{} is damaged\n", name.display())),
        None => health.readyz(),
    }
}

/// Answers `/metrics`. Functions that the client may not call are left out.
pub(crate) fn metrics(telemetry: &Telemetry, shows_function: impl Fn(&str) -> bool) -> Reply {
    typed_reply(METRICS, telemetry.prometheus(shows_function))
}

/// Answers `/v1/losses/{id}`.
pub(crate) async fn losses(
    telemetry: &Telemetry,
    id: &str,
    client: &Client,
) -> Result<Reply, Fault> {
    let found = match id.parse() {
        Ok(id) => telemetry.losses(id, &client.caller()).await,
        Err(_) => Ok(None),
    };
    let found = found.map_err(|_| {
        let message = "The ledger cannot be read now. The gateway's log says why.";
        Fault::new(FaultClass::Internal, message)
    })?;
    found.map(|document| fault::document(&document)).ok_or_else(|| {
        let message = "There is no report for this request id. The id is in the header \
                       `toolwright-request-id` of a reply, and only the client that made the \
                       request may read its report.";
        Fault::new(FaultClass::NotFound, message)
    })
}
