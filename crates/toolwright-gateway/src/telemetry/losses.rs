//! The loss reports of recent exchanges, for `GET /v1/losses/{request_id}`, and the header with its
//! path.
//!
//! The number and the size of reports are limited, and the oldest are removed first. The ledger
//! still has the losses of removed reports.

mod header;

use parking_lot::Mutex;

use toolwright_core::{Dialect, Json, object};
use toolwright_dialects::translate::Report;
use toolwright_runtime::Caller;
use toolwright_runtime::bounded::BoundedMap;

use super::RequestId;

pub use header::{HEADER, value};

/// The losses of an exchange.
#[derive(Debug, Clone)]
pub struct Lost {
    /// The exchange
    pub id: RequestId,
    /// The client, which alone may read the report
    pub client: Caller,
    /// The client's dialect
    pub from: Dialect,
    /// The upstream's dialect, if an upstream was chosen
    pub to: Option<Dialect>,
    /// The report of the request
    pub request: Report,
    /// The report of the response so far
    pub response: Report,
}

/// The reports of recent exchanges.
#[derive(Debug)]
pub struct Losses {
    reports: Mutex<Reports>,
    max_entries: usize,
}

type Reports = BoundedMap<RequestId, Lost, ()>;

/// Maximum size of all reports in bytes, approximately.
const WEIGHT: usize = 16 * 1024 * 1024;

impl Losses {
    /// Creates a store for this many reports.
    pub fn new(max_entries: usize) -> Losses {
        Losses { reports: Mutex::default(), max_entries }
    }

    /// Stores a report. It replaces an earlier report of the same exchange.
    pub fn insert(&self, lost: Lost) {
        if self.max_entries == 0 {
            return;
        }
        let (id, weight) = (lost.id, lost.weight());
        let mut reports = self.reports.lock();
        reports.insert(id, lost, weight, ());
        while reports.pop_excess(self.max_entries, WEIGHT).is_some() {}
    }

    /// Returns the report of an exchange, if the client made it.
    pub fn find(&self, id: RequestId, client: &Caller) -> Option<Json> {
        self.reports.lock().get(&id).filter(|lost| lost.client == *client).map(Lost::to_json)
    }

    /// Returns the number of reports.
    pub fn len(&self) -> usize {
        self.reports.lock().len()
    }

    /// Whether there is no report.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Lost {
    /// Returns the document for the client.
    pub fn to_json(&self) -> Json {
        let mut out = object! {
            "request_id": self.id.to_string(),
            "dialect": self.from.id(),
            "upstream_dialect": self.to.map_or(Json::Null, |to| to.id().into()),
        };
        out.push("request", self.request.to_json());
        out.push("response", self.response.to_json());
        Json::Object(out)
    }

    /// Returns the approximate size in bytes.
    fn weight(&self) -> usize {
        size_of::<Lost>() + weight(&self.request) + weight(&self.response)
    }
}

/// Returns the approximate size of a report in bytes.
pub fn weight(report: &Report) -> usize {
    let losses = report.losses.iter().map(|entry| {
        size_of_val(entry) + entry.path.len() + entry.loss.what.len() + entry.loss.why.len()
    });
    let pairs = report.aliases.names.iter().chain(&report.aliases.ids);
    let pairs = pairs.map(|(alias, own)| size_of::<(String, String)>() + alias.len() + own.len());
    losses.sum::<usize>() + pairs.sum::<usize>()
}

#[cfg(test)]
mod tests;
