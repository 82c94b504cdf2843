//! `[log]`, `[ledger]` and `[losses]`: settings of records.

use std::time::Duration;

use tracing::level_filters::LevelFilter;

use crate::config::{Result, Table, Value};

/// Settings of the records of exchanges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetrySettings {
    /// The log
    pub log: LogSettings,
    /// The ledger
    pub ledger: LedgerSettings,
    /// The loss reports at `/v1/losses`
    pub losses: LossSettings,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The minimum level
    pub level: LevelFilter,
    /// The format of a line
    pub format: LogFormat,
    /// Whether request and response bodies are logged
    pub payloads: bool,
}

/// The format of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// A short line for each exchange
    #[default]
    Text,
    /// Every field of an exchange as `name=value`
    Full,
    /// Every field as a JSON document
    Json,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings { level: LevelFilter::INFO, format: LogFormat::Text, payloads: false }
    }
}

/// Settings of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSettings {
    /// Whether bodies, arguments and outcomes are recorded
    pub payloads: bool,
    /// How long entries are kept, if not forever
    pub max_age: Option<Duration>,
    /// What happens to requests while the file cannot be written
    pub on_failure: OnFailure,
    /// Maximum time that a request waits for capacity in the ledger before it is refused
    pub max_wait: Duration,
}

/// What happens to requests while the ledger cannot be written and too many entries wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// They wait briefly and are refused with 503
    #[default]
    Refuse,
    /// They are answered without an entry, which is counted
    Continue,
}

impl Default for LedgerSettings {
    fn default() -> LedgerSettings {
        LedgerSettings {
            payloads: false,
            max_age: None,
            on_failure: OnFailure::Refuse,
            max_wait: Duration::from_secs(2),
        }
    }
}

/// Settings of the loss reports at `/v1/losses`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossSettings {
    /// Maximum number of reports
    pub max_entries: usize,
}

impl Default for LossSettings {
    fn default() -> LossSettings {
        LossSettings { max_entries: 10_000 }
    }
}

const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

const ON_FAILURE: [(&str, OnFailure); 2] =
    [("refuse", OnFailure::Refuse), ("continue", OnFailure::Continue)];

const FORMATS: [(&str, LogFormat); 3] =
    [("text", LogFormat::Text), ("full", LogFormat::Full), ("json", LogFormat::Json)];

/// Reads `[log]`.
pub(crate) fn log(mut table: Table<'_>) -> Result<LogSettings> {
    let usual = LogSettings::default();
    let log = LogSettings {
        level: table.take_or("level", usual.level, |value| value.one_of(&LEVELS))?,
        format: table.take_or("format", usual.format, |value| value.one_of(&FORMATS))?,
        payloads: table.take_or("payloads", usual.payloads, Value::flag)?,
    };
    table.finish()?;
    Ok(log)
}

/// Reads `[ledger]`.
pub(crate) fn ledger(mut table: Table<'_>) -> Result<LedgerSettings> {
    let usual = LedgerSettings::default();
    let ledger = LedgerSettings {
        payloads: table.take_or("payloads", usual.payloads, Value::flag)?,
        max_age: table.take_some("max_age", Value::deadline)?,
        on_failure: table
            .take_or("on_failure", usual.on_failure, |value| value.one_of(&ON_FAILURE))?,
        max_wait: table.take_or("max_wait", usual.max_wait, Value::duration)?,
    };
    table.finish()?;
    Ok(ledger)
}

/// Reads `[losses]`.
pub(crate) fn losses(mut table: Table<'_>) -> Result<LossSettings> {
    let usual = LossSettings::default();
    let max_entries = table.take_or("max_entries", usual.max_entries, |value| value.count(0))?;
    let losses = LossSettings { max_entries };
    table.finish()?;
    Ok(losses)
}
