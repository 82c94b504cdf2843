//! Files of tenants, which functions take and produce.
//!
//! The bytes of a file are in the data folder, below a folder for each tenant and under a random id;
//! `files.sqlite` has its name, size, session and expiry. A file of another tenant does not exist for a
//! caller. An [`Upload`] writes bytes as they arrive, and the file appears when it is complete.
//!
//! ```text
//! reserve (row) → Upload (incoming/…) → finish (rename, row is complete) → find, list → sweep
//! ```
//!
//! Every method that depends on the time takes it as an argument.

mod link;
mod table;
mod upload;
mod url;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Transaction;
use toolwright_core::date;
use toolwright_runtime::store::{StoreError, Writer};
use toolwright_transport::private_file;

use self::upload::Incoming;
use super::signing::{SigningKey, SigningKeyError};

pub use link::{LinkError, LinkPurpose};
pub use upload::Upload;
pub use url::{FileUrl, InvalidFileUrl};

/// The file of the table in the data folder.
pub const TABLE_FILE: &str = "files.sqlite";

/// The folder of the bytes in the data folder.
const FOLDER: &str = "files";

/// The folder of incomplete uploads, below the folder of the bytes.
const INCOMING: &str = "incoming";

/// How long a reserved file waits for its bytes. An upload that takes longer fails.
const RESERVED: Duration = Duration::from_hours(24);

/// Maximum number of files on a page.
pub const MAX_PAGE: usize = 1_000;

/// Maximum length of a session id in bytes.
pub const MAX_SESSION_BYTES: usize = 256;

/// Limits of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileLimits {
    /// Maximum size of one file in bytes
    pub file_bytes: u64,
    /// Maximum size of all files of a tenant in bytes
    pub tenant_bytes: u64,
    /// Maximum number of files of a tenant
    pub tenant_files: u64,
    /// Maximum lifetime of a temporary file
    pub lifetime: Duration,
}

impl Default for FileLimits {
    fn default() -> FileLimits {
        FileLimits {
            file_bytes: 1 << 30,
            tenant_bytes: 10 << 30,
            tenant_files: 100_000,
            lifetime: Duration::from_hours(30 * 24),
        }
    }
}

/// Why an operation on files failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not exist, has expired or belongs to another tenant
    #[error("the file does not exist")]
    NotFound,
    /// The file is larger than the limit
    #[error("the file is larger than {max} bytes")]
    TooLarge {
        /// The limit in bytes
        max: u64,
    },
    /// The tenant has reached a limit
    #[error("the files exceed the quota of {limit} {unit}; {used} are used")]
    Quota {
        /// What is limited: `bytes` or `files`
        unit: &'static str,
        /// The limit
        limit: u64,
        /// What is used
        used: u64,
    },
    /// The table cannot be read or written
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key of the signatures cannot be used
    #[error(transparent)]
    Key(#[from] SigningKeyError),
    /// The bytes cannot be read or written
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder
        path: PathBuf,
        /// The system's error
        error: io::Error,
    },
}

/// How long a file is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is removed
    Permanent,
    /// For some time, and until its session is removed
    Temporary {
        /// The time from now, at most that of the limits
        lifetime: Duration,
        /// The session that the file belongs to
        session: Option<String>,
    },
}

/// A complete file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredFile {
    /// Its URL
    pub url: FileUrl,
    /// Its size in bytes
    pub size: u64,
    /// Its media type, as the sender declared it
    pub content_type: Option<String>,
    /// When it was completed, in seconds since 1970
    pub modified: u64,
    /// Where the bytes are. The path must not leave the machine.
    pub path: PathBuf,
}

impl StoredFile {
    /// Returns the time of completion in the form of RFC 3339.
    pub fn last_modified(&self) -> String {
        date::write(self.modified) + "Z"
    }
}

/// The files to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFilter {
    /// Permanent files
    Permanent,
    /// Temporary files, of one session or of all
    Temporary(Option<String>),
}

/// Some files, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePage {
    /// The files
    pub files: Vec<StoredFile>,
    /// The continuation token, if more files follow
    pub next: Option<u64>,
}

/// Files of tenants in a data folder. Clones share one state; several processes may use one folder.
#[derive(Debug, Clone)]
pub struct Files(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    data: PathBuf,
    folder: PathBuf,
    limits: FileLimits,
    key: SigningKey,
    writer: Writer,
    incoming: Incoming,
}

pub(crate) type Result<T, E = FileError> = std::result::Result<T, E>;

impl Files {
    /// Opens the files of a data folder, which is created if it does not exist.
    pub fn open(data: &Path, limits: FileLimits) -> Result<Files> {
        let data = private_file::open_folder(data).map_err(|error| failed(data, error))?;
        let key = SigningKey::open(&data)?;
        let path = data.join(TABLE_FILE);
        let writer = Writer::start(toolwright_runtime::store::open(&path, &table::FILES)?, path)?;
        let folder = data.join(FOLDER);
        let incoming = folder.join(INCOMING);
        private_file::create_folder(&incoming).map_err(|error| failed(&incoming, error))?;
        let incoming = Incoming::default();
        Ok(Files(Arc::new(Inner { data, folder, limits, key, writer, incoming })))
    }

    /// Returns the absolute path of the data folder.
    pub(super) fn data(&self) -> &Path {
        &self.0.data
    }

    /// Returns the limits.
    pub fn limits(&self) -> FileLimits {
        self.0.limits
    }

