//! The JSON form of an exchange.

use std::time::Duration;

use toolwright_core::document::{DocumentError, ObjectReader, read_usage, text};
use toolwright_core::{Dialect, FaultClass, Json, StopReason, Usage};
use toolwright_json::Line;

use super::super::{ExchangeEntry, Kind, Tried, time};
use super::{micros, read_caller, read_loss, read_micros, read_time, write_loss};
use crate::error::CallErrorKind;

impl ExchangeEntry {
    /// Returns the JSON text. Exchanges are frequent, so it is written without a tree.
    pub(super) fn text(&self) -> String {
        let mut line = Line::new();
        line.put_string("kind", Kind::Exchange.word());
        line.put_string("time", &time::write(self.time));
        line.put_string("run", &self.run);
        line.put_string("caller", &self.caller.id);
        line.put_string("tenant", &self.caller.tenant);
        put_some_string(&mut line, "conversation", self.conversation.as_deref());
        line.put_string("dialect", self.dialect.id());
        line.put_string("endpoint", &self.endpoint);
        put_some_string(&mut line, "model", self.model.as_deref());
        put_some_string(&mut line, "upstream", self.upstream.as_deref());
        put_some_string(&mut line, "upstream_dialect", self.upstream_dialect.map(Dialect::id));
        put_some_string(&mut line, "answered", self.answered.as_deref());
        put_some_string(&mut line, "answer_id", self.answer_id.as_deref());
        line.put("stream", &self.stream.into());
        line.put("untouched", &self.untouched.into());
        line.put_count("status", self.status.into());
        put_some_string(&mut line, "error", self.error.map(FaultClass::word));
        line.put("left", &self.left.into());
        put_tried(&mut line, "attempts", &self.attempts, "upstream", FaultClass::word);
        line.put_count("duration_us", micros(self.duration));
        put_some_count(&mut line, "first_byte_us", self.first_byte.map(micros));
        line.put_count("added_us", micros(self.added));
        if let Some(usage) = &self.usage {
            line.put_object("usage", |line| put_usage(line, usage));
        }
        put_some_string(&mut line, "stop", self.stop.map(StopReason::name));
        if !self.calls.is_empty() {
            let names = self.calls.iter().map(|name| Json::from(name.as_str()));
            line.put("calls", &Json::Array(names.collect()));
        }
        put_tried(&mut line, "ran", &self.ran, "tool", CallErrorKind::as_str);
        line.put_count("bytes_in", self.bytes_in);
        line.put_count("bytes_out", self.bytes_out);
        for (name, losses) in [("losses", &self.losses), ("response_losses", &self.response_losses)]
        {
            if !losses.is_empty() {
                line.put(name, &Json::Array(losses.iter().map(write_loss).collect()));
            }
        }
        put_some_count(&mut line, "more_losses", Some(self.more_losses).filter(|more| *more > 0));
        put_some_count(&mut line, "count", Some(self.count).filter(|count| *count > 1));
        if let Some(data) = &self.data {
            line.put("data", data);
        }
        line.end()
    }

    pub(super) fn read(fields: ObjectReader<'_>) -> Result<ExchangeEntry, DocumentError> {
        Ok(ExchangeEntry {
            time: read_time(fields)?,
            run: fields.text("run")?.into(),
            caller: read_caller(fields)?,
            conversation: fields.owned("conversation")?,
            dialect: fields.word("dialect", "a dialect", Dialect::from_id)?,
            endpoint: fields.text("endpoint")?.to_owned().into(),
            model: fields.owned("model")?,
            upstream: fields.owned("upstream")?,
            upstream_dialect: fields.optional_word(
                "upstream_dialect",
                "a dialect",
                Dialect::from_id,
            )?,
            answered: fields.owned("answered")?,
            answer_id: fields.owned("answer_id")?,
            stream: fields.flag("stream")?,
            untouched: fields.flag("untouched")?,
            status: fields.count("status")?,
            error: fields.optional_word("error", "a kind of error", FaultClass::from_word)?,
            left: fields.flag("left")?,
            attempts: fields.optional_list("attempts", |own| {
                read_tried(own, "upstream", FaultClass::from_word)
            })?,
            duration: read_micros(fields, "duration_us")?,
            first_byte: fields.optional_count("first_byte_us")?.map(Duration::from_micros),
            added: read_micros(fields, "added_us")?,
            usage: fields.optional("usage", read_usage)?,
            stop: fields.optional_word("stop", "a reason to stop", StopReason::from_name)?,
            calls: fields.optional_list("calls", |name| Ok(text(name)?.to_owned()))?,
            ran: fields
                .optional_list("ran", |own| read_tried(own, "tool", CallErrorKind::from_name))?,
            bytes_in: fields.count("bytes_in")?,
            bytes_out: fields.count("bytes_out")?,
            losses: fields.optional_list("losses", read_loss)?,
            response_losses: fields.optional_list("response_losses", read_loss)?,
            more_losses: fields.optional_count("more_losses")?.unwrap_or(0),
            count: fields.optional_count("count")?.unwrap_or(1),
            data: fields.present("data", |data| Ok(data.clone()))?,
        })
    }
}

fn put_some_string(line: &mut Line, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        line.put_string(name, value);
    }
}

fn put_some_count(line: &mut Line, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        line.put_count(name, value);
    }
}

fn put_usage(line: &mut Line, usage: &Usage) {
    put_some_count(line, "input", usage.input);
    put_some_count(line, "cache_read", usage.cache_read);
    put_some_count(line, "cache_write", usage.cache_write);
    put_some_count(line, "output", usage.output);
    put_some_count(line, "reasoning", usage.reasoning);
}

/// Adds what was tried, unless it is nothing; `name` is the key of the name of each.
fn put_tried<E: Copy>(
    line: &mut Line,
    key: &str,
    tried: &[Tried<E>],
    name: &str,
    word: impl Fn(E) -> &'static str,
) {
    if !tried.is_empty() {
        line.put_objects(key, tried, |own, line| {
            line.put_string(name, &own.name);
            put_some_string(line, "error", own.error.map(&word));
            line.put_count("duration_us", micros(own.duration));
        });
    }
}

fn read_tried<E>(
    document: &Json,
    name: &'static str,
    read: impl Fn(&str) -> Option<E>,
) -> Result<Tried<E>, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(Tried {
        name: fields.text(name)?.into(),
        error: fields.optional_word("error", "a kind of error", read)?,
        duration: read_micros(fields, "duration_us")?,
    })
}
