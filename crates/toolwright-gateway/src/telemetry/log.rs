//! The log: lines for people or one JSON document a line, on stderr.
//!
//! A line is formatted where it is written and leaves by a thread of its own, so that nobody waits
//! for whoever reads stderr. If it is not read, lines are dropped and counted.

mod fields;
mod writer;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};

use crate::config::{Log, LogFormat};
use crate::telemetry::Metrics;

use fields::Plainly;
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
        LogFormat::Text => Box::new(registry.with(layer.with_ansi(false).fmt_fields(Plainly))),
        LogFormat::Json => Box::new(registry.with(layer.json().flatten_event(true))),
    };
    (subscriber, Level(level))
}

/// How the targets of our own lines begin.
const OURS: &str = "toolwright";

#[cfg(test)]
mod tests;
