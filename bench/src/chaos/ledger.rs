//! The gateway's ledger, read from outside: the file with SQLite, the chain with the command.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::process::Site;

/// Whether an exchange is in the ledger.
pub(crate) fn has(file: &Path, id: &str) -> Outcome<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM entry WHERE run = ?1 AND kind = 'exchange')";
    Ok(open(file)?.query_row(query, [id], |row| row.get(0))?)
}

/// The number of entries of each exchange.
pub(crate) fn exchanges(file: &Path) -> Outcome<HashMap<String, u64>> {
    let ledger = open(file)?;
    let query = "SELECT run, count(*) FROM entry WHERE kind = 'exchange' GROUP BY run";
    let mut rows = ledger.prepare(query)?;
    let counts = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(counts.collect::<rusqlite::Result<_>>()?)
}

/// The times of the gaps that the ledger reports, in microseconds since 1970.
fn gap_times(file: &Path) -> Outcome<Vec<(u64, u64)>> {
    let ledger = open(file)?;
    let mut rows = ledger.prepare("SELECT seen, ended FROM session WHERE clean = 0")?;
    let times = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(times.collect::<rusqlite::Result<_>>()?)
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    let ledger = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    ledger.busy_timeout(Duration::from_secs(5))?;
    Ok(ledger)
}

/// A ledger whose chain is valid.
#[derive(Debug)]
pub(crate) struct Verified {
    /// The number of entries
    pub(crate) entries: u64,
    /// Intervals in which entries may be missing
    pub(crate) gaps: Vec<(SystemTime, SystemTime)>,
}

/// Verifies the ledger with `toolwright ledger verify`.
pub(crate) fn verify(site: &Site) -> Outcome<Verified> {
    let mut command = site.toolwright();
    let output =
        command.args(["ledger", "verify", "--json", "--data"]).arg(site.data()).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure(why));
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let reported = document["gaps"].as_array().map_or(0, Vec::len);
    let times = gap_times(&site.ledger())?;
    if reported != times.len() {
        let told = format!("verify reports {reported} gaps, the file has {}", times.len());
        return Err(Failure(told));
    }
    let time = |micros: u64| UNIX_EPOCH + Duration::from_micros(micros);
    let gaps = times.into_iter().map(|(since, until)| (time(since), time(until))).collect();
    Ok(Verified { entries: document["entries"].as_u64().unwrap_or_default(), gaps })
}
