//! `[plans]`: how many runs of plans are kept and for how long, what happens to them after a restart, and the Temporal
//! server that runs plans as well.

use std::time::Duration;

use crate::config::{ConfigError, Table, Value};

/// Settings of runs of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanSettings {
    /// Maximum time since a run ended
    pub max_age: Duration,
    /// Maximum number of runs of each tenant
    pub max_runs: usize,
    /// Maximum number of bytes of the runs of each tenant
    pub max_bytes: usize,
    /// What happens to runs that were in progress when the gateway stopped
    pub resume: Resume,
}

/// What happens after a start to runs that were in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// They go on
    Auto,
    /// They wait until somebody resumes them
    Ask,
}

impl Default for PlanSettings {
    fn default() -> PlanSettings {
        PlanSettings {
            max_age: Duration::from_hours(30 * 24),
            max_runs: 10_000,
            max_bytes: 1 << 30,
            resume: Resume::Auto,
        }
    }
}

/// A Temporal server that runs plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemporalServer {
    /// Its address: `HOST:PORT`, with `https://` in front for TLS
    pub address: String,
    /// The namespace
    pub namespace: String,
}

impl Default for TemporalServer {
    fn default() -> TemporalServer {
        TemporalServer { address: "127.0.0.1:7233".to_owned(), namespace: "default".to_owned() }
    }
}

impl TemporalServer {
    fn read(mut table: Table<'_>) -> Result<TemporalServer, ConfigError> {
        let (usual, text) =
            (TemporalServer::default(), |value: &Value<'_>| Ok(value.text()?.to_owned()));
        let address = table.take_or("address", usual.address, text)?;
        let namespace = table.take_or("namespace", usual.namespace, text)?;
        table.finish()?;
        Ok(TemporalServer { address, namespace })
    }
}

/// Reads `[plans]`.
pub(crate) fn read(
    mut table: Table<'_>,
) -> Result<(PlanSettings, Option<TemporalServer>), ConfigError> {
    let PlanSettings { max_age, max_runs, max_bytes, resume } = PlanSettings::default();
    let server =
        table.take("temporal").map(|value| TemporalServer::read(value.table()?)).transpose()?;
    let plans = PlanSettings {
        max_age: table.take_or("max_age", max_age, Value::deadline)?,
        max_runs: table.take_or("max_runs", max_runs, |value| value.count(1))?,
        max_bytes: table.take_or("max_bytes", max_bytes, Value::size)?,
        resume: table.take_or("resume", resume, |value| {
            value.one_of(&[("auto", Resume::Auto), ("ask", Resume::Ask)])
        })?,
    };
    table.finish()?;
    Ok((plans, server))
}
