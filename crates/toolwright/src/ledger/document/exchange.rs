//! An exchange's document.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::json::Object;
use toolwright_core::{Dialect, FaultClass, Json, Usage, object};

use super::super::{ExchangeEntry, Kind, Tried, time};
use super::{
    NotAnEntry, caller, count, list, loss, micros, push_list, text, time_of, word, write_loss,
};
use crate::chat::response::{finish_reason, stop_reason};
use crate::error::CallErrorKind;

impl ExchangeEntry {
    pub(super) fn to_json(&self) -> Object {
        let mut out = object! {
            "kind": Kind::Exchange.word(),
            "time": time::write(self.time),
            "run": &*self.run,
            "caller": &*self.caller.id,
            "tenant": &*self.caller.tenant,
            "dialect": self.dialect.id(),
            "endpoint": &*self.endpoint,
        };
        let mut some = |name: &'static str, text: Option<&str>| {
            if let Some(text) = text {
                out.push(name, text);
            }
        };
        some("model", self.model.as_deref());
        some("upstream", self.upstream.as_deref());
        some("upstream_dialect", self.upstream_dialect.map(Dialect::id));
        some("answered", self.answered.as_deref());
        some("answer_id", self.answer_id.as_deref());
        out.push("stream", self.stream);
        out.push("untouched", self.untouched);
        out.push("status", u64::from(self.status));
        out.insert_some("error", self.error.map(FaultClass::word));
        out.push("left", self.left);
        push_list(&mut out, "attempts", &self.attempts, |own| {
            tried(own, "upstream", FaultClass::word)
        });
        out.push("duration_us", micros(self.duration));
        out.insert_some("first_byte_us", self.first_byte.map(micros));
        out.push("added_us", micros(self.added));
        out.insert_some("usage", self.usage.as_ref().map(write_usage));
        out.insert_some("stop", self.stop.map(finish_reason));
        push_list(&mut out, "calls", &self.calls, |name| Json::from(name.as_str()));
        push_list(&mut out, "ran", &self.ran, |own| tried(own, "tool", CallErrorKind::as_str));
        out.push("bytes_in", self.bytes_in);
        out.push("bytes_out", self.bytes_out);
        push_list(&mut out, "losses", &self.losses, write_loss);
        push_list(&mut out, "response_losses", &self.response_losses, write_loss);
        if self.more_losses > 0 {
            out.push("more_losses", self.more_losses);
        }
        out.insert_some("data", self.data.clone());
        out
    }

    pub(super) fn from_json(document: &Json) -> Result<ExchangeEntry, NotAnEntry> {
        let dialect = |word: &str| word.parse::<Dialect>().ok();
        let owned = |name| word(document, name, |word| Some(word.to_owned()));
        let shared = |name| word(document, name, |word| Some(Arc::from(word)));
        Ok(ExchangeEntry {
            time: time_of(document)?,
            run: text(document, "run")?.into(),
            caller: caller(document)?,
            dialect: word(document, "dialect", dialect)?.ok_or(NotAnEntry("dialect"))?,
            endpoint: text(document, "endpoint")?.to_owned().into(),
            model: shared("model")?,
            upstream: shared("upstream")?,
            upstream_dialect: word(document, "upstream_dialect", dialect)?,
            answered: owned("answered")?,
            answer_id: owned("answer_id")?,
            stream: flag(document, "stream")?,
            untouched: flag(document, "untouched")?,
            status: count(document, "status")?.try_into().map_err(|_| NotAnEntry("status"))?,
            error: word(document, "error", FaultClass::from_word)?,
            left: flag(document, "left")?,
            attempts: list(document, "attempts", |own| {
                read_tried(own, "upstream", FaultClass::from_word)
            })?,
            duration: Duration::from_micros(count(document, "duration_us")?),
            first_byte: some_count(document, "first_byte_us")?.map(Duration::from_micros),
            added: Duration::from_micros(count(document, "added_us")?),
            usage: usage(document)?,
            stop: word(document, "stop", stop_reason)?,
            calls: list(document, "calls", |name| name.as_str().map(str::to_owned))?,
            ran: list(document, "ran", |own| read_tried(own, "tool", CallErrorKind::from_word))?,
            bytes_in: count(document, "bytes_in")?,
            bytes_out: count(document, "bytes_out")?,
            losses: list(document, "losses", loss)?,
            response_losses: list(document, "response_losses", loss)?,
            more_losses: some_count(document, "more_losses")?.unwrap_or(0),
            data: document.get("data").cloned(),
        })
    }
}

fn flag(document: &Json, name: &'static str) -> Result<bool, NotAnEntry> {
    document.get(name).and_then(Json::as_bool).ok_or(NotAnEntry(name))
}

fn some_count(document: &Json, name: &'static str) -> Result<Option<u64>, NotAnEntry> {
    document.get(name).map(|_| count(document, name)).transpose()
}

fn tried<E: Copy>(own: &Tried<E>, name: &'static str, word: impl Fn(E) -> &'static str) -> Json {
    let mut out = Object::with_capacity(3);
    out.push(name, &*own.name);
    out.insert_some("error", own.error.map(word));
    out.push("duration_us", micros(own.duration));
    Json::Object(out)
}

fn read_tried<E>(
    document: &Json,
    name: &'static str,
    read: impl Fn(&str) -> Option<E>,
) -> Option<Tried<E>> {
    Some(Tried {
        name: text(document, name).ok()?.into(),
        error: word(document, "error", read).ok()?,
        duration: Duration::from_micros(count(document, "duration_us").ok()?),
    })
}

fn write_usage(usage: &Usage) -> Object {
    let mut out = Object::with_capacity(5);
    let counts = [
        ("input", usage.input),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("output", usage.output),
        ("reasoning", usage.reasoning),
    ];
    for (name, count) in counts {
        out.insert_some(name, count);
    }
    out
}

fn usage(document: &Json) -> Result<Option<Usage>, NotAnEntry> {
    let Some(own) = document.get("usage") else { return Ok(None) };
    own.as_object().ok_or(NotAnEntry("usage"))?;
    let count = |name| some_count(own, name).map_err(|_| NotAnEntry("usage"));
    Ok(Some(Usage {
        input: count("input")?,
        cache_read: count("cache_read")?,
        cache_write: count("cache_write")?,
        output: count("output")?,
        reasoning: count("reasoning")?,
        ..Usage::default()
    }))
}
