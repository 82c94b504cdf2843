//! The JSON form of an entry. The chain covers its text.

mod approval;
mod call;
mod exchange;

use std::time::{Duration, SystemTime};

use toolwright_core::document::{DocumentError, ObjectReader, text};
use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::{Json, Origin};
use toolwright_json::Object;

use super::{ApprovalEntry, CallEntry, Entry, ExchangeEntry, Kind, time};
use crate::session::Caller;

impl Entry {
    /// Returns the JSON form, with the fields listed in the [ledger](super) module.
    pub fn to_json(&self) -> Object {
        match self {
            Entry::Call(call) => call.to_json(),
            Entry::Approval(answer) => answer.to_json(),
            Entry::Exchange(exchange) => match Json::parse(&exchange.text()) {
                Ok(Json::Object(document)) => document,
                _ => Object::new(),
            },
        }
    }

    /// Returns the JSON text.
    pub(super) fn text(&self) -> String {
        match self {
            Entry::Call(call) => call.to_json().compact(),
            Entry::Approval(answer) => answer.to_json().compact(),
            Entry::Exchange(exchange) => exchange.text(),
        }
    }

    /// Reads an entry. Losses have a path and no origin, and changes the cost of their kind.
    pub fn from_json(document: &Json) -> Result<Entry, DocumentError> {
        let fields = ObjectReader::of(document)?;
        // Entries of early versions are calls and have no kind.
        match fields.present("kind", text)? {
            None => CallEntry::read(fields).map(Entry::from),
            Some(kind) if kind == Kind::Exchange.word() => {
                ExchangeEntry::read(fields).map(Entry::from)
            }
            Some(kind) if kind == Kind::Approval.word() => {
                ApprovalEntry::read(fields).map(Entry::from)
            }
            Some(_) => Err(DocumentError::new("exchange or approval").within("kind")),
        }
    }
}

fn read_time(fields: ObjectReader<'_>) -> Result<SystemTime, DocumentError> {
    fields.word("time", "a time by RFC 3339, to the microsecond", time::read)
}

fn read_caller(fields: ObjectReader<'_>) -> Result<Caller, DocumentError> {
    Ok(Caller::new(fields.text("caller")?).with_tenant(fields.text("tenant")?))
}

fn read_micros(fields: ObjectReader<'_>, key: &str) -> Result<Duration, DocumentError> {
    fields.count(key).map(Duration::from_micros)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Adds a list unless it is empty.
fn push_list<T>(out: &mut Object, name: &'static str, items: &[T], write: impl Fn(&T) -> Json) {
    if !items.is_empty() {
        out.push(name, items.iter().map(write).collect::<Vec<Json>>());
    }
}

fn write_loss(loss: &Loss) -> Json {
    Json::Object(loss.to_json(&[]))
}

fn read_loss(document: &Json) -> Result<Loss, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let text = |key| fields.text(key).map(str::to_owned);
    let severity = fields.word("severity", "a severity", Severity::from_word)?;
    let site = Site::of(&Origin::NONE).below(text("path")?);
    Ok(Loss::new(severity, site, text("what")?, text("why")?))
}
