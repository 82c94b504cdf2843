//! The log on stderr: short lines, lines with every field, or one JSON document per line.
//!
//! The logging thread formats a line, and a writer thread writes it, so that a slow reader of
//! stderr does not delay requests. If the reader is too slow, lines are dropped and counted.

mod fields;
mod text;
mod writer;

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};

use super::Metrics;
use super::config::{LogFormat, LogSettings};

use fields::Plainly;
use text::TextFormat;
pub use writer::{FlushGuard, Lines};

/// The log was started before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log of this process was started before")]
pub struct Started;

/// Starts the log of this process, in colour if stderr is a terminal and `NO_COLOR` is not set.
/// Returns a guard that writes the remaining lines when it is dropped, and the level, which can be
/// changed later.
pub fn start(log: &LogSettings, metrics: &Metrics) -> Result<(FlushGuard, Level), Started> {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = std::io::stderr().is_terminal() && !no_color;
    let (lines, guard) = Lines::new(std::io::stderr(), metrics.dropped_lines());
    let (subscriber, level) = subscriber(log, colour, lines);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Started)?;
    Ok((guard, level))
}

/// The level of a log.
#[derive(Debug, Clone)]
pub struct Level(Handle<Targets, Registry>);

impl Level {
    /// Sets the minimum level.
    pub fn set(&self, level: LevelFilter) {
        // A log that has ended ignores its level.
        let _gone = self.0.reload(targets(level));
    }
}

/// Filters events by level. Other crates log nothing below a warning, because some of them log headers
/// and bodies, and with them keys and prompts.
fn targets(level: LevelFilter) -> Targets {
    Targets::new().with_target(OURS, level).with_default(level.min(LevelFilter::WARN))
}

/// Creates a subscriber for the configured format, and the handle to its level. Only the text
/// format has colours.
pub fn subscriber(
    log: &LogSettings,
    colour: bool,
    lines: Lines,
) -> (Box<dyn Subscriber + Send + Sync>, Level) {
    let (targets, level) = reload::Layer::new(targets(log.level));
    let registry = Registry::default().with(targets);
    let layer = layer().with_writer(lines).with_ansi(colour && log.format == LogFormat::Text);
    let subscriber: Box<dyn Subscriber + Send + Sync> = match log.format {
        LogFormat::Text => {
            Box::new(registry.with(layer.event_format(TextFormat).fmt_fields(Plainly)))
        }
        LogFormat::Full => Box::new(registry.with(layer.fmt_fields(Plainly))),
        LogFormat::Json => Box::new(registry.with(layer.json().flatten_event(true))),
    };
    (subscriber, Level(level))
}

/// The prefix of the targets of our own events.
const OURS: &str = "toolwright";

#[cfg(test)]
mod tests;
