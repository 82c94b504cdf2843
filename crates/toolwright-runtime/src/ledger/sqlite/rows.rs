//! The rows of a ledger file: text and link of an entry, and index columns.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::types::ToSql;
use rusqlite::{OptionalExtension, Transaction, params};
use toolwright_core::Json;

use super::super::chain::{Broken, Damage, Follower, Head, Link, Verified};
use super::super::query::{Order, Query};
use super::super::{Entry, Kind, Recorded};
use super::checkpoint;
use crate::store::{self, Safety, Turns};

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
        "
        CREATE INDEX entry_time ON entry (time);
        -- Data of entries, whose digest is in their texts.
        CREATE TABLE body (sequence INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
        -- What stands for entries that were removed from the start of the chain.
        CREATE TABLE checkpoint (
            id INTEGER PRIMARY KEY CHECK (id = 1), sequence INTEGER NOT NULL, link BLOB NOT NULL,
            removed INTEGER NOT NULL, signature BLOB NOT NULL
        ) STRICT;
    ",
    ],
    safety: Safety::Process,
};

/// Why reading stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

/// Separates damage from a failure of the file.
pub(super) fn separate<T>(read: Result<T, Stop>) -> rusqlite::Result<Result<T, Broken>> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(Stop::Broken(broken)) => Ok(Err(broken)),
        Err(Stop::Sql(error)) => Err(error),
    }
}

/// The member of a text with the digest of the data beside the chain.
const DIGEST: &str = "data_digest";

/// An entry to be written.
#[derive(Debug)]
pub(super) struct Row {
    entry: Entry,
    text: String,
    /// The data, which is beside the chain
    data: Option<String>,
    /// Its position, assigned in a transaction that may have failed
    place: Option<Head>,
}

impl Row {
    pub(super) fn new(mut entry: Entry) -> Row {
        let data = match &mut entry {
            Entry::Call(call) => call.data.take(),
            Entry::Exchange(exchange) => exchange.data.take(),
            Entry::Approval(_) => None,
        };
        let data = data.map(|data| data.compact());
        let mut text = entry.text();
        if let Some(data) = &data {
            text.truncate(text.len() - "}".len());
            // Writing to a string cannot fail.
            let _ = write!(text, ",\"{DIGEST}\":\"{}\"}}", blake3::hash(data.as_bytes()));
        }
        Row { text, data, entry, place: None }
    }
}

/// Appends rows to the chain and returns its end. Rows that the chain already has are skipped:
/// after a failure it is unknown whether the transaction was committed.
pub(super) fn append(
    change: &Transaction<'_>,
    rows: &mut [Row],
    turns: &mut Turns,
) -> rusqlite::Result<Head> {
    let mut head = head(change)?;
    if rows.is_empty() {
        return Ok(head);
    }
    let mut insert = change.prepare_cached(
        "INSERT INTO entry (sequence, time, run, caller, tenant, tool, text, link, kind)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for row in rows {
        turns.pass();
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
        if let Some(data) = &row.data {
            change
                .prepare_cached("INSERT INTO body (sequence, text) VALUES (?1, ?2)")?
                .execute(params![head.sequence, data])?;
        }
    }
    change
        .prepare_cached("INSERT OR REPLACE INTO head (id, sequence, link) VALUES (1, ?1, ?2)")?
        .execute(params![head.sequence, head.link.as_bytes()])?;
    Ok(head)
}

/// Whether the chain contains a head, or a checkpoint stands for it.
pub(super) fn holds(change: &Transaction<'_>, place: Head) -> rusqlite::Result<bool> {
    let mut known = change.prepare_cached(
        "SELECT 1 FROM entry WHERE sequence = ?1 AND link = ?2 UNION ALL
         SELECT 1 FROM checkpoint WHERE sequence > ?1 OR sequence = ?1 AND link = ?2",
    )?;
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
pub(super) fn find(change: &Transaction<'_>, query: &Query) -> Result<Vec<Recorded>, Stop> {
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
    let times = [(">=", query.since), ("<", query.until)];
    for (compare, time) in times.into_iter().filter_map(|(compare, time)| Some((compare, time?))) {
        conditions.push(format!("time {compare} {}", micros(time)));
    }
    if let Some(after) = &query.after {
        conditions.push(format!("sequence {compare} ?"));
        values.push(after);
    }
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    values.push(&limit);
    let sql = format!(
        "SELECT sequence, link, text, {} FROM entry WHERE {} ORDER BY sequence {direction} LIMIT ?",
        if query.with_data { DATA } else { "NULL" },
        conditions.join(" AND ")
    );
    let mut statement = change.prepare(&sql)?;
    let mut rows = statement.query(&*values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(place(row)?, &row.get::<_, String>(2)?, row.get(3)?)?);
    }
    Ok(found)
}

