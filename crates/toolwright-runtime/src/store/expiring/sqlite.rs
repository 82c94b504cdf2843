//! Entries in a SQLite file. Values are in a separate table, so that reading an entry, which
//! restarts its lifetime, does not rewrite its bytes. Triggers maintain the totals of each scope.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::{Kind, Safety};
use super::{Entry, Limits, Scope, millis, within};

/// The file.
pub(super) const STORE: Kind = Kind {
    name: "store",
    id: 0x7477_7374,
    migrations: &[
        "
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            size INTEGER NOT NULL,
            lifetime INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            UNIQUE (owner, kind, name)
        ) STRICT;
        CREATE INDEX entry_use ON entry (owner, kind, expires, id);
        CREATE INDEX entry_expires ON entry (expires);
        CREATE TABLE content (
            entry INTEGER PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT;
        CREATE TABLE alias (
            owner TEXT NOT NULL,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            entry INTEGER NOT NULL,
            PRIMARY KEY (owner, kind, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX alias_entry ON alias (entry);
        CREATE TABLE total (
            owner TEXT NOT NULL,
            kind TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            entries INTEGER NOT NULL,
            PRIMARY KEY (owner, kind)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER entry_added AFTER INSERT ON entry BEGIN
            INSERT INTO total (owner, kind, bytes, entries)
            VALUES (new.owner, new.kind, new.size, 1)
            ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, entries = entries + 1;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entry BEGIN
            DELETE FROM content WHERE entry = old.id;
            DELETE FROM alias WHERE entry = old.id;
            UPDATE total SET bytes = bytes - old.size, entries = entries - 1
            WHERE owner = old.owner AND kind = old.kind;
        END;
    ",
        "
        -- Lifetimes differ, so the order of use is not that of expiry.
        DROP INDEX entry_use;
        CREATE INDEX entry_use ON entry (owner, kind, expires - lifetime, id);
    ",
    ],
    // A power failure can lose entries, but does not damage the file.
    safety: Safety::Process,
};

/// Maximum number of expired entries that one write removes, so that no write takes long.
const EXPIRED_AT_ONCE: usize = 64;

pub(super) fn put(
    change: &Connection,
    scope: &Scope,
    entry: &Entry,
    limits: Limits,
    now: i64,
) -> rusqlite::Result<()> {
    expire(change, now, EXPIRED_AT_ONCE)?;
    delete(change, scope, &entry.name)?;
    let lifetime = millis(limits.lifetime);
    change
        .prepare_cached(
            "INSERT INTO entry (owner, kind, name, size, lifetime, expires)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            scope.owner,
            scope.kind,
            entry.name,
            count(entry.size()),
            lifetime,
            now.saturating_add(lifetime)
        ])?;
    let id = change.last_insert_rowid();
    change
        .prepare_cached("INSERT INTO content (entry, value) VALUES (?1, ?2)")?
        .execute(params![id, entry.value])?;
    for alias in &entry.aliases {
        change
            .prepare_cached(
                "INSERT INTO alias (owner, kind, name, entry) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET entry = excluded.entry",
            )?
            .execute(params![scope.owner, scope.kind, alias, id])?;
    }
    shrink(change, scope, limits)
}

/// Returns the number of bytes of an entry; 0 if there is none.
pub(super) fn size(change: &Connection, scope: &Scope, name: &str) -> rusqlite::Result<usize> {
    let mut found = change
        .prepare_cached("SELECT size FROM entry WHERE owner = ?1 AND kind = ?2 AND name = ?3")?;
    let found = found.query_row(params![&*scope.owner, scope.kind, name], |row| row.get(0));
    Ok(found.optional()?.unwrap_or_default())
}

/// Removes the least recently used entries of a scope until it is within its limits.
fn shrink(change: &Connection, scope: &Scope, limits: Limits) -> rusqlite::Result<()> {
    loop {
        let (bytes, entries): (i64, i64) = change
            .prepare_cached("SELECT bytes, entries FROM total WHERE owner = ?1 AND kind = ?2")?
            .query_row(params![scope.owner, scope.kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if bytes <= count(limits.bytes) && entries <= count(limits.entries) {
            return Ok(());
        }
        let removed = change
            .prepare_cached(
                "DELETE FROM entry WHERE id = (SELECT id FROM entry
                 WHERE owner = ?1 AND kind = ?2 ORDER BY expires - lifetime, id LIMIT 1)",
            )?
            .execute(params![scope.owner, scope.kind])?;
        if removed == 0 {
            return Ok(());
        }
    }
}

pub(super) fn get(
    change: &Connection,
    scope: &Scope,
    name: &str,
    now: i64,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let Some(id) = find(change, scope, name, now)? else { return Ok(None) };
    change
        .prepare_cached("UPDATE entry SET expires = ?2 + lifetime WHERE id = ?1")?
        .execute(params![id, now])?;
    content(change, id)
}

pub(super) fn peek(
    change: &Connection,
    scope: &Scope,
    name: &str,
    now: i64,
) -> rusqlite::Result<Option<Vec<u8>>> {
    match find(change, scope, name, now)? {
        Some(id) => content(change, id),
        None => Ok(None),
    }
}

/// Returns the row of an entry that has not expired, by its name or an alias.
fn find(change: &Connection, scope: &Scope, name: &str, now: i64) -> rusqlite::Result<Option<i64>> {
    let found = change
        .prepare_cached(
            "SELECT id FROM entry WHERE owner = ?1 AND kind = ?2 AND name = ?3
             UNION ALL
             SELECT entry FROM alias WHERE owner = ?1 AND kind = ?2 AND name = ?3
             LIMIT 1",
        )?
        .query_row(params![scope.owner, scope.kind, name], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(id) = found else { return Ok(None) };
    change
        .prepare_cached("SELECT id FROM entry WHERE id = ?1 AND expires > ?2")?
        .query_row(params![id, now], |row| row.get(0))
        .optional()
}

fn content(change: &Connection, id: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    change
        .prepare_cached("SELECT value FROM content WHERE entry = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()
}

pub(super) fn values(
    change: &Connection,
    scope: &Scope,
    now: i64,
) -> rusqlite::Result<Vec<Vec<u8>>> {
    change
        .prepare_cached(
            "SELECT content.value FROM entry JOIN content ON content.entry = entry.id
             WHERE entry.owner = ?1 AND entry.kind = ?2 AND entry.expires > ?3
             ORDER BY entry.expires - entry.lifetime, entry.id",
        )?
        .query_map(params![scope.owner, scope.kind, now], |row| row.get(0))?
        .collect()
}

pub(super) fn recent(
    change: &Connection,
    kind: &str,
    bytes: usize,
    now: i64,
) -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
    let mut query = change.prepare(
        "SELECT entry.owner, content.value FROM entry JOIN content ON content.entry = entry.id
         WHERE entry.kind = ?1 AND entry.expires > ?2
         ORDER BY entry.expires - entry.lifetime DESC, entry.id DESC",
    )?;
    within(query.query_map(params![kind, now], |row| Ok((row.get(0)?, row.get(1)?)))?, bytes)
}

pub(super) fn remove(
    change: &Connection,
    scope: &Scope,
    name: &str,
    now: i64,
) -> rusqlite::Result<bool> {
    expire(change, now, EXPIRED_AT_ONCE)?;
    delete(change, scope, name)
}

/// Removes all expired entries.
pub(super) fn remove_expired(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    expire(connection, now, usize::MAX)
}

fn expire(change: &Connection, now: i64, most: usize) -> rusqlite::Result<()> {
    change
        .prepare_cached(
            "DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE expires <= ?1 LIMIT ?2)",
        )?
        .execute(params![now, count(most)])?;
    Ok(())
}

fn delete(change: &Connection, scope: &Scope, name: &str) -> rusqlite::Result<bool> {
    let removed = change
        .prepare_cached("DELETE FROM entry WHERE owner = ?1 AND kind = ?2 AND name = ?3")?
        .execute(params![scope.owner, scope.kind, name])?;
    Ok(removed > 0)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
