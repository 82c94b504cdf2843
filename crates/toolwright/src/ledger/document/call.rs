//! A call's document.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::args::{Change, Op};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::super::{CallEntry, time};
use super::{
    NotAnEntry, caller, count, list, loss, micros, push_list, text, time_of, word, write_loss,
};
use crate::call::Source;
use crate::error::CallErrorKind;

impl CallEntry {
    /// What came of the call in a word: `ok`, `failed` or `waiting`.
    pub fn outcome(&self) -> &'static str {
        match (self.error, self.source) {
            (Some(_), _) => "failed",
            (None, None) => "waiting",
            (None, Some(_)) => "ok",
        }
    }

    pub(super) fn to_json(&self) -> Object {
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
        out.push("duration_us", micros(self.duration));
        push_list(&mut out, "changes", &self.changes, |change| Json::Object(change.to_json()));
        push_list(&mut out, "losses", &self.losses, write_loss);
        out.insert_some("data", self.data.clone());
        out
    }

    pub(super) fn from_json(document: &Json) -> Result<CallEntry, NotAnEntry> {
        let attempts = u32::try_from(count(document, "attempts")?);
        let entry = CallEntry {
            time: time_of(document)?,
            run: text(document, "run")?.into(),
            caller: caller(document)?,
            call_id: text(document, "call_id")?.into(),
            tool: text(document, "tool")?.into(),
            key: word(document, "key", |key| Some(Arc::from(key)))?,
            error: word(document, "error", CallErrorKind::from_word)?,
            source: word(document, "source", Source::from_word)?,
            attempts: attempts.map_err(|_| NotAnEntry("attempts"))?,
            duration: Duration::from_micros(count(document, "duration_us")?),
            changes: list(document, "changes", change)?,
            losses: list(document, "losses", loss)?,
            data: document.get("data").cloned(),
        };
        if entry.outcome() != text(document, "outcome")? {
            return Err(NotAnEntry("outcome"));
        }
        Ok(entry)
    }
}

fn change(document: &Json) -> Option<Change> {
    let word = document.get("op")?.as_str()?;
    let op = Op::ALL.iter().copied().find(|op| op.as_str() == word)?;
    let mut change = Change::new(document.get("path")?.as_str()?, op);
    change.from = document.get("from").cloned();
    change.to = document.get("to").cloned();
    Some(change)
}
