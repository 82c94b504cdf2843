//! An entry as a JSON document and back. The text of the document is what the chain covers.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::args::{Change, Op};
use toolwright_core::fit::{Loss, Severity, Site};
use toolwright_core::json::Object;
use toolwright_core::origin::Origin;
use toolwright_core::{Json, object};

use super::{Entry, time};
use crate::call::Source;
use crate::error::CallErrorKind;
use crate::session::Caller;

/// A document is no entry of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an entry of a ledger: {0} is missing or wrong")]
pub struct NotAnEntry(pub &'static str);

impl Entry {
    /// What came of the call in a word: `ok`, `failed` or `waiting`.
    pub fn outcome(&self) -> &'static str {
        match (self.error, self.source) {
            (Some(_), _) => "failed",
            (None, None) => "waiting",
            (None, Some(_)) => "ok",
        }
    }

    /// The document, with the fields that the [ledger](super) names.
    pub fn to_json(&self) -> Object {
        let mut out = object! {
            "time": time::write(self.time),
            "run": &*self.run,
            "caller": &*self.caller.id,
            "tenant": &*self.caller.tenant,
            "call_id": &*self.call_id,
            "tool": &*self.tool,
        };
        out.insert_some("key", self.key.as_deref());
        out.push("outcome", self.outcome());
        out.insert_some("error", self.error.map(CallErrorKind::as_str));
        out.insert_some("source", self.source.map(Source::as_str));
        out.push("attempts", u64::from(self.attempts));
        out.push("duration_us", u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX));
        if !self.changes.is_empty() {
            out.push("changes", self.changes.iter().map(Change::to_json).collect::<Vec<_>>());
        }
        if !self.losses.is_empty() {
            let losses = self.losses.iter().map(|loss| loss.to_json(&[]));
            out.push("losses", losses.collect::<Vec<_>>());
        }
        out.insert_some("data", self.data.clone());
        out
    }

    /// The text of the document.
    pub(super) fn text(&self) -> String {
        self.to_json().compact()
    }

    /// Reads the document. A loss comes back with its path, no longer with its origin; a change with
    /// the cost of its kind.
    pub fn from_json(document: &Json) -> Result<Entry, NotAnEntry> {
        let text = |name| document.get(name).and_then(Json::as_str).ok_or(NotAnEntry(name));
        let count = |name| document.get(name).and_then(Json::as_u64).ok_or(NotAnEntry(name));
        let entry = Entry {
            time: time::read(text("time")?).ok_or(NotAnEntry("time"))?,
            run: text("run")?.into(),
            caller: Caller::new(text("caller")?).with_tenant(text("tenant")?),
            call_id: text("call_id")?.into(),
            tool: text("tool")?.into(),
            key: word(document, "key", |key| Some(Arc::from(key)))?,
            error: word(document, "error", CallErrorKind::from_word)?,
            source: word(document, "source", Source::from_word)?,
            attempts: u32::try_from(count("attempts")?).map_err(|_| NotAnEntry("attempts"))?,
            duration: Duration::from_micros(count("duration_us")?),
            changes: list(document, "changes", change)?,
            losses: list(document, "losses", loss)?,
            data: document.get("data").cloned(),
        };
        if entry.outcome() != text("outcome")? {
            return Err(NotAnEntry("outcome"));
        }
        Ok(entry)
    }
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

fn change(document: &Json) -> Option<Change> {
    let word = document.get("op")?.as_str()?;
    let op = Op::ALL.iter().copied().find(|op| op.as_str() == word)?;
    let mut change = Change::new(document.get("path")?.as_str()?, op);
    change.from = document.get("from").cloned();
    change.to = document.get("to").cloned();
    Some(change)
}

fn loss(document: &Json) -> Option<Loss> {
    let text = |name| document.get(name).and_then(Json::as_str).map(str::to_owned);
    let severity = Severity::from_word(document.get("severity")?.as_str()?)?;
    let site = Site::of(&Origin::NONE).below(text("path")?);
    Some(Loss::new(severity, site, text("what")?, text("why")?))
}