/// Verifies the chain: its end, of this many entries, or all of it.
pub(super) fn verify(
    change: &Transaction<'_>,
    entries: Option<u64>,
    kept: Option<Head>,
) -> Result<Verified, Stop> {
    let checkpoint = checkpoint::read(change)?;
    let (end, mut start) = (head(change)?, checkpoint.map_or_else(Head::start, |own| own.head));
    let before = entries.map_or(0, |entries| end.sequence.saturating_sub(entries));
    if before > start.sequence {
        let found = change
            .prepare("SELECT sequence, link FROM entry WHERE sequence = ?1")?
            .query_row([before], place)
            .optional()?;
        start = found.ok_or(Broken { sequence: before, why: Damage::Removed })?;
    }
    let mut chain = Follower::new(start, kept);
    walk(change, &mut chain, |_| true)?;
    Ok(Verified { checkpoint, ..chain.finish(end)? })
}

/// Verifies the entries after a position, up to the first whose time is not wanted.
pub(super) fn walk(
    change: &Transaction<'_>,
    chain: &mut Follower,
    mut is_wanted: impl FnMut(i64) -> bool,
) -> Result<(), Stop> {
    chain.compare()?;
    let mut statement = change.prepare(&format!(
        "SELECT sequence, link, text, time, run, caller, tenant, tool, kind, {DATA}
         FROM entry WHERE sequence > ?1 ORDER BY sequence"
    ))?;
    let mut rows = statement.query([chain.head.sequence])?;
    while let Some(row) = rows.next()? {
        if !is_wanted(row.get(3)?) {
            break;
        }
        // A column that is not text was modified, so its link will not match.
        let (at, text) = (place(row)?, row.get::<_, String>(2).unwrap_or_default());
        chain.follow(at, &text)?;
        let Recorded { entry, .. } = read(at, &text, row.get(9)?)?;
        let mut filed = row.get::<_, i64>(3)? == micros(entry.time());
        let caller = entry.caller();
        let columns = [entry.run(), &caller.id, &caller.tenant, tool(&entry), entry.kind().word()];
        for (column, own) in (4..).zip(columns) {
            filed &= row.get::<_, String>(column)? == own;
        }
        if !filed {
            return Err(Broken { sequence: at.sequence, why: Damage::Misfiled }.into());
        }
    }
    Ok(())
}

pub(super) fn place(row: &rusqlite::Row<'_>) -> rusqlite::Result<Head> {
    // An invalid link becomes zeros, which never match.
    let link = row.get_ref(1)?.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
    Ok(Head { sequence: row.get(0)?, link: Link::from_bytes(link.unwrap_or_default()) })
}

/// Returns the tool of a call; an exchange has none.
fn tool(entry: &Entry) -> &str {
    entry.as_call().map_or("", |call| &call.tool)
}

/// The data of an entry, in a query of entries.
const DATA: &str = "(SELECT text FROM body WHERE body.sequence = entry.sequence)";

/// Reads an entry with its data, which must have the digest in the text.
fn read(at: Head, text: &str, data: Option<String>) -> Result<Recorded, Broken> {
    let Head { sequence, link } = at;
    let unreadable = Broken { sequence, why: Damage::Unreadable };
    let Ok(Json::Object(mut document)) = Json::parse(text) else { return Err(unreadable) };
    let data_digest = document.get(DIGEST).and_then(Json::as_str).map(Arc::<str>::from);
    if let Some(data) = data {
        let is_same = |digest: &str| *digest == *blake3::hash(data.as_bytes()).to_hex();
        if !data_digest.as_deref().is_some_and(is_same) {
            return Err(Broken { sequence, why: Damage::DataChanged });
        }
        document.insert("data", Json::parse(&data).map_err(|_| unreadable)?);
    }
    let entry = Entry::from_json(&document.into()).map_err(|_| unreadable)?;
    Ok(Recorded { sequence, link, data_digest, entry })
}

/// Returns microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
