//! An entry as a JSON document and back. The text of the document is what the chain covers.

mod call;
mod exchange;
mod page;

use std::time::{Duration, SystemTime};

use toolwright_core::Json;
use toolwright_core::fit::{Loss, Severity, Site};
use toolwright_core::json::{Line, Object};
use toolwright_core::origin::Origin;

use super::{CallEntry, Entry, ExchangeEntry, Kind, time};
use crate::session::Caller;

/// A document is no entry of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an entry of a ledger: {0} is missing or wrong")]
pub struct NotAnEntry(pub &'static str);

impl Entry {
    /// The document, with the fields that the [ledger](super) names.
    pub fn to_json(&self) -> Object {
        match self {
            Entry::Call(call) => call.to_json(),
            Entry::Exchange(exchange) => {
                let mut out = Object::new();
                exchange.write(&mut out);
                out
            }
        }
    }

    /// The text of the document.
    pub(super) fn text(&self) -> String {
        match self {
            Entry::Call(call) => call.to_json().compact(),
            // There are many, and each is written as soon as it is said.
            Entry::Exchange(exchange) => {
                let mut line = Line::new();
                exchange.write(&mut line);
                line.end()
            }
        }
    }

    /// Reads the document. A loss comes back with its path, no longer with its origin; a change with
    /// the cost of its kind.
    pub fn from_json(document: &Json) -> Result<Entry, NotAnEntry> {
        // Ledgers had calls before they had kinds.
        match document.get("kind") {
            None => CallEntry::from_json(document).map(Entry::from),
            Some(kind) if kind.as_str() == Some(Kind::Exchange.word()) => {
                ExchangeEntry::from_json(document).map(Entry::from)
            }
            Some(_) => Err(NotAnEntry("kind")),
        }
    }
}

fn text<'d>(document: &'d Json, name: &'static str) -> Result<&'d str, NotAnEntry> {
    document.get(name).and_then(Json::as_str).ok_or(NotAnEntry(name))
}

fn count(document: &Json, name: &'static str) -> Result<u64, NotAnEntry> {
    document.get(name).and_then(Json::as_u64).ok_or(NotAnEntry(name))
}

fn time_of(document: &Json) -> Result<SystemTime, NotAnEntry> {
    time::read(text(document, "time")?).ok_or(NotAnEntry("time"))
}

fn caller(document: &Json) -> Result<Caller, NotAnEntry> {
    Ok(Caller::new(text(document, "caller")?).with_tenant(text(document, "tenant")?))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// An optional field by its word.
fn word<T>(
    document: &Json,
    name: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, NotAnEntry> {
    let Some(value) = document.get(name) else { return Ok(None) };
    value.as_str().and_then(read).map(Some).ok_or(NotAnEntry(name))
}

/// A list that is absent if it is empty.
fn list<T>(
    document: &Json,
    name: &'static str,
    read: impl Fn(&Json) -> Option<T>,
) -> Result<Vec<T>, NotAnEntry> {
    let Some(value) = document.get(name) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or(NotAnEntry(name))?;
    items.iter().map(|item| read(item).ok_or(NotAnEntry(name))).collect()
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

fn loss(document: &Json) -> Option<Loss> {
    let text = |name| document.get(name).and_then(Json::as_str).map(str::to_owned);
    let severity = Severity::from_word(document.get("severity")?.as_str()?)?;
    let site = Site::of(&Origin::NONE).below(text("path")?);
    Some(Loss::new(severity, site, text("what")?, text("why")?))
}
