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
use tracing_subscriber::reload::{self, Handle};

use crate::config::{Log, LogFormat};
use crate::telemetry::Metrics;

pub use writer::{Lines, Rest};

/// There is a log already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log of this process was started before")]
pub struct Started;

/// Starts the log of this process, whose level can be changed. What is returned besides writes the
/// rest when it is dropped.
pub fn start(log: &Log, metrics: &Metrics) -> Result<(Rest, Level), Started> {
    let (lines, rest) = Lines::new(std::io::stderr(), metrics.dropped_lines());
    let (subscriber, level) = subscriber(log, lines);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Started)?;
    Ok((rest, level))
}

/// The level of a log.
#[derive(Debug, Clone)]
pub struct Level(Handle<Targets, Registry>);

impl Level {
    /// Writes what is at least so severe from now on.
    pub fn set(&self, level: LevelFilter) {
        // A log that is gone writes nothing at any level.
        let _gone = self.0.reload(targets(level));
    }
}

/// What is written. Of other crates nothing below a warning is: some of them tell headers and bodies,
/// and with them keys and prompts.
fn targets(level: LevelFilter) -> Targets {
    Targets::new().with_target(OURS, level).with_default(level.min(LevelFilter::WARN))
}

/// Writes lines as the configuration says, and at another level if told so.
pub fn subscriber(log: &Log, lines: Lines) -> (Box<dyn Subscriber + Send + Sync>, Level) {
    let (targets, level) = reload::Layer::new(targets(log.level));
    let registry = Registry::default().with(targets);
    let layer = layer().with_writer(lines);
    let subscriber: Box<dyn Subscriber + Send + Sync> = match log.format {
        LogFormat::Text => {
            let fields = debug_fn(field).delimited(" ");
            Box::new(registry.with(layer.with_ansi(false).fmt_fields(fields)))
        }
        LogFormat::Json => Box::new(registry.with(layer.json().flatten_event(true))),
    };
    (subscriber, Level(level))
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
