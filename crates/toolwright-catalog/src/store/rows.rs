//! The rows of the catalog.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params};
use toolwright_runtime::store::{Kind, Safety};

use super::search::ChangedPrefab;
use crate::manifest::Visibility;
use crate::version::PrefabSummary;

/// The file. Columns that lists show come before the manifest, which may fill many pages.
pub(super) const CATALOG: Kind = Kind {
    name: "catalog",
    id: 0x7477_6374,
    migrations: &[
        "
        CREATE TABLE revision (number INTEGER NOT NULL) STRICT;
        INSERT INTO revision (number) VALUES (0);
        CREATE TABLE prefab (
            id TEXT PRIMARY KEY,
            latest TEXT,
            visibility TEXT,
            changed INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX prefab_changed ON prefab (changed);
        CREATE TABLE version (
            prefab TEXT NOT NULL,
            version TEXT NOT NULL,
            digest TEXT NOT NULL,
            published INTEGER NOT NULL,
            deprecated TEXT,
            yanked TEXT,
            has_files INTEGER NOT NULL,
            name TEXT NOT NULL,
            description TEXT NOT NULL,
            tags TEXT NOT NULL,
            author TEXT,
            functions TEXT NOT NULL,
            document TEXT NOT NULL,
            UNIQUE (prefab, version)
        ) STRICT;
    ",
        "
        CREATE TABLE removed (
            prefab TEXT NOT NULL,
            version TEXT NOT NULL,
            PRIMARY KEY (prefab, version)
        ) STRICT, WITHOUT ROWID;
    ",
    ],
    safety: Safety::Power,
};

/// Separates tags, and names of functions, which have no line breaks.
const SEPARATOR: char = '\n';

/// A version.
pub(super) struct VersionRow {
    pub(super) id: String,
    pub(super) version: String,
    pub(super) digest: String,
    pub(super) published: u64,
    pub(super) deprecated: Option<String>,
    pub(super) yanked: Option<String>,
    pub(super) has_files: bool,
    pub(super) visibility: Option<Visibility>,
    pub(super) document: String,
}

/// A version to insert.
pub(super) struct NewVersion<'v> {
    pub(super) id: &'v str,
    pub(super) version: &'v str,
    pub(super) digest: &'v str,
    pub(super) published: u64,
    pub(super) has_files: bool,
    pub(super) name: &'v str,
    pub(super) description: &'v str,
    pub(super) tags: &'v [String],
    pub(super) author: Option<&'v str>,
    pub(super) functions: Vec<&'v str>,
    pub(super) document: &'v str,
}

pub(super) fn revision(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT number FROM revision")?.query_row([], |row| row.get(0))
}

/// Increments the revision and returns it.
pub(super) fn next_revision(change: &Transaction<'_>) -> rusqlite::Result<u64> {
    let sql = "UPDATE revision SET number = number + 1 RETURNING number";
    change.query_row(sql, [], |row| row.get(0))
}

pub(super) fn latest(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT latest FROM prefab WHERE id = ?")?;
    let found: Option<Option<String>> = statement.query_row([id], |row| row.get(0)).optional()?;
    Ok(found.flatten())
}

pub(super) fn version(
    connection: &Connection,
    id: &str,
    version: &str,
) -> rusqlite::Result<Option<VersionRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT digest, published, deprecated, yanked, has_files, visibility, document
         FROM version JOIN prefab ON prefab.id = version.prefab
         WHERE prefab = ? AND version = ?",
    )?;
    let read = |row: &Row<'_>| {
        Ok(VersionRow {
            id: id.to_owned(),
            version: version.to_owned(),
            digest: row.get(0)?,
            published: row.get(1)?,
            deprecated: row.get(2)?,
            yanked: row.get(3)?,
            has_files: row.get(4)?,
            visibility: visibility(row, 5)?,
            document: row.get(6)?,
        })
    };
    statement.query_row([id, version], read).optional()
}