    /// Returns the key that links are signed with.
    pub fn signing_key(&self) -> &SigningKey {
        &self.0.key
    }

    /// Reserves a URL for a file whose bytes follow.
    pub async fn reserve(
        &self,
        tenant: &str,
        name: &str,
        content_type: Option<&str>,
        now: SystemTime,
    ) -> Result<FileUrl> {
        let url = FileUrl::new(tenant, name).map_err(|_| self.no_random())?;
        let (row, content_type) = (url.clone(), content_type.map(str::to_owned));
        let (now, limit) = (seconds(now), self.0.limits.tenant_files);
        let expires = now + RESERVED.as_secs();
        let used = self.ask(move |change| {
            let (used, _) = table::usage(change, row.tenant(), now)?;
            if used < limit {
                table::insert(change, &row, content_type.as_deref(), now, expires)?;
            }
            Ok(used)
        });
        match used.await? {
            used if used < limit => Ok(url),
            used => Err(FileError::Quota { unit: "files", limit, used }),
        }
    }

    /// Starts the upload of a new file.
    pub async fn upload(
        &self,
        tenant: &str,
        name: &str,
        content_type: Option<&str>,
        now: SystemTime,
    ) -> Result<Upload> {
        let url = self.reserve(tenant, name, content_type, now).await?;
        self.upload_reserved(url, now).await
    }

    /// Starts the upload of the bytes of a reserved file. Later bytes replace earlier ones.
    pub async fn upload_reserved(&self, url: FileUrl, now: SystemTime) -> Result<Upload> {
        Upload::start(self.clone(), url, now).await
    }

    /// Finds a file of a tenant by its URL.
    pub async fn find(&self, tenant: &str, url: &str, now: SystemTime) -> Result<StoredFile> {
        let url: FileUrl = url.parse().map_err(|_| FileError::NotFound)?;
        if !url.belongs_to(tenant) {
            return Err(FileError::NotFound);
        }
        self.find_any(&url, now).await
    }

    /// Finds a file of any tenant. The caller must know by other means, such as a signed link, that the
    /// client may have it.
    pub async fn find_any(&self, url: &FileUrl, now: SystemTime) -> Result<StoredFile> {
        let (row, now) = (url.clone(), seconds(now));
        let found = self.ask(move |change| table::find(change, &row, now));
        let mut found = found.await?.ok_or(FileError::NotFound)?;
        found.path = self.path(url);
        Ok(found)
    }

    /// Lists files of a tenant, oldest first, after the continuation token of an earlier page.
    pub async fn list(
        &self,
        tenant: &str,
        filter: FileFilter,
        limit: usize,
        after: Option<u64>,
        now: SystemTime,
    ) -> Result<FilePage> {
        let (tenant, limit, now) = (url::tenant_folder(tenant), limit.min(MAX_PAGE), seconds(now));
        let after = after.unwrap_or(0);
        let page = self.ask(move |change| table::list(change, &tenant, &filter, limit, after, now));
        let mut page = page.await?;
        for file in &mut page.files {
            file.path = self.path(&file.url);
        }
        Ok(page)
    }

    /// Removes the temporary files of a session, and returns their number.
    pub async fn remove_session(
        &self,
        tenant: &str,
        session: &str,
        now: SystemTime,
    ) -> Result<u64> {
        let (tenant, session, now) = (url::tenant_folder(tenant), session.to_owned(), seconds(now));
        let found = self.ask(move |change| table::of_session(change, &tenant, &session, now));
        self.remove(found.await?).await
    }

    /// Removes files that have expired and uploads that were interrupted, and returns the number of
    /// files.
    pub async fn sweep(&self, now: SystemTime) -> Result<u64> {
        let incoming = self.0.folder.join(INCOMING);
        blocking(incoming.clone(), move || remove_interrupted(&incoming, now)).await?;
        let now = seconds(now);
        let found = self.ask(move |change| table::expired(change, now));
        self.remove(found.await?).await
    }

    /// Removes the bytes and then the rows, so that a crash in between leaves rows that are removed
    /// again.
    async fn remove(&self, files: Vec<FileUrl>) -> Result<u64> {
        if files.is_empty() {
            return Ok(0);
        }
        let paths: Vec<PathBuf> = files.iter().map(|file| self.path(file)).collect();
        let unlink = move || {
            for path in paths {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        };
        blocking(self.0.folder.clone(), unlink).await?;
        self.ask(move |change| table::remove(change, &files)).await
    }

    /// Where the bytes of a file are.
    /// Reads or changes the table.
    async fn ask<T: Send + 'static>(
        &self,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.0.writer.sender()?.ask(apply).await?)
    }

    fn path(&self, url: &FileUrl) -> PathBuf {
        self.0.folder.join(url.tenant()).join(url.id())
    }

    fn no_random(&self) -> FileError {
        failed(&self.0.folder, io::Error::other("the system has no random numbers"))
    }
}

/// Removes uploads that nothing writes any more.
fn remove_interrupted(incoming: &Path, now: SystemTime) -> io::Result<()> {
    for entry in std::fs::read_dir(incoming)? {
        let entry = entry?;
        // An upload that ended meanwhile has no file any more.
        let Ok(modified) = entry.metadata().and_then(|own| own.modified()) else { continue };
        if now.duration_since(modified).is_ok_and(|age| age > RESERVED) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

/// Runs a function on a thread that may block.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
    done.map_err(|error| failed(&path, error))
}

fn failed(path: &Path, error: io::Error) -> FileError {
    FileError::Io { path: path.to_owned(), error }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
