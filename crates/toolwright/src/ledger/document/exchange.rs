//! An exchange's document.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::{Dialect, FaultClass, Json, Usage};

use super::super::{ExchangeEntry, Kind, Tried, time};
use super::page::Page;
use super::{NotAnEntry, caller, count, list, loss, micros, text, time_of, word, write_loss};
use crate::chat::response::{finish_reason, stop_reason};
use crate::error::CallErrorKind;

impl ExchangeEntry {
    pub(super) fn write(&self, out: &mut impl Page) {
        out.text("kind", Kind::Exchange.word());
        out.text("time", &time::write(self.time));
        out.text("run", &self.run);
        out.text("caller", &self.caller.id);
        out.text("tenant", &self.caller.tenant);
        out.text("dialect", self.dialect.id());
        out.text("endpoint", &self.endpoint);
        out.some_text("model", self.model.as_deref());
        out.some_text("upstream", self.upstream.as_deref());
        out.some_text("upstream_dialect", self.upstream_dialect.map(Dialect::id));
        out.some_text("answered", self.answered.as_deref());
        out.some_text("answer_id", self.answer_id.as_deref());
        out.value("stream", &self.stream.into());
        out.value("untouched", &self.untouched.into());
        out.count("status", self.status.into());
        out.some_text("error", self.error.map(FaultClass::word));
        out.value("left", &self.left.into());
        out.objects("attempts", &self.attempts, |own, out| {
            write_tried(own, "upstream", FaultClass::word, out);
        });
        out.count("duration_us", micros(self.duration));
        out.some_count("first_byte_us", self.first_byte.map(micros));
        out.count("added_us", micros(self.added));
        if let Some(usage) = &self.usage {
            out.object("usage", |out| write_usage(usage, out));
        }
        out.some_text("stop", self.stop.map(finish_reason));
        if !self.calls.is_empty() {
            let names = self.calls.iter().map(|name| Json::from(name.as_str()));
            out.value("calls", &Json::Array(names.collect()));
        }
        out.objects("ran", &self.ran, |own, out| {
            write_tried(own, "tool", CallErrorKind::as_str, out);
        });
        out.count("bytes_in", self.bytes_in);
        out.count("bytes_out", self.bytes_out);
        for (name, losses) in [("losses", &self.losses), ("response_losses", &self.response_losses)]
        {
            if !losses.is_empty() {
                out.value(name, &Json::Array(losses.iter().map(write_loss).collect()));
            }
        }
        out.some_count("more_losses", Some(self.more_losses).filter(|more| *more > 0));
        if let Some(data) = &self.data {
            out.value("data", data);
        }
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

fn write_tried<E: Copy>(
    own: &Tried<E>,
    name: &'static str,
    word: impl Fn(E) -> &'static str,
    out: &mut impl Page,
) {
    out.text(name, &own.name);
    out.some_text("error", own.error.map(word));
    out.count("duration_us", micros(own.duration));
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

fn write_usage(usage: &Usage, out: &mut impl Page) {
    out.some_count("input", usage.input);
    out.some_count("cache_read", usage.cache_read);
    out.some_count("cache_write", usage.cache_write);
    out.some_count("output", usage.output);
    out.some_count("reasoning", usage.reasoning);
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
