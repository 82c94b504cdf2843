//! The text format: an exchange is its short line, any other event a level, a message and its
//! fields.

use std::fmt;
use std::time::{SystemTime as Clock, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::OURS;
use crate::telemetry::line;

/// Formats events as text, coloured if the writer is.
pub(super) struct TextFormat;

impl<S, N> FormatEvent<S, N> for TextFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write_time(&mut writer)?;
        let metadata = event.metadata();
        if metadata.target() == line::TARGET {
            let mut line = ShortLineWriter { writer, written: Ok(()) };
            event.record(&mut line);
            line.written?;
            return line.writer.write_char('\n');
        }
        write_level(&mut writer, *metadata.level())?;
        if !metadata.target().starts_with(OURS) {
            write!(writer, "{}: ", metadata.target())?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writer.write_char('\n')
    }
}

/// Writes the time of day in UTC on a terminal, and the date with it elsewhere.
fn write_time(writer: &mut Writer<'_>) -> fmt::Result {
    if !writer.has_ansi_escapes() {
        SystemTime.format_time(writer)?;
        return writer.write_str("  ");
    }
    let since = Clock::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    write!(writer, "\x1b[2m{hour:02}:{minute:02}:{second:02}.{millis:03}\x1b[0m  ")
}

/// Writes the level of an event that is not an exchange.
fn write_level(writer: &mut Writer<'_>, level: Level) -> fmt::Result {
    if !writer.has_ansi_escapes() {
        return write!(writer, "{level:<5}  ");
    }
    let colour = match level {
        Level::ERROR => "31",
        Level::WARN => "33",
        _ => "2",
    };
    write!(writer, "\x1b[{colour}m{level:<5}\x1b[0m  ")
}

/// Writes the short line of an exchange as it is: it escapes its own parts, and may have colours.
struct ShortLineWriter<'w> {
    writer: Writer<'w>,
    written: fmt::Result,
}

impl Visit for ShortLineWriter<'_> {
    fn record_debug(&mut self, _: &Field, line: &dyn fmt::Debug) {
        self.written = if self.writer.has_ansi_escapes() {
            write!(self.writer, "{line:#?}")
        } else {
            write!(self.writer, "{line:?}")
        };
    }
}
