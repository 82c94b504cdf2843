//! A journal in a SQLite file. Entries are only appended; a process that ends releases its claims.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, Transaction, params};
use toolwright_core::Json;
use toolwright_core::document::DocumentError;
use toolwright_runtime::session::Caller;
use toolwright_runtime::store::{self, Kind, Safety, Writer};
use toolwright_transport::private_file;

use super::record::parse;
use super::{
    Entry, EntryEvent, PlanJournal, PlanJournalError, PlanJournalFuture, RunClaim, RunFilter,
    RunQuota, RunRecord, RunStatus, RunSummary,
};
use crate::run::start::blocking;

const PLANS: Kind = Kind {
    name: "journal of plans",
    id: 0x7477_706c,
    migrations: &[
        "
        CREATE TABLE run (
            id TEXT PRIMARY KEY,
            tenant TEXT NOT NULL,
            status TEXT NOT NULL,
            created INTEGER NOT NULL,
            ended INTEGER,
            record TEXT NOT NULL
        ) STRICT;
        CREATE INDEX run_created ON run (created, id);
        CREATE INDEX run_tenant ON run (tenant, created, id);
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY,
            run TEXT NOT NULL,
            step TEXT NOT NULL,
            item INTEGER,
            time INTEGER NOT NULL,
            kind TEXT NOT NULL,
            data TEXT NOT NULL
        ) STRICT;
        CREATE INDEX entry_run ON entry (run, id);
    ",
        "
        ALTER TABLE run ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE run ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
        UPDATE run SET bytes = length(record)
            + coalesce((SELECT sum(length(data)) FROM entry WHERE entry.run = run.id), 0);
        UPDATE run SET weight = 8 * bytes;
    ",
        // Lists do not read records.
        "
        ALTER TABLE run ADD COLUMN caller TEXT NOT NULL DEFAULT '';
        ALTER TABLE run ADD COLUMN name TEXT;
        ALTER TABLE run ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE run ADD COLUMN parent TEXT;
        ALTER TABLE run ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
        UPDATE run SET caller = coalesce(record ->> '$.caller', ''),
            name = substr(record ->> '$.plan.name', 1, 200),
            steps = (SELECT count(*) FROM json_each(record, '$.plan.steps')),
            parent = record ->> '$.parent', resumes = coalesce(record ->> '$.resumes', 0)
            WHERE json_valid(record);
    ",
    ],
    safety: Safety::Power,
};

/// A journal in a SQLite file.
#[derive(Debug)]
pub struct SqlitePlanJournal {
    writer: Writer,
    /// The folder of the files that claims lock
    claims: PathBuf,
}

impl SqlitePlanJournal {
    /// Opens a journal, or creates one that only its owner may read. The folder must exist.
    pub fn open(path: impl AsRef<Path>) -> Result<SqlitePlanJournal, store::StoreError> {
        let path = path.as_ref();
        let connection = store::open(path, &PLANS)?;
        let writer = Writer::start(connection, path.to_owned())?;
        Ok(SqlitePlanJournal { writer, claims: path.with_extension("claims") })
    }

    async fn ask<T: Send + 'static>(
        &self,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, PlanJournalError> {
        Ok(self.writer.sender()?.ask(apply).await?)
    }

    async fn rows(&self, filter: RunFilter) -> Result<Vec<RunSummary>, PlanJournalError> {
        self.ask(move |change| {
            let limit = filter.limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
            let mut rows = change.prepare_cached(&format!(
                "{SUMMARY_COLUMNS} WHERE (?1 IS NULL OR tenant = ?1) \
                 AND (?2 IS NULL OR status = ?2 OR ?2 = 'interrupted' AND status = 'running') \
                 AND (?3 IS NULL OR (created, id) < (?3, ?4)) ORDER BY created DESC, id DESC LIMIT ?5"
            ))?;
            let (tenant, status) = (filter.tenant.as_deref(), filter.status.map(RunStatus::as_str));
            let before_id = filter.before_id.as_deref().unwrap_or_default();
            let params = params![tenant, status, filter.before_ms, before_id, limit];
            rows.query_map(params, summary)?.collect()
        })
        .await
    }

    /// The file that the claim of a run locks. The id of a run may be any text.
    fn claim_file(&self, run: &str) -> PathBuf {
        self.claims.join(&blake3::hash(run.as_bytes()).to_hex()[..32])
    }

