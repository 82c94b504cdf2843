//! The fields of a line for people: `name=value`, one behind the other, on one line whatever is in
//! them.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// Writes fields. The usual writer asks for each about colours that there are not, and writes every
/// text character by character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plainly;

impl<'w> FormatFields<'w> for Plainly {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = Line { writer, begun: false, written: Ok(()) };
        fields.record(&mut line);
        line.written
    }
}

/// The fields of a line, as far as they are written.
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

/// Keeps a value from breaking its line, or from speaking to a terminal.
struct Plain<'w, 'l>(&'w mut Writer<'l>);

impl fmt::Write for Plain<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(char::is_control) {
            return self.0.write_str(text);
        }
        for character in text.chars() {
            match character {
                control if control.is_control() => write!(self.0, "{}", control.escape_default())?,
                other => self.0.write_char(other)?,
            }
        }
        Ok(())
    }
}
