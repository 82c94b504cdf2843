//! The table of files: one row for each, complete or reserved.

use rusqlite::{Connection, OptionalExtension, Row, params};
use toolwright_runtime::store::{Kind, Safety};

use super::{FileFilter, FilePage, FileUrl, Lifetime, StoredFile};

/// The format of the table's file.
pub(super) const FILES: Kind = Kind {
    name: "file table",
    id: 0x7477_6669,
    migrations: &["CREATE TABLE files (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            tenant TEXT NOT NULL,
            name TEXT NOT NULL,
            content_type TEXT,
            -- 'reserved', 'permanent' or 'temporary'
            state TEXT NOT NULL,
            session TEXT,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            expires INTEGER
        ) STRICT;
        CREATE INDEX files_of_tenant ON files (tenant, state, number);
        CREATE INDEX files_that_expire ON files (expires) WHERE expires IS NOT NULL;"],
    safety: Safety::Power,
};

/// Maximum number of files that one sweep removes.
const SWEPT: usize = 10_000;

/// Number and size of a tenant's files that have not expired.
pub(super) fn usage(
    connection: &Connection,
    tenant: &str,
    now: u64,
) -> rusqlite::Result<(u64, u64)> {
    let mut query = connection.prepare_cached(
        "SELECT count(*), coalesce(sum(size), 0) FROM files
         WHERE tenant = ?1 AND (expires IS NULL OR expires > ?2)",
    )?;
    query.query_row(params![tenant, now], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Size of a tenant's files that have not expired, without one of them.
pub(super) fn others(connection: &Connection, url: &FileUrl, now: u64) -> rusqlite::Result<u64> {
    let mut query = connection.prepare_cached(
        "SELECT coalesce(sum(size), 0) FROM files
         WHERE tenant = ?1 AND id != ?2 AND (expires IS NULL OR expires > ?3)",
    )?;
    query.query_row(params![url.tenant(), url.id(), now], |row| row.get(0))
}

/// Inserts a reserved file.
pub(super) fn insert(
    connection: &Connection,
    url: &FileUrl,
    content_type: Option<&str>,
    now: u64,
    expires: u64,
) -> rusqlite::Result<()> {
    let mut change = connection.prepare_cached(
        "INSERT INTO files (id, tenant, name, content_type, state, size, modified, expires)
         VALUES (?1, ?2, ?3, ?4, 'reserved', 0, ?5, ?6)",
    )?;
    change.execute(params![url.id(), url.tenant(), url.name(), content_type, now, expires])?;
    Ok(())
}

/// Whether a row, reserved or complete, has not expired.
pub(super) fn exists(connection: &Connection, url: &FileUrl, now: u64) -> rusqlite::Result<bool> {
    let mut query = connection.prepare_cached(
        "SELECT 1 FROM files WHERE id = ?1 AND tenant = ?2 AND name = ?3
         AND (expires IS NULL OR expires > ?4)",
    )?;
    query.exists(params![url.id(), url.tenant(), url.name(), now])
}

/// Marks a file as complete.
pub(super) fn complete(
    connection: &Connection,
    url: &FileUrl,
    size: u64,
    lifetime: &Lifetime,
    now: u64,
) -> rusqlite::Result<()> {
    let (state, session, expires) = match lifetime {
        Lifetime::Permanent => ("permanent", None, None),
        Lifetime::Temporary { lifetime, session } => {
            ("temporary", session.as_deref(), Some(now.saturating_add(lifetime.as_secs())))
        }
    };
    let mut change = connection.prepare_cached(
        "UPDATE files SET state = ?3, session = ?4, size = ?5, modified = ?6, expires = ?7
         WHERE id = ?1 AND tenant = ?2",
    )?;
    change.execute(params![url.id(), url.tenant(), state, session, size, now, expires])?;
    Ok(())
}

/// Finds a complete file. Its path is empty.
pub(super) fn find(
    connection: &Connection,
    url: &FileUrl,
    now: u64,
) -> rusqlite::Result<Option<StoredFile>> {
    let mut query = connection.prepare_cached(
        "SELECT number, id, tenant, name, content_type, size, modified FROM files
         WHERE id = ?1 AND tenant = ?2 AND name = ?3 AND state != 'reserved'
         AND (expires IS NULL OR expires > ?4)",
    )?;
    let found = query.query_row(params![url.id(), url.tenant(), url.name(), now], read);
    Ok(found.optional()?.map(|(_, file)| file))
}

/// Lists complete files after a number.
pub(super) fn list(
    connection: &Connection,
    tenant: &str,
    filter: &FileFilter,
    limit: usize,
    after: u64,
    now: u64,
) -> rusqlite::Result<FilePage> {
    let (state, session) = match filter {
        FileFilter::Permanent => ("permanent", None),
        FileFilter::Temporary(session) => ("temporary", session.as_deref()),
    };
    let mut query = connection.prepare_cached(
        "SELECT number, id, tenant, name, content_type, size, modified FROM files
         WHERE tenant = ?1 AND state = ?2 AND number > ?3 AND (?4 IS NULL OR session = ?4)
         AND (expires IS NULL OR expires > ?5) ORDER BY number LIMIT ?6",
    )?;
    let limited = i64::try_from(limit + 1).unwrap_or(i64::MAX);
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = query.query_map(params![tenant, state, after, session, now, limited], read)?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<(u64, StoredFile)>>>()?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|(number, _)| *number);
    Ok(FilePage { files: rows.into_iter().map(|(_, file)| file).collect(), next })
}

/// The temporary files of a session.
pub(super) fn of_session(
    connection: &Connection,
    tenant: &str,
    session: &str,
    now: u64,
) -> rusqlite::Result<Vec<FileUrl>> {
    let mut query = connection.prepare_cached(
        "SELECT tenant, id, name FROM files
         WHERE tenant = ?1 AND state = 'temporary' AND session = ?2 AND expires > ?3",
    )?;
    query.query_map(params![tenant, session, now], url)?.collect()
}

/// Files that have expired.
pub(super) fn expired(connection: &Connection, now: u64) -> rusqlite::Result<Vec<FileUrl>> {
    let mut query = connection
        .prepare_cached("SELECT tenant, id, name FROM files WHERE expires <= ?1 LIMIT ?2")?;
    query.query_map(params![now, i64::try_from(SWEPT).unwrap_or(i64::MAX)], url)?.collect()
}

/// Removes rows, and returns their number.
pub(super) fn remove(connection: &Connection, files: &[FileUrl]) -> rusqlite::Result<u64> {
    let mut change = connection.prepare_cached("DELETE FROM files WHERE id = ?1")?;
    let mut removed = 0;
    for file in files {
        removed += change.execute(params![file.id()])? as u64;
    }
    Ok(removed)
}

fn url(row: &Row<'_>) -> rusqlite::Result<FileUrl> {
    Ok(FileUrl::from_parts(row.get(0)?, row.get(1)?, row.get(2)?))
}

fn read(row: &Row<'_>) -> rusqlite::Result<(u64, StoredFile)> {
    let url = FileUrl::from_parts(row.get(2)?, row.get(1)?, row.get(3)?);
    let (content_type, size, modified) = (row.get(4)?, row.get(5)?, row.get(6)?);
    let path = std::path::PathBuf::new();
    Ok((row.get(0)?, StoredFile { url, size, content_type, modified, path }))
}