fn visibility(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Visibility>> {
    let name: Option<String> = row.get(column)?;
    let parse = |name: String| {
        Visibility::from_name(&name)
            .ok_or_else(|| rusqlite::Error::InvalidColumnType(column, name, Type::Text))
    };
    name.map(parse).transpose()
}

/// Columns of a [`PrefabSummary`].
const SUMMARY: &str = "SELECT id, version, name, description, tags, author, functions, visibility,
    latest = version, deprecated, yanked, digest, published
    FROM prefab JOIN version ON version.prefab = prefab.id";

fn summary(row: &Row<'_>) -> rusqlite::Result<PrefabSummary> {
    let list = |column| -> rusqlite::Result<Vec<String>> {
        let text: String = row.get(column)?;
        let items = text.split(SEPARATOR).filter(|item| !item.is_empty());
        Ok(items.map(str::to_owned).collect())
    };
    Ok(PrefabSummary {
        id: row.get(0)?,
        version: row.get(1)?,
        name: row.get(2)?,
        description: row.get(3)?,
        tags: list(4)?,
        author: row.get(5)?,
        functions: list(6)?,
        visibility: visibility(row, 7)?,
        is_latest: row.get::<_, Option<bool>>(8)?.unwrap_or(false),
        deprecated: row.get(9)?,
        yanked: row.get(10)?,
        digest: row.get(11)?,
        published: row.get(12)?,
    })
}

/// Returns the latest version of each prefab.
pub(super) fn prefabs(connection: &Connection) -> rusqlite::Result<Vec<PrefabSummary>> {
    let sql = format!("{SUMMARY} AND version.version = prefab.latest ORDER BY id");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([], summary)?.collect()
}

/// Returns all versions of prefabs without a latest one.
pub(super) fn undeployed(connection: &Connection) -> rusqlite::Result<Vec<PrefabSummary>> {
    let sql = format!("{SUMMARY} WHERE prefab.latest IS NULL ORDER BY id");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([], summary)?.collect()
}

/// Returns the ids that come before and after an id in their order, up to `count` each.
pub(super) fn neighbours(
    connection: &Connection,
    id: &str,
    count: usize,
) -> rusqlite::Result<Vec<String>> {
    let before =
        "SELECT id FROM prefab WHERE id < ?1 AND latest IS NOT NULL ORDER BY id DESC LIMIT ?2";
    let after = "SELECT id FROM prefab WHERE id > ?1 AND latest IS NOT NULL ORDER BY id LIMIT ?2";
    let mut ids = Vec::new();
    for sql in [before, after] {
        let mut statement = connection.prepare_cached(sql)?;
        for id in statement.query_map((id, count), |row| row.get(0))? {
            ids.push(id?);
        }
    }
    Ok(ids)
}

/// Returns all versions of a prefab.
pub(super) fn versions(connection: &Connection, id: &str) -> rusqlite::Result<Vec<PrefabSummary>> {
    let sql = format!("{SUMMARY} WHERE id = ?");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([id], summary)?.collect()
}

/// Returns the prefabs that changed after a revision.
pub(super) fn changed(connection: &Connection, since: u64) -> rusqlite::Result<Vec<ChangedPrefab>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, visibility, changed, latest IS NOT NULL FROM prefab WHERE changed > ? ORDER BY id",
    )?;
    let read = |row: &Row<'_>| {
        Ok(ChangedPrefab {
            id: row.get(0)?,
            visibility: visibility(row, 1)?,
            changed: row.get(2)?,
            is_deployed: row.get(3)?,
        })
    };
    statement.query_map([since], read)?.collect()
}

pub(super) fn insert(change: &Transaction<'_>, new: &NewVersion<'_>) -> rusqlite::Result<()> {
    let sql = "INSERT INTO prefab (id, changed) VALUES (?, 0) ON CONFLICT DO NOTHING";
    change.prepare_cached(sql)?.execute([new.id])?;
    let mut statement = change.prepare_cached(
        "INSERT OR REPLACE INTO version (prefab, version, digest, published, has_files, name,
            description, tags, author, functions, document)
         VALUES (:id, :version, :digest, :published, :has_files, :name, :description, :tags,
            :author, :functions, :document)",
    )?;
    let separator = SEPARATOR.to_string();
    statement.execute(named_params! {
        ":id": new.id,
        ":version": new.version,
        ":digest": new.digest,
        ":published": new.published,
        ":has_files": new.has_files,
        ":name": new.name,
        ":description": new.description,
        ":tags": new.tags.join(&separator),
        ":author": new.author,
        ":functions": new.functions.join(&separator),
        ":document": new.document,
    })?;
    Ok(())
}

/// Records the revision of a change. Returns whether the prefab exists.
pub(super) fn touch(change: &Transaction<'_>, id: &str, revision: u64) -> rusqlite::Result<bool> {
    let sql = "UPDATE prefab SET changed = ? WHERE id = ?";
    Ok(change.prepare_cached(sql)?.execute((revision, id))? > 0)
}

pub(super) fn set_latest(
    change: &Transaction<'_>,
    id: &str,
    version: Option<&str>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE prefab SET latest = ? WHERE id = ?";
    change.prepare_cached(sql)?.execute((version, id)).map(drop)
}

pub(super) fn set_visibility(
    change: &Transaction<'_>,
    id: &str,
    visibility: Option<Visibility>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE prefab SET visibility = ? WHERE id = ?";
    change.prepare_cached(sql)?.execute((visibility.map(Visibility::name), id)).map(drop)
}

/// Sets a column of a version, `deprecated` or `yanked`.
pub(super) fn mark(
    change: &Transaction<'_>,
    column: &'static str,
    id: &str,
    version: &str,
    text: Option<&str>,
) -> rusqlite::Result<()> {
    let sql = format!("UPDATE version SET {column} = ? WHERE prefab = ? AND version = ?");
    change.execute(&sql, (text, id, version)).map(drop)
}

/// Removes a version, or all. Returns the removed versions. The row of the prefab stays, so that other
/// processes see the revision of the removal.
pub(super) fn remove(
    change: &Transaction<'_>,
    id: &str,
    version: Option<&str>,
) -> rusqlite::Result<Vec<String>> {
    let mut statement = change.prepare_cached(
        "DELETE FROM version WHERE prefab = ?1 AND (?2 IS NULL OR version = ?2) RETURNING version",
    )?;
    statement.query_map((id, version), |row| row.get(0))?.collect()
}

/// Records the removal of versions, so that built-in ones are not published again.
pub(super) fn record_removed(
    change: &Transaction<'_>,
    id: &str,
    versions: &[String],
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO removed (prefab, version) VALUES (?, ?) ON CONFLICT DO NOTHING";
    let mut statement = change.prepare_cached(sql)?;
    for version in versions {
        statement.execute((id, version))?;
    }
    Ok(())
}

/// Whether a version was removed, or all versions of its prefab.
pub(super) fn is_removed(
    connection: &Connection,
    id: &str,
    version: &str,
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM removed WHERE prefab = ?1 AND version = ?2)
             OR EXISTS (SELECT 1 FROM prefab WHERE id = ?1)
                AND NOT EXISTS (SELECT 1 FROM version WHERE prefab = ?1)",
    )?;
    statement.query_row((id, version), |row| row.get(0))
}
