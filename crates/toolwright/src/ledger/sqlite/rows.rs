//! The rows of a ledger file: text and link of an entry, and index columns.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::types::ToSql;
use rusqlite::{OptionalExtension, Transaction, params};
use toolwright_core::Json;

use super::super::chain::{Broken, Damage, Follower, Head, Link, Verified};
use super::super::query::{Order, Query};
use super::super::{Entry, Kind, Recorded};
use crate::store::{self, Safety};

pub(super) const LEDGER: store::Kind = store::Kind {
    name: "ledger",
    id: 0x7477_6c67,
    migrations: &[
        "
        CREATE TABLE entry (
            sequence INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            run TEXT NOT NULL,
            caller TEXT NOT NULL,
            tenant TEXT NOT NULL,
            tool TEXT NOT NULL,
            text TEXT NOT NULL,
            link BLOB NOT NULL
        ) STRICT;
        CREATE INDEX entry_run ON entry (run);
        CREATE INDEX entry_caller ON entry (caller);
        CREATE INDEX entry_tenant ON entry (tenant);
        CREATE INDEX entry_tool ON entry (tool);
        -- Where the chain goes on: apart from the entries, so that a cut-off end shows.
        CREATE TABLE head (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sequence INTEGER NOT NULL,
            link BLOB NOT NULL
        ) STRICT;
    ",
        "
        ALTER TABLE entry ADD COLUMN kind TEXT NOT NULL DEFAULT 'call';
        -- Only calls have a tool.
        DROP INDEX entry_tool;
        CREATE INDEX entry_tool ON entry (tool) WHERE kind = 'call';
    ",
        "
        -- Processes that have the file open, and those that ended without closing it.
        CREATE TABLE session (
            id INTEGER PRIMARY KEY,
            process TEXT NOT NULL,
            written INTEGER NOT NULL,
            seen INTEGER NOT NULL,
            ended INTEGER,
            clean INTEGER,
            missing INTEGER
        ) STRICT;
    ",
    ],
    safety: Safety::Process,
};

/// An entry to be written.
#[derive(Debug)]
pub(super) struct Row {
    entry: Entry,
    text: String,
    /// Its position, assigned in a transaction that may have failed
    place: Option<Head>,
}

impl Row {
    pub(super) fn new(entry: Entry) -> Row {
        Row { text: entry.text(), entry, place: None }
    }
}

/// Appends rows to the chain and returns its end. Rows that the chain already has are skipped:
/// after a failure it is unknown whether the transaction was committed.
pub(super) fn append(change: &Transaction<'_>, rows: &mut [Row]) -> rusqlite::Result<Head> {
    let mut head = head(change)?;
    if rows.is_empty() {
        return Ok(head);
    }
    let mut insert = change.prepare_cached(
        "INSERT INTO entry (sequence, time, run, caller, tenant, tool, text, link, kind)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for row in rows {
        if let Some(place) = row.place
            && holds(change, place)?
        {
            continue;
        }
        head = head.next(&row.text);
        row.place = Some(head);
        let entry = &row.entry;
        insert.execute(params![
            head.sequence,
            micros(entry.time()),
            entry.run(),
            entry.caller().id,
            entry.caller().tenant,
            tool(entry),
            row.text,
            head.link.as_bytes(),
            entry.kind().word(),
        ])?;
    }
    change
        .prepare_cached("INSERT OR REPLACE INTO head (id, sequence, link) VALUES (1, ?1, ?2)")?
        .execute(params![head.sequence, head.link.as_bytes()])?;
    Ok(head)
}

/// Whether the chain contains a head.
pub(super) fn holds(change: &Transaction<'_>, place: Head) -> rusqlite::Result<bool> {
    let mut known =
        change.prepare_cached("SELECT 1 FROM entry WHERE sequence = ?1 AND link = ?2")?;
    Ok(place == Head::start() || known.exists(params![place.sequence, place.link.as_bytes()])?)
}

/// Returns the end of the chain.
pub(super) fn head(change: &Transaction<'_>) -> rusqlite::Result<Head> {
    let head = change
        .prepare_cached("SELECT sequence, link FROM head")?
        .query_row([], place)
        .optional()?;
    Ok(head.unwrap_or_else(Head::start))
}

