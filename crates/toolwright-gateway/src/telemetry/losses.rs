//! The reports of the last exchanges, for `GET /v1/losses/{request_id}`, and the header that leads
//! there.
//!
//! A fixed number of reports is kept, and no more than so many bytes of them; the oldest leave
//! first. After that the ledger has the losses still.

mod header;

use std::sync::{Mutex, MutexGuard, PoisonError};

use toolwright::Caller;
use toolwright::bounded::BoundedMap;
use toolwright_core::translate::Report;
use toolwright_core::{Dialect, Json, object};

use super::RequestId;

pub use header::{HEADER, value};

/// What an exchange lost, and whose it was.
#[derive(Debug, Clone)]
pub struct Lost {
    /// The exchange
    pub id: RequestId,
    /// Who made the request; nobody else may read this
    pub client: Caller,
    /// The client's dialect
    pub from: Dialect,
    /// The upstream's dialect, if it came so far
    pub to: Option<Dialect>,
    /// What the translation of the request reports
    pub request: Report,
    /// What the translation of the answer reports, as far as it has come
    pub response: Report,
}

/// The reports of the last exchanges.
#[derive(Debug)]
pub struct Losses {
    reports: Mutex<Reports>,
    keep: usize,
}

type Reports = BoundedMap<RequestId, Lost, ()>;

/// The most bytes of reports that are kept, roughly counted.
const WEIGHT: usize = 16 * 1024 * 1024;

impl Losses {
    /// A store of so many reports.
    pub fn new(keep: usize) -> Losses {
        Losses { reports: Mutex::default(), keep }
    }

    /// Keeps a report. One of the same exchange that was kept before is replaced.
    pub fn keep(&self, lost: Lost) {
        if self.keep == 0 {
            return;
        }
        let (id, weight) = (lost.id, lost.weight());
        let mut reports = self.reports();
        reports.insert(id, lost, weight, ());
        while reports.pop_excess(self.keep, WEIGHT).is_some() {}
    }

    /// The report of an exchange, for the client that made it. Somebody else's does not exist.
    pub fn find(&self, id: RequestId, client: &Caller) -> Option<Json> {
        self.reports().get(&id).filter(|lost| lost.client == *client).map(Lost::to_json)
    }

    /// How many reports are kept.
    pub fn len(&self) -> usize {
        self.reports().len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn reports(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lost {
    /// The document that the client reads.
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

    /// Roughly how many bytes it takes.
    fn weight(&self) -> usize {
        size_of::<Lost>() + weight(&self.request) + weight(&self.response)
    }
}

/// Roughly how many bytes a report takes.
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
