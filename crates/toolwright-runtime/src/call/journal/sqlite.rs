//! A journal in a SQLite file: it survives crashes and power failures, and several processes can
//! share it.
//!
//! The file grows by a row for each call with an effect; [`SqliteJournal::prune`] removes old
//! finished rows. It contains unredacted outcomes, because they are returned again on a repeated
//! call, so only its owner may read it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{OptionalExtension, Transaction, params};
use tokio::sync::oneshot;
use toolwright_core::Json;

use super::{Begun, Intent, Journal, JournalError};
use crate::store::{self, JobSender, Kind, Safety, StoreError, Urgency, Writer};

const JOURNAL: Kind = Kind {
    name: "journal",
    id: 0x7477_6a6c,
    migrations: &[
        "
        CREATE TABLE effect (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            run TEXT NOT NULL,
            tool TEXT NOT NULL,
            call_id TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            begun INTEGER NOT NULL,
            finished INTEGER,
            record TEXT
        ) STRICT;
        CREATE INDEX effect_finished ON effect (finished) WHERE finished IS NOT NULL;
        CREATE INDEX effect_unfinished ON effect (begun) WHERE finished IS NULL;
    ",
        "
        ALTER TABLE effect ADD COLUMN unversioned_key TEXT NOT NULL DEFAULT '';
        UPDATE effect SET unversioned_key = key;
        CREATE INDEX effect_unversioned_key ON effect (unversioned_key);
    ",
    ],
    safety: Safety::Power,
};

/// Maximum number of rows that one transaction removes, so that no call waits long for it.
const PRUNED_AT_ONCE: usize = 1_000;

/// A journal in a SQLite file.
#[derive(Debug)]
pub struct SqliteJournal {
    writer: Arc<Writer>,
    urgency: Urgency,
}

/// An effect that was begun and not finished, for an operator to investigate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The intent
    pub intent: Intent,
    /// Number of times it was begun
    pub attempts: u32,
    /// When it was last begun
    pub begun: SystemTime,
}

impl SqliteJournal {
    /// Opens a journal, or creates one that only its owner may read. The folder must exist.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteJournal, StoreError> {
        let path = path.as_ref();
        let connection = store::open(path, &JOURNAL)?;
        let writer = Arc::new(Writer::start(connection, path.to_owned())?);
        Ok(SqliteJournal { writer, urgency: Urgency::Now })
    }

    /// Returns a journal in the same file that does not wait for the disk, and not at all for the record of a result:
    /// what it began survives the end of the process, but not a power failure. Use it for runs whose id nobody keeps:
    /// no later call can repeat theirs, so the records only tell which effects were
    /// [interrupted](SqliteJournal::unfinished).
    #[must_use]
    pub fn without_sync(&self) -> SqliteJournal {
        SqliteJournal { writer: Arc::clone(&self.writer), urgency: Urgency::NowUnsynced }
    }

    async fn ask<T: Send + 'static>(
        &self,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        Ok(self.writer.sender()?.ask_at(self.urgency, apply).await?)
    }

    /// Removes effects that finished longer ago than this, and returns their number.
    ///
    /// A call that is repeated after that runs again, so keep records for longer than any run may
    /// be suspended. Unfinished effects stay until they are [forgotten](SqliteJournal::forget).
    pub async fn prune(&self, older_than: Duration) -> Result<usize, JournalError> {
        let before = millis(SystemTime::now().checked_sub(older_than).unwrap_or(UNIX_EPOCH));
        let mut removed = 0;
        loop {
            let rows = self.ask(move |change| prune(change, before)).await?;
            removed += rows;
            if rows < PRUNED_AT_ONCE {
                return Ok(removed);
            }
        }
    }

    /// Returns the effects that are running or were interrupted by a crash, oldest first.
    pub async fn unfinished(&self) -> Result<Vec<Unfinished>, JournalError> {
        self.ask(unfinished).await
    }

    /// Removes an effect, so that its call may run again. Call it only if you know whether the
    /// effect happened.
    pub async fn forget(&self, key: &str) -> Result<(), JournalError> {
        let key = key.to_owned();
        self.ask(move |change| forget(change, &key)).await
    }
}

impl Journal for SqliteJournal {
    /// Dropping this future before it is ready leaves no record.
    async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
        let (sender, intent) = (self.writer.sender()?, intent.clone());
        let (ack, answer) = oneshot::channel();
        let (key, back) = (intent.key.clone(), sender.clone());
        let done = move |begun: Result<Begun, StoreError>| {
            // If the caller stopped waiting, dropping the grant withdraws the intent.
            drop(ack.send(begun.map(|begun| Grant { begun: Some(begun), key, sender: back })));
        };
        sender.post(self.urgency, move |change| begin(change, &intent), done);
        let mut grant = answer.await.map_err(|_| StoreError::Closed)??;
        grant.begun.take().ok_or_else(|| StoreError::Closed.into())
    }

    async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
        let (key, record) = (key.to_owned(), record.compact());
        if self.urgency == Urgency::NowUnsynced {
            // Later jobs see it, and only after a kill the effect would count as interrupted.
            let finish = move |change: &Transaction<'_>| finish(change, &key, &record).map(drop);
            self.writer.sender()?.post(Urgency::Soon, finish, drop);
            return Ok(());
        }
        match self.ask(move |change| finish(change, &key, &record)).await? {
            FinishResult::Recorded => Ok(()),
            FinishResult::NeverBegun => Err(JournalError::never_begun()),
        }
    }

    async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
        let key = key.to_owned();
        self.ask(move |change| withdraw(change, &key)).await
    }

    async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
        let (intent, record) = (intent.clone(), record.compact());
        match self.ask(move |change| reopen(change, &intent, &record)).await? {
            0 => Err(JournalError::record_changed()),
            _ => Ok(()),
        }
    }
}