    /// Removes the files of claims of runs that do not exist any more, so that nothing can claim them. Returns how
    /// many.
    fn forget_claims(&self, runs: &[String]) -> usize {
        for run in runs {
            drop(std::fs::remove_file(self.claim_file(run)));
        }
        runs.len()
    }

    /// Whether a process makes the calls of a run.
    fn is_claimed(&self, run: &str) -> bool {
        let file = File::options().write(true).open(self.claim_file(run));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    fn parse(&self, row: &RunRow) -> Result<RunRecord, DocumentError> {
        let (id, tenant, status, created_ms, ended_ms, record) = row;
        let mut run = RunRecord::from_record(id, tenant, &parse(record)?)?;
        (run.created_ms, run.ended_ms) = (*created_ms, *ended_ms);
        let status = RunStatus::parse(status);
        let status = status.ok_or_else(|| DocumentError::new("a status").within("status"))?;
        run.status = self.status(id, status);
        Ok(run)
    }

    /// Returns the state of a run: nothing makes the calls of one that is not claimed.
    fn status(&self, run: &str, stored: RunStatus) -> RunStatus {
        match stored {
            RunStatus::Running if !self.is_claimed(run) => RunStatus::Interrupted,
            status => status,
        }
    }

    fn shown(&self, run: RunSummary) -> RunSummary {
        RunSummary { status: self.status(&run.id, run.status), ..run }
    }

    fn lock(&self, run: &str) -> Result<FileClaim, PlanJournalError> {
        let fail = |error: std::io::Error| PlanJournalError::Failed(error.to_string());
        private_file::create_folder(&self.claims).map_err(fail)?;
        let file = private_file::open(&self.claim_file(run)).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => Ok(FileClaim { _file: file }),
            Err(TryLockError::WouldBlock) => Err(PlanJournalError::InProgress(run.to_owned())),
            Err(TryLockError::Error(error)) => Err(fail(error)),
        }
    }
}

/// A locked file. The system releases the lock when the process ends.
struct FileClaim {
    _file: File,
}

impl RunClaim for FileClaim {}

