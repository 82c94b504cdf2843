//! Opens SQLite files: creates a file that only its owner may read, checks its format before
//! changing it, and migrates it to the newest version.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use toolwright_transport::private_file;

use super::{StoreError, set_damaged};

/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of a file that is checked as a whole, in bytes.
const MAX_CHECKED: u64 = 64 << 20;

/// A file format.
pub struct Kind {
    /// Its name in one word
    pub name: &'static str,
    /// SQLite's application id, which identifies the format
    pub id: i32,
    /// The statements that migrate each version to the next; the version of a file is the number
    /// applied
    pub migrations: &'static [&'static str],
    /// The durability of a commit
    pub safety: Safety,
}

/// The durability of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// Survives the end of the process and a power failure
    Power,
    /// Survives the end of the process; a power failure may lose the last commits, but does not
    /// damage the file
    Process,
}

/// Identity of the file at a path, to detect that it was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl FileId {
    /// Identity of the file at a path; `None` if the path does not exist.
    pub(crate) fn of(path: &Path) -> Option<FileId> {
        let found = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        return Some(FileId {
            device: std::os::unix::fs::MetadataExt::dev(&found),
            inode: std::os::unix::fs::MetadataExt::ino(&found),
        });
        #[cfg(not(unix))]
        return found.is_file().then_some(FileId {});
    }
}

/// Only one file is created at a time: closing it would release the locks of other connections of
/// this process.
static CREATING: Mutex<()> = Mutex::new(());

/// Opens a file of a format, or creates it.
pub fn open(path: &Path, kind: &Kind) -> Result<Connection, StoreError> {
    create(path).map_err(|error| StoreError::Unavailable {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    let connection = reopen(path, kind)?;
    set_damaged(path, false);
    Ok(connection)
}

/// Opens an existing file of a format.
pub fn reopen(path: &Path, kind: &Kind) -> Result<Connection, StoreError> {
    let fail = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            set_damaged(path, true);
            StoreError::Foreign { path: path.to_owned(), kind: kind.name }
        }
        _ => StoreError::of(path, &error),
    };
    let mut connection = connect(path).map_err(fail)?;
    let version = recognise(&connection, path, kind, fail)?;
    patiently(|| prepare(&connection, kind)).map_err(fail)?;
    if version < kind.migrations.len() {
        migrate(&mut connection, kind).map_err(fail)?;
    }
    Ok(connection)
}

/// Checks that a file is a SQLite database that is not damaged; of a large one, only that it has a schema.
pub fn check_file(path: &Path) -> Result<(), StoreError> {
    let fail = |error| StoreError::of(path, &error);
    let connection = connect(path).map_err(fail)?;
    let schema = "SELECT count(*) FROM sqlite_schema";
    connection.query_row(schema, [], |_| Ok(())).map_err(fail)?;
    check_pages(path, &connection)
}

/// Checks all pages of a file, unless it is large.
pub fn check_pages(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|found| found.len() > MAX_CHECKED) {
        return Ok(());
    }
    let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    let why: String = found.map_err(|error| StoreError::of(path, &error))?;
    if why == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned(), why }) }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// Creates an empty file that only its owner may read; SQLite creates the files beside it with the
/// same permissions.
fn create(path: &Path) -> io::Result<()> {
    let _guard = CREATING.lock();
    match private_file::create(path) {
        Ok(file) => file.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    // The directory entry must be durable as well. Not every system can sync a folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        drop(folder.sync_all());
    }
    Ok(())
}

/// Refuses a file of another format before anything is changed. Returns its version.
fn recognise(
    connection: &Connection,
    path: &Path,
    kind: &Kind,
    fail: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<usize, StoreError> {
    // One snapshot, because another process may be creating the tables.
    let snapshot = connection.unchecked_transaction().map_err(&fail)?;
    let number = |query: &str| snapshot.query_row(query, [], |row| row.get::<_, i64>(0));
    let id = number("PRAGMA application_id").map_err(&fail)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(&fail)?;
    if id != i64::from(kind.id) && (id != 0 || tables != 0) {
        return Err(StoreError::Foreign { path: path.to_owned(), kind: kind.name });
    }
    let found = number("PRAGMA user_version").map_err(&fail)?;
    let known = i64::try_from(kind.migrations.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), kind: kind.name, found, known });
    }
    Ok(usize::try_from(found).unwrap_or(0))
}

/// Sets the pragmas of the connection.
fn prepare(connection: &Connection, kind: &Kind) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(match kind.safety {
        Safety::Power => "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;",
        Safety::Process => "PRAGMA synchronous = NORMAL;",
    })
}

/// Retries while another process changes the journal mode, for which SQLite does not wait.
fn patiently(attempt: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && Instant::now() < end =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Migrates the file to the newest version, unless another process already did.
fn migrate(connection: &mut Connection, kind: &Kind) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: usize = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for migration in kind.migrations.iter().skip(version) {
        change.execute_batch(migration)?;
    }
    if version < kind.migrations.len() {
        change.pragma_update(None, "application_id", kind.id)?;
        change.pragma_update(None, "user_version", kind.migrations.len())?;
    }
    change.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Kind = Kind {
        name: "list",
        id: 7,
        migrations: &["CREATE TABLE list (word TEXT) STRICT"],
        safety: Safety::Power,
    };
    const NEW: Kind = Kind {
        migrations: &[OLD.migrations[0], "ALTER TABLE list ADD COLUMN length INTEGER DEFAULT 3"],
        ..OLD
    };
    const BROKEN: Kind = Kind {
        migrations: &[OLD.migrations[0], "CREATE TABLE other (a); CREATE TABLE list (b)"],
        ..OLD
    };

    fn number(connection: &Connection, query: &str) -> i64 {
        connection.query_row(query, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn commits_wait_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open(&folder.path().join("list.db"), &OLD).unwrap();
        assert_eq!(number(&connection, "PRAGMA synchronous"), 2, "FULL");
        let mode: String =
            connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn an_old_file_becomes_new_and_keeps_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.db");
        let connection = open(&path, &OLD).unwrap();
        assert_eq!(number(&connection, "PRAGMA user_version"), 1);
        connection.execute_batch("INSERT INTO list (word) VALUES ('one')").unwrap();
        drop(connection);
        for _ in 0..2 {
            let connection = open(&path, &NEW).unwrap();
            assert_eq!(number(&connection, "PRAGMA user_version"), 2);
            assert_eq!(number(&connection, "SELECT sum(length) FROM list"), 3);
        }
        assert!(matches!(open(&path, &OLD), Err(StoreError::Newer { found: 2, known: 1, .. })));
        let other = Kind { id: 8, ..OLD };
        assert!(matches!(open(&path, &other), Err(StoreError::Foreign { .. })));
    }

    #[test]
    fn a_file_is_recognised_while_another_connection_creates_its_tables() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..100 {
            let path = folder.path().join(format!("{round}.db"));
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                let opening = [(); 2].map(|()| {
                    scope.spawn(|| {
                        start.wait();
                        open(&path, &NEW).map(drop)
                    })
                });
                for opened in opening {
                    opened.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.db");
        drop(open(&path, &OLD).unwrap());
        assert!(matches!(open(&path, &BROKEN), Err(StoreError::Failed { .. })));
        let connection = open(&path, &OLD).unwrap();
        assert_eq!(number(&connection, "SELECT count(*) FROM sqlite_schema"), 1);
    }
}
