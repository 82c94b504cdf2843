//! The JSON form of a call.

use toolwright_core::args::{Change, Op};
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::super::{CallEntry, ResultSource, time};
use super::{micros, push_list, read_caller, read_loss, read_micros, read_time, write_loss};
use crate::error::CallErrorKind;

impl CallEntry {
    /// Returns the outcome as a word: `ok`, `failed` or `waiting`.
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
        out.insert_some("parent", self.parent.as_deref());
        out.insert_some("key", self.key.as_deref());
        out.push("outcome", self.outcome());
        out.insert_some("error", self.error.map(CallErrorKind::as_str));
        out.insert_some("source", self.source.map(ResultSource::as_str));
        out.push("attempts", u64::from(self.attempts));
        out.push("duration_us", micros(self.duration));
        push_list(&mut out, "changes", &self.changes, |change| Json::Object(change.to_json()));
        push_list(&mut out, "losses", &self.losses, write_loss);
        out.insert_some("data", self.data.clone());
        out
    }

    pub(super) fn read(fields: ObjectReader<'_>) -> Result<CallEntry, DocumentError> {
        let entry = CallEntry {
            time: read_time(fields)?,
            run: fields.text("run")?.into(),
            caller: read_caller(fields)?,
            call_id: fields.text("call_id")?.into(),
            parent: fields.owned("parent")?,
            tool: fields.text("tool")?.into(),
            key: fields.owned("key")?,
            error: fields.optional_word("error", "a kind of error", CallErrorKind::from_name)?,
            source: fields.optional_word("source", "a source", ResultSource::from_name)?,
            attempts: fields.count("attempts")?,
            duration: read_micros(fields, "duration_us")?,
            changes: fields.optional_list("changes", read_change)?,
            losses: fields.optional_list("losses", read_loss)?,
            data: fields.present("data", |data| Ok(data.clone()))?,
        };
        let expected = "the outcome that the other fields say";
        fields.word("outcome", expected, |word| (word == entry.outcome()).then_some(()))?;
        Ok(entry)
    }
}

fn read_change(document: &Json) -> Result<Change, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let find = |word: &str| Op::ALL.iter().copied().find(|op| op.as_str() == word);
    let mut change =
        Change::new(fields.text("path")?, fields.word("op", "a kind of change", find)?);
    change.from = fields.present("from", |value| Ok(value.clone()))?;
    change.to = fields.present("to", |value| Ok(value.clone()))?;
    Ok(change)
}
