//! The fields of a line of text: `name=value`, separated by spaces, control characters escaped.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

use crate::terminal::Escaped;

/// Writes fields. The default formatter of `tracing_subscriber` checks for colours at each field and
/// escapes every text character by character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plainly;

impl<'w> FormatFields<'w> for Plainly {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = Line { writer, begun: false, written: Ok(()) };
        fields.record(&mut line);
        line.written
    }
}

/// The fields of a line that were written so far.
struct Line<'w> {
    writer: Writer<'w>,
    begun: bool,
    written: fmt::Result,
}

impl Line<'_> {
    fn add(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        if self.written.is_ok() {
            self.written = self.name(field.name()).and_then(|()| value(&mut self.writer));
        }
    }

    fn name(&mut self, name: &str) -> fmt::Result {
        if std::mem::replace(&mut self.begun, true) {
            self.writer.write_char(' ')?;
        }
        if name == "message" {
            return Ok(());
        }
        self.writer.write_str(name)?;
        self.writer.write_char('=')
    }
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        self.add(field, |writer| {
            if !value.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
                return write!(writer, "{value:?}");
            }
            writer.write_char('"')?;
            writer.write_str(value)?;
            writer.write_char('"')
        });
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, |writer| write!(writer, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, |writer| writer.write_str(if value { "true" } else { "false" }));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, |writer| write!(Plain(writer), "{value:?}"));
    }
}

/// Escapes characters that would break the line or control a terminal.
struct Plain<'w, 'l>(&'w mut Writer<'l>);

impl fmt::Write for Plain<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write!(self.0, "{}", Escaped(text))
    }
}