/// Returns the entries that match a query; the position of an entry that cannot be read is an
/// error.
pub(super) fn find(
    change: &Transaction<'_>,
    query: &Query,
) -> rusqlite::Result<Result<Vec<Recorded>, Broken>> {
    let mut conditions = vec!["true".to_owned()];
    let mut values: Vec<&dyn ToSql> = Vec::new();
    let columns = [("run", &query.run), ("caller", &query.caller), ("tenant", &query.tenant)];
    if let Some(kind) = query.kind {
        conditions.push(format!("kind = '{}'", kind.word()));
    }
    if let Some(tool) = &query.tool {
        // In the form that the index has.
        conditions.push(format!("kind = '{}' AND tool = ?", Kind::Call.word()));
        values.push(tool);
    }
    for (column, value) in columns {
        if let Some(value) = value {
            conditions.push(format!("{column} = ?"));
            values.push(value);
        }
    }
    let (compare, direction) = match query.order {
        Order::OldestFirst => (">", "ASC"),
        Order::NewestFirst => ("<", "DESC"),
    };
    if let Some(after) = &query.after {
        conditions.push(format!("sequence {compare} ?"));
        values.push(after);
    }
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    values.push(&limit);
    let sql = format!(
        "SELECT sequence, link, text FROM entry WHERE {} ORDER BY sequence {direction} LIMIT ?",
        conditions.join(" AND ")
    );
    let mut statement = change.prepare(&sql)?;
    let mut rows = statement.query(&*values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Head { sequence, link } = place(row)?;
        let Some(entry) = read(&row.get::<_, String>(2)?) else {
            return Ok(Err(Broken { sequence, why: Damage::Unreadable }));
        };
        found.push(Recorded { sequence, link, entry });
    }
    Ok(Ok(found))
}

/// Verifies the end of the chain.
pub(super) fn verify_end(
    change: &Transaction<'_>,
    entries: u64,
) -> rusqlite::Result<Result<(), Broken>> {
    let before = head(change)?.sequence.saturating_sub(entries);
    let start = change
        .prepare("SELECT sequence, link FROM entry WHERE sequence = ?1")?
        .query_row([before], place)
        .optional()?;
    match start {
        None if before > 0 => Ok(Err(Broken { sequence: before, why: Damage::Removed })),
        start => {
            let start = start.unwrap_or_else(Head::start);
            Ok(follow(change, start, None)?.map(|_| ()))
        }
    }
}

/// Verifies the whole chain.
pub(super) fn verify(
    change: &Transaction<'_>,
    kept: Option<Head>,
) -> rusqlite::Result<Result<Verified, Broken>> {
    follow(change, Head::start(), kept)
}

/// Verifies the chain after a position.
fn follow(
    change: &Transaction<'_>,
    start: Head,
    kept: Option<Head>,
) -> rusqlite::Result<Result<Verified, Broken>> {
    let end = head(change)?;
    let mut chain = Follower::new(start, kept);
    let mut statement = change.prepare(
        "SELECT sequence, link, text, time, run, caller, tenant, tool, kind
         FROM entry WHERE sequence > ?1 ORDER BY sequence",
    )?;
    let mut rows = statement.query([start.sequence])?;
    while let Some(row) = rows.next()? {
        // A column that is not text was modified, so its link will not match.
        let (at, text) = (place(row)?, row.get::<_, String>(2).unwrap_or_default());
        if let Err(broken) = chain.follow(at, &text) {
            return Ok(Err(broken));
        }
        let Some(entry) = read(&text) else {
            return Ok(Err(Broken { sequence: at.sequence, why: Damage::Unreadable }));
        };
        let mut filed = row.get::<_, i64>(3)? == micros(entry.time());
        let caller = entry.caller();
        let columns = [entry.run(), &caller.id, &caller.tenant, tool(&entry), entry.kind().word()];
        for (column, own) in (4..).zip(columns) {
            filed &= row.get::<_, String>(column)? == own;
        }
        if !filed {
            return Ok(Err(Broken { sequence: at.sequence, why: Damage::Misfiled }));
        }
    }
    Ok(chain.finish(end))
}

fn place(row: &rusqlite::Row<'_>) -> rusqlite::Result<Head> {
    // An invalid link becomes zeros, which never match.
    let link = row.get_ref(1)?.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
    Ok(Head { sequence: row.get(0)?, link: Link::from_bytes(link.unwrap_or_default()) })
}

/// Returns the tool of a call; an exchange has none.
fn tool(entry: &Entry) -> &str {
    entry.as_call().map_or("", |call| &call.tool)
}

fn read(text: &str) -> Option<Entry> {
    Entry::from_json(&Json::parse(text).ok()?).ok()
}

/// Returns microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