impl PlanJournal for SqlitePlanJournal {
    fn create<'a>(
        &'a self,
        run: &'a RunRecord,
        entries: Vec<Entry>,
        quota: Option<RunQuota>,
    ) -> PlanJournalFuture<'a, ()> {
        let record = Json::from(run.to_record());
        let summary = RunSummary::from(run);
        let (new, value, record) = (run.clone(), record.weight(), record.compact());
        // With its text, while it is loaded.
        let weight = record.len() + value;
        let entries: Vec<StoredEntry> = entries.into_iter().map(StoredEntry::new).collect();
        let bytes = record.len() + entries.iter().map(|entry| entry.data.len()).sum::<usize>();
        let created = self.ask(move |change| {
            let (id, tenant, status) = (&*new.id, &*new.caller.tenant, new.status.as_str());
            if change.prepare_cached("SELECT 1 FROM run WHERE id = ?1")?.exists(params![id])? {
                return Ok(Err(PlanJournalError::Exists(id.to_owned())));
            }
            let mut removed = Vec::new();
            if let Some(quota) = quota {
                match make_room(change, tenant, bytes, quota)? {
                    Some(runs) => removed = runs,
                    None => return Ok(Err(PlanJournalError::Full(quota))),
                }
            }
            change
                .prepare_cached(
                    "INSERT INTO run (id, tenant, status, created, ended, record, bytes, weight, \
                     caller, name, steps, parent, resumes) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                )?
                .execute(params![
                    id,
                    tenant,
                    status,
                    new.created_ms,
                    new.ended_ms,
                    record,
                    record.len(),
                    weight,
                    &*new.caller.id,
                    summary.name,
                    summary.steps,
                    new.parent.as_deref(),
                    new.resumes
                ])?;
            entries.iter().try_for_each(|entry| entry.insert(change, id))?;
            Ok(Ok(removed))
        });
        Box::pin(async move {
            self.forget_claims(&created.await??);
            Ok(())
        })
    }

    fn claim<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, Box<dyn RunClaim>> {
        Box::pin(async move {
            self.weight(run).await?;
            Ok(Box::new(self.lock(run)?) as Box<dyn RunClaim>)
        })
    }

    fn append<'a>(&'a self, run: &'a str, entry: Entry) -> PlanJournalFuture<'a, ()> {
        let (run, entry) = (run.to_owned(), StoredEntry::new(entry));
        Box::pin(self.ask(move |change| entry.insert(change, &run)))
    }

    fn set_status<'a>(
        &'a self,
        run: &'a str,
        status: RunStatus,
        ended_ms: Option<u64>,
    ) -> PlanJournalFuture<'a, ()> {
        let run = run.to_owned();
        Box::pin(self.ask(move |change| {
            change
                .prepare_cached("UPDATE run SET status = ?2, ended = ?3 WHERE id = ?1")?
                .execute(params![run, status.as_str(), ended_ms])?;
            Ok(())
        }))
    }

    fn load<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, (RunRecord, Vec<Entry>)> {
        Box::pin(async move {
            let id = run.to_owned();
            let (row, entries) = self
                .ask(move |change| {
                    let row = change
                        .prepare_cached(&format!("{RUN_COLUMNS} WHERE id = ?1"))?
                        .query_row(params![id], |row| row.try_into())
                        .optional()?;
                    let mut entries = change.prepare_cached(
                        "SELECT step, item, time, kind, data FROM entry WHERE run = ?1 ORDER BY id",
                    )?;
                    let entries = entries.query_map(params![id], |row| row.try_into())?;
                    Ok((row, entries.collect::<rusqlite::Result<Vec<EntryRow>>>()?))
                })
                .await?;
            let row = row.ok_or_else(|| PlanJournalError::UnknownRun(run.to_owned()))?;
            let record = self.parse(&row).map_err(|error| damaged(&error))?;
            let read = || entries.into_iter().map(read_entry).collect::<Result<Vec<Entry>, _>>();
            let read = blocking(read).await;
            let read = read.map_err(|error| PlanJournalError::Failed(error.to_string()))?;
            Ok((record, read.map_err(|error| damaged(&error))?))
        })
    }

    fn weight<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, usize> {
        Box::pin(async move {
            let id = run.to_owned();
            let found = self.ask(move |change| {
                let mut weight = change.prepare_cached("SELECT weight FROM run WHERE id = ?1")?;
                weight.query_row(params![id], |row| row.get(0)).optional()
            });
            found.await?.ok_or_else(|| PlanJournalError::UnknownRun(run.to_owned()))
        })
    }

    fn summary<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, RunSummary> {
        Box::pin(async move {
            let id = run.to_owned();
            let found = self.ask(move |change| {
                change
                    .prepare_cached(&format!("{SUMMARY_COLUMNS} WHERE id = ?1"))?
                    .query_row(params![id], summary)
                    .optional()
            });
            let unknown = || PlanJournalError::UnknownRun(run.to_owned());
            Ok(self.shown(found.await?.ok_or_else(unknown)?))
        })
    }

    fn list<'a>(&'a self, filter: &'a RunFilter) -> PlanJournalFuture<'a, Vec<RunSummary>> {
        Box::pin(async move {
            let (mut filter, mut found) = (filter.clone(), Vec::new());
            loop {
                let rows = self.rows(filter.clone()).await?;
                let known = found.len();
                let (count, last) = (rows.len(), rows.last().cloned());
                let runs = rows.into_iter().map(|run| self.shown(run));
                found.extend(runs.filter(|run| filter.status.is_none_or(|own| own == run.status)));
                // Other runs take the places of those in another state.
                let left_out = known + count - found.len();
                let is_cut = left_out > 0 && filter.limit == Some(count);
                let Some(last) = last.filter(|_| is_cut) else { return Ok(found) };
                (filter.before_ms, filter.before_id) = (Some(last.created_ms), Some(last.id));
                filter.limit = Some(left_out);
            }
        })
    }

    fn delete<'a>(&'a self, run: &'a str) -> PlanJournalFuture<'a, ()> {
        Box::pin(async move {
            let id = run.to_owned();
            self.ask(move |change| remove(change, &id)).await?;
            self.forget_claims(&[run.to_owned()]);
            Ok(())
        })
    }

    fn prune(&self, ended_before_ms: u64) -> PlanJournalFuture<'_, usize> {
        Box::pin(async move {
            let before = i64::try_from(ended_before_ms).unwrap_or(i64::MAX);
            let ended = format!("SELECT id FROM run WHERE {ENDED} AND ended < ?1");
            let removed = self.ask(move |change| {
                let mut ended = change.prepare_cached(&ended)?;
                let ended = ended.query_map(params![before], |row| row.get(0))?;
                let ended = ended.collect::<rusqlite::Result<Vec<String>>>()?;
                ended.iter().try_for_each(|run| remove(change, run))?;
                Ok(ended)
            });
            Ok(self.forget_claims(&removed.await?))
        })
    }
}

