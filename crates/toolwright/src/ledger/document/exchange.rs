//! The JSON form of an exchange.

use std::time::Duration;

use toolwright_core::{Dialect, FaultClass, Json, Usage};

use super::super::{ExchangeEntry, Kind, Tried, time};
use super::page::Page;
use super::{micros, read_caller, read_loss, read_micros, read_time, write_loss};
use crate::chat::response::{finish_reason, stop_reason};
use crate::error::CallErrorKind;
use toolwright_core::document::{DocumentError, ObjectReader, read_usage, text};

impl ExchangeEntry {
    pub(super) fn write(&self, out: &mut impl Page) {
        out.text("kind", Kind::Exchange.word());
        out.text("time", &time::write(self.time));
        out.text("run", &self.run);
        out.text("caller", &self.caller.id);
        out.text("tenant", &self.caller.tenant);
        out.some_text("conversation", self.conversation.as_deref());
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
        out.some_count("count", Some(self.count).filter(|count| *count > 1));
        if let Some(data) = &self.data {
            out.value("data", data);
        }
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
            stop: fields.optional_word("stop", "a reason to stop", stop_reason)?,
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
) -> Result<Tried<E>, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(Tried {
        name: fields.text(name)?.into(),
        error: fields.optional_word("error", "a kind of error", read)?,
        duration: read_micros(fields, "duration_us")?,
    })
}

fn write_usage(usage: &Usage, out: &mut impl Page) {
    out.some_count("input", usage.input);
    out.some_count("cache_read", usage.cache_read);
    out.some_count("cache_write", usage.cache_write);
    out.some_count("output", usage.output);
    out.some_count("reasoning", usage.reasoning);
}
