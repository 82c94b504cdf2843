//! The log: lines for people or one JSON document a line, on stderr.
//!
//! A line is formatted where it is written and leaves by a thread of its own, so that nobody waits
//! for whoever reads stderr. If it is not read, lines are dropped and counted.

mod writer;

use std::fmt::{self, Write as _};

use tracing::Subscriber;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;

use crate::config::{Log, LogFormat};
use crate::telemetry::Metrics;

pub use writer::{Lines, Rest};

/// There is a log already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log of this process was started before")]
pub struct Started;

/// Starts the log of this process. What is returned writes the rest when it is dropped.
pub fn start(log: &Log, metrics: &Metrics) -> Result<Rest, Started> {
    let (lines, rest) = Lines::new(std::io::stderr(), metrics.dropped_lines());
    let subscriber = subscriber(log, lines);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Started)?;
    Ok(rest)
}

/// Writes lines as the configuration says. Of other crates nothing below a warning is written: some
/// of them tell headers and bodies, and with them keys and prompts.
pub fn subscriber(log: &Log, lines: Lines) -> Box<dyn Subscriber + Send + Sync> {
    let others = log.level.min(LevelFilter::WARN);
    let targets = Targets::new().with_target(OURS, log.level).with_default(others);
    let registry = Registry::default().with(targets);
    let layer = layer().with_writer(lines);
    match log.format {
        LogFormat::Text => {
            let fields = debug_fn(field).delimited(" ");
            Box::new(registry.with(layer.with_ansi(false).fmt_fields(fields)))
        }
        LogFormat::Json => Box::new(registry.with(layer.json().flatten_event(true))),
    }
}

/// Writes one field. The usual writer asks for each about colours that there are not.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        writer.write_str(field.name())?;
        writer.write_char('=')?;
    }
    write!(Plain(writer), "{value:?}")
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

/// How the targets of our own lines begin.
const OURS: &str = "toolwright";

#[cfg(test)]
mod tests;