/// The condition that a run has ended.
const ENDED: &str = "status IN ('succeeded', 'failed', 'cancelled')";

/// Removes a run with its entries.
fn remove(change: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
    change.prepare_cached("DELETE FROM entry WHERE run = ?1")?.execute(params![run])?;
    change.prepare_cached("DELETE FROM run WHERE id = ?1")?.execute(params![run])?;
    Ok(())
}

/// Removes the oldest ended runs of a tenant, until a new one with some bytes fits into a quota. Returns them; none if
/// it does not fit without all of them either, which then stay.
fn make_room(
    change: &Transaction<'_>,
    tenant: &str,
    bytes: usize,
    quota: RunQuota,
) -> rusqlite::Result<Option<Vec<String>>> {
    let (runs, stored): (usize, usize) = change
        .prepare_cached("SELECT count(*), coalesce(sum(bytes), 0) FROM run WHERE tenant = ?1")?
        .query_row(params![tenant], |row| row.try_into())?;
    let (mut runs, mut total) = (runs + 1, stored.saturating_add(bytes));
    let mut ended = change.prepare_cached(&format!(
        "SELECT id, bytes FROM run WHERE tenant = ?1 AND {ENDED} ORDER BY created, id"
    ))?;
    let mut ended = ended.query_map(params![tenant], |row| row.try_into())?;
    let mut oldest: Vec<String> = Vec::new();
    while runs > quota.runs || total > quota.bytes {
        let Some(run) = ended.next() else { return Ok(None) };
        let (run, size): (String, usize) = run?;
        (runs, total) = (runs - 1, total.saturating_sub(size));
        oldest.push(run);
    }
    oldest.iter().try_for_each(|run| remove(change, run))?;
    Ok(Some(oldest))
}

const RUN_COLUMNS: &str = "SELECT id, tenant, status, created, ended, record FROM run";

/// A run in a list; it counts as in progress and resumed only if its state says so.
const SUMMARY_COLUMNS: &str = "SELECT id, tenant, status, created, ended, caller, name, steps, parent, \
                               resumes AND status = 'running' FROM run";

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let text = |at: usize| row.get::<_, Arc<str>>(at);
    Ok(RunSummary {
        id: text(0)?,
        caller: Caller::new(text(5)?).with_tenant(text(1)?),
        name: row.get(6)?,
        steps: row.get(7)?,
        // A damaged state is that of a run which nothing continues.
        status: RunStatus::parse(&text(2)?).unwrap_or(RunStatus::Interrupted),
        created_ms: row.get(3)?,
        ended_ms: row.get(4)?,
        parent: row.get(8)?,
        resumes: row.get(9)?,
    })
}

/// A row of a run, in the order of the columns, before it is parsed: the writer thread only reads.
type RunRow = (String, String, String, u64, Option<u64>, String);

/// A row of an entry: step, item, time, kind and data.
type EntryRow = (String, Option<usize>, u64, String, String);

/// An entry as it is stored.
struct StoredEntry {
    entry: Entry,
    kind: &'static str,
    data: String,
    /// How much memory it takes with its text while it is loaded
    weight: usize,
}

impl StoredEntry {
    fn new(entry: Entry) -> StoredEntry {
        let (kind, value) = entry.event.to_record();
        let data = value.compact();
        StoredEntry { weight: value.weight() + data.len(), data, kind, entry }
    }

    /// Adds it to a run; nothing happens if the run was deleted.
    fn insert(&self, change: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
        let Entry { step, item, time_ms, .. } = &self.entry;
        change
            .prepare_cached(
                "INSERT INTO entry (run, step, item, time, kind, data) SELECT ?1, ?2, ?3, ?4, ?5, ?6 \
                 WHERE EXISTS (SELECT 1 FROM run WHERE id = ?1)",
            )?
            .execute(params![run, step, item, time_ms, self.kind, self.data])?;
        change
            .prepare_cached(
                "UPDATE run SET bytes = bytes + ?2, weight = weight + ?3 WHERE id = ?1",
            )?
            .execute(params![run, self.data.len(), self.weight])?;
        Ok(())
    }
}

fn read_entry((step, item, time_ms, kind, data): EntryRow) -> Result<Entry, DocumentError> {
    Ok(Entry { step, item, time_ms, event: EntryEvent::from_record(&kind, &parse(&data)?)? })
}

fn damaged(error: &DocumentError) -> PlanJournalError {
    PlanJournalError::Failed(format!("a record is damaged: {error}"))
}
