//! The exchange as one short line in aligned columns:
//!
//! ```text
//! openai-chat      → claude/claude-haiku-5             200   1.24s +110µs     710 in     50 out  2 calls
//! ```
//!
//! Client dialect, upstream and model, status, duration, time that the gateway added, input and output
//! tokens; then, where there are any, calls, tool runs, losses, the error, attempts and the request id.

use std::fmt;
use std::time::Duration;

use toolwright_core::Usage;
use toolwright_core::loss::Severity;

use crate::telemetry::ExchangeRecord;
use crate::terminal::{Escaped, counted, width};

/// Columns of the client's dialect: the longest id, `openai-responses`.
const DIALECT_COLUMNS: usize = 16;
/// Columns of `upstream/model`. A longer name moves the rest of its line.
const MODEL_COLUMNS: usize = 32;

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// An exchange that displays as its short line. The alternate form (`{:#}`) is coloured.
pub(super) struct ShortLine<'a>(pub(super) &'a ExchangeRecord);

impl fmt::Display for ShortLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.0;
        write!(out, "{:<DIALECT_COLUMNS$} → ", record.dialect.id())?;
        self.write_model(out)?;
        write_status(out, record.status, record.timing.total)?;
        let added = short_duration("+", record.timing.added);
        painted(out, DIM, format_args!(" {added:>7}"))?;
        let usage = record.usage.as_ref();
        let (input, output) = (usage.map(Usage::input_total), usage.and_then(|own| own.output));
        write!(out, " {:>7} in {:>6} out", Known(input), Known(output))?;
        self.write_rest(out)
    }
}

impl ShortLine<'_> {
    /// Writes `upstream/model`, padded. The model is the one that answered, or else the one that the
    /// client asked for.
    fn write_model(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.0;
        let upstream = record.upstream.as_deref().unwrap_or_default();
        let model =
            record.response_model.as_deref().or(record.requested_model.as_deref()).unwrap_or("-");
        let rest = model.strip_prefix(upstream).and_then(|rest| rest.strip_prefix('/'));
        let model = if upstream.is_empty() { model } else { rest.unwrap_or(model) };
        let mut columns = width(upstream) + width(model);
        if !upstream.is_empty() {
            write!(out, "{}/", Escaped(upstream))?;
            columns += 1;
        }
        let padding = MODEL_COLUMNS.saturating_sub(columns);
        write!(out, "{}{:padding$}", Escaped(model), "")
    }

    /// Writes optional parts.
    fn write_rest(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.0;
        let mut separator = "  ";
        let mut next = || std::mem::replace(&mut separator, ", ");
        for (count, one, many) in [
            (record.calls.len(), "call", "calls"),
            (record.executed_calls.len(), "tool run", "tool runs"),
        ] {
            if count > 0 {
                write!(out, "{}{}", next(), counted(count, one, many))?;
            }
        }
        let losses = record.loss_count();
        if losses > 0 {
            write!(out, "{}{}", next(), counted(losses, "loss", "losses"))?;
            let major = record.losses_of(Severity::Major);
            if major > 0 {
                painted(out, YELLOW, format_args!(" ({major} major)"))?;
            }
        }
        let error = record.error();
        if let Some(error) = error {
            out.write_str(next())?;
            painted(out, RED, format_args!("{error}"))?;
        }
        if record.attempts.len() > 1 {
            write!(out, "{}{} attempts", next(), record.attempts.len())?;
        }
        if losses > 0 || error.is_some() {
            out.write_str(next())?;
            painted(out, DIM, format_args!("{}", record.id))?;
        }
        Ok(())
    }
}

/// Writes the line of a request that is not an exchange, in the same columns: method, path, status, duration, client.
pub fn write_request(
    out: &mut fmt::Formatter<'_>,
    [method, path, client]: [&str; 3],
    status: u16,
    duration: Duration,
) -> fmt::Result {
    let padding = MODEL_COLUMNS.saturating_sub(width(path));
    write!(out, "{method:<DIALECT_COLUMNS$} → {}{:padding$}", Escaped(path), "")?;
    write_status(out, status, duration)?;
    write!(out, "  {}{}", Escaped(client), if status == 0 { ", client_left" } else { "" })
}

/// Writes the status of a reply and the duration.
fn write_status(out: &mut fmt::Formatter<'_>, status: u16, duration: Duration) -> fmt::Result {
    let colour = match status {
        200..300 => GREEN,
        // The client disconnected before the reply began.
        0 => DIM,
        300..500 => YELLOW,
        _ => RED,
    };
    painted(out, colour, format_args!(" {:>3}", Known((status > 0).then_some(status))))?;
    write!(out, " {:>7}", short_duration("", duration))
}

/// Writes text in a colour, if the line is coloured.
fn painted(out: &mut fmt::Formatter<'_>, colour: &str, text: fmt::Arguments<'_>) -> fmt::Result {
    if !out.alternate() {
        return out.write_fmt(text);
    }
    write!(out, "{colour}{text}{RESET}")
}

/// Displays a number, or `-` if it is unknown.
struct Known<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Known<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(number) => number.fmt(out),
            None => out.pad("-"),
        }
    }
}

/// Returns a duration with one to four digits and a unit.
fn short_duration(sign: &str, duration: Duration) -> String {
    let micros = super::micros(duration);
    let (millis, seconds) = (micros / 1_000, micros / 1_000_000);
    match micros {
        0..1_000 => format!("{sign}{micros}µs"),
        1_000..10_000 => format!("{sign}{millis}.{}ms", micros / 100 % 10),
        10_000..1_000_000 => format!("{sign}{millis}ms"),
        1_000_000..100_000_000 => format!("{sign}{seconds}.{:02}s", millis / 10 % 100),
        _ => format!("{sign}{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (micros, text) in [
            (0, "0µs"),
            (999, "999µs"),
            (1_000, "1.0ms"),
            (9_999, "9.9ms"),
            (312_400, "312ms"),
            (1_240_000, "1.24s"),
            (99_999_999, "99.99s"),
            (124_000_000, "124s"),
            (u64::MAX, "18446744073709s"),
        ] {
            assert_eq!(short_duration("", Duration::from_micros(micros)), text);
        }
    }
}
