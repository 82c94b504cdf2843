//! Sessions of processes that have the file open, to detect processes that ended without closing
//! it.
//!
//! A process that is killed loses its unwritten entries. Its session stays open, and the next
//! process that opens the file closes the session as a [`Gap`].

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::rows::{head, micros};
use crate::ledger::chain::Head;
use crate::ledger::time;

/// A position in a ledger at which entries may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The last entry before the gap
    pub after: u64,
    /// Last write of the process that may have lost entries
    pub since: SystemTime,
    /// When the gap was found, or when entries could be written again
    pub until: SystemTime,
    /// Number of missing entries, if known: entries that were dropped because the file could not be
    /// written
    pub missing: Option<u64>,
}

impl Gap {
    /// Returns the JSON form.
    pub fn to_json(&self) -> Object {
        object! {
            "after": self.after,
            "since": time::write(self.since),
            "until": time::write(self.until),
            "missing": self.missing.map_or(Json::Null, Json::from),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (since, until) = (time::write(self.since), time::write(self.until));
        write!(formatter, "after entry {}: ", self.after)?;
        match self.missing {
            Some(count) => write!(
                formatter,
                "{count} entries were dropped between {since} and {until}, because the file could \
                 not be written"
            ),
            None => write!(
                formatter,
                "a process ended without closing the ledger between {since} and {until}; what it had \
                 not written is missing"
            ),
        }
    }
}

/// Identifies this process, also among processes that had the same id earlier.
fn process() -> &'static str {
    static PROCESS: OnceLock<String> = OnceLock::new();
    PROCESS.get_or_init(|| format!("{}:{}", std::process::id(), micros(SystemTime::now())))
}

/// Whether a process is this one or still runs.
fn is_alive(other: &str) -> bool {
    let id = other.split(':').next().unwrap_or_default();
    let is_running = || id != std::process::id().to_string() && is_running(id);
    other == process() || is_running()
}

#[cfg(target_os = "linux")]
fn is_running(id: &str) -> bool {
    std::path::Path::new("/proc").join(id).exists()
}

#[cfg(not(target_os = "linux"))]
fn is_running(_: &str) -> bool {
    false
}

/// Opens a session, and closes sessions of ended processes as gaps.
pub(super) fn open(connection: &mut Connection) -> rusqlite::Result<i64> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now = micros(SystemTime::now());
    let open: Vec<(i64, String)> = change
        .prepare("SELECT id, process FROM session WHERE ended IS NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, _) in open.iter().filter(|(_, process)| !is_alive(process)) {
        change.execute("UPDATE session SET ended = ?2, clean = 0 WHERE id = ?1", [*id, now])?;
    }
    let end = head(&change)?.sequence;
    change.execute(
        "INSERT INTO session (process, written, seen) VALUES (?1, ?2, ?3)",
        params![process(), end, now],
    )?;
    let id = change.last_insert_rowid();
    change.commit()?;
    Ok(id)
}

/// Records the last entry of a session, and the number of entries dropped before it.
pub(super) fn advance(
    change: &Transaction<'_>,
    id: i64,
    head: Head,
    missing: u64,
) -> rusqlite::Result<()> {
    let now = micros(SystemTime::now());
    if missing > 0 {
        let gap = "INSERT INTO session (process, written, seen, ended, clean, missing)
                   SELECT process, written, seen, ?2, 0, ?3 FROM session WHERE id = ?1";
        change.prepare_cached(gap)?.execute(params![id, now, missing])?;
    }
    let update = "UPDATE session SET written = ?2, seen = ?3 WHERE id = ?1";
    change.prepare_cached(update)?.execute(params![id, head.sequence, now])?;
    Ok(())
}

/// Closes a session that has written all its entries.
pub(super) fn close(change: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    // A session without a gap is removed.
    change.execute("DELETE FROM session WHERE id = ?1", [id])?;
    Ok(())
}

/// Returns the gaps, in the order of the chain.
pub(super) fn gaps(change: &Transaction<'_>) -> rusqlite::Result<Vec<Gap>> {
    let query =
        "SELECT written, seen, ended, missing FROM session WHERE clean = 0 ORDER BY written, id";
    let time = |micros: i64| UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0));
    let gap = |row: &rusqlite::Row<'_>| {
        Ok(Gap {
            after: row.get(0)?,
            since: time(row.get(1)?),
            until: time(row.get(2)?),
            missing: row.get(3)?,
        })
    };
    change.prepare(query)?.query_map([], gap)?.collect()
}