/// A recorded intent on its way to the caller. Withdraws the intent if it is dropped before it
/// arrives.
struct Grant {
    begun: Option<Begun>,
    key: Arc<str>,
    sender: Arc<JobSender>,
}

impl Drop for Grant {
    fn drop(&mut self) {
        if let Some(Begun::New | Begun::Unfinished(_) | Begun::ToolChanged(_)) = self.begun {
            let key = self.key.clone();
            self.sender.post(Urgency::Now, move |change| withdraw(change, &key), drop);
        }
    }
}

/// The result of `finish`.
enum FinishResult {
    Recorded,
    NeverBegun,
}

fn begin(change: &Transaction<'_>, intent: &Intent) -> rusqlite::Result<Begun> {
    let known = change
        .prepare_cached("SELECT attempts, record FROM effect WHERE key = ?1")?
        .query_row([&intent.key], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, Option<String>>(1)?))
        })
        .optional()?;
    let begun = match known {
        Some((_, Some(record))) => return Ok(Begun::Finished(parsed(&record)?)),
        Some((attempts, None)) => Begun::Unfinished(attempts),
        None => match other_version(change, &intent.unversioned_key)? {
            // Written before keys contained a digest: the version of the tool is unknown.
            Some((key, Some(record))) if key == *intent.unversioned_key => {
                return Ok(Begun::Finished(parsed(&record)?));
            }
            Some((_, record)) => {
                Begun::ToolChanged(record.map(|record| parsed(&record)).transpose()?)
            }
            None => Begun::New,
        },
    };
    change
        .prepare_cached(
            "INSERT INTO effect (key, unversioned_key, run, tool, call_id, attempts, begun)
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)
             ON CONFLICT (key) DO UPDATE SET attempts = attempts + 1, begun = ?6",
        )?
        .execute(params![
            intent.key,
            intent.unversioned_key,
            intent.run,
            intent.tool,
            intent.call_id,
            millis(SystemTime::now())
        ])?;
    Ok(begun)
}

/// The key and the record of a call under the latest other version of its tool.
fn other_version(
    change: &Transaction<'_>,
    unversioned_key: &str,
) -> rusqlite::Result<Option<(String, Option<String>)>> {
    change
        .prepare_cached(
            "SELECT key, record FROM effect WHERE unversioned_key = ?1 ORDER BY id DESC LIMIT 1",
        )?
        .query_row([unversioned_key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// The first record stays, because it may have been returned already.
fn finish(change: &Transaction<'_>, key: &str, record: &str) -> rusqlite::Result<FinishResult> {
    let rows = change
        .prepare_cached(
            "UPDATE effect SET record = coalesce(record, ?2), finished = coalesce(finished, ?3)
             WHERE key = ?1",
        )?
        .execute(params![key, record, millis(SystemTime::now())])?;
    Ok(if rows == 0 { FinishResult::NeverBegun } else { FinishResult::Recorded })
}

/// Earlier attempts stay, because nothing new is known about them.
fn withdraw(change: &Transaction<'_>, key: &str) -> rusqlite::Result<()> {
    change
        .prepare_cached(
            "UPDATE effect SET attempts = attempts - 1 WHERE key = ?1 AND finished IS NULL",
        )?
        .execute([key])?;
    change
        .prepare_cached("DELETE FROM effect WHERE key = ?1 AND attempts <= 0 AND finished IS NULL")?
        .execute([key])?;
    Ok(())
}

/// Returns the number of reopened rows. A row that was written before keys contained a digest has the unversioned key.
fn reopen(change: &Transaction<'_>, intent: &Intent, record: &str) -> rusqlite::Result<usize> {
    change
        .prepare_cached(
            "UPDATE effect SET key = ?1, attempts = 1, begun = ?4, finished = NULL, record = NULL
             WHERE key IN (?1, ?2) AND record = ?3",
        )?
        .execute(params![intent.key, intent.unversioned_key, record, millis(SystemTime::now())])
}

fn forget(change: &Transaction<'_>, key: &str) -> rusqlite::Result<()> {
    change.execute("DELETE FROM effect WHERE key = ?1", [key])?;
    Ok(())
}

fn prune(change: &Transaction<'_>, before: i64) -> rusqlite::Result<usize> {
    change.execute(
        "DELETE FROM effect WHERE id IN
         (SELECT id FROM effect WHERE finished IS NOT NULL AND finished < ?1 LIMIT ?2)",
        params![before, PRUNED_AT_ONCE],
    )
}

fn unfinished(change: &Transaction<'_>) -> rusqlite::Result<Vec<Unfinished>> {
    let text = |row: &rusqlite::Row<'_>, column: usize| row.get::<_, Arc<str>>(column);
    change
        .prepare_cached(
            "SELECT key, run, tool, call_id, attempts, begun, unversioned_key FROM effect
             WHERE finished IS NULL ORDER BY begun, id",
        )?
        .query_map([], |row| {
            let intent = Intent {
                key: text(row, 0)?,
                unversioned_key: text(row, 6)?,
                run: text(row, 1)?,
                tool: text(row, 2)?,
                call_id: text(row, 3)?,
            };
            let begun = UNIX_EPOCH + Duration::from_millis(row.get::<_, u64>(5)?);
            Ok(Unfinished { intent, attempts: row.get(4)?, begun })
        })?
        .collect()
}

/// Parses a record; an error means that the file was modified.
fn parsed(record: &str) -> rusqlite::Result<Json> {
    Json::parse(record).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// Returns milliseconds since 1970.
fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
