//! Uploads: bytes that are written as they arrive.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use toolwright_transport::private_file;

use super::{
    FileError, FileUrl, Files, INCOMING, Lifetime, Result, StoredFile, blocking, failed, seconds,
    table, url,
};

/// Size of the buffer of [`Upload::copy`] in bytes.
const BUFFER: usize = 64 << 10;

/// A file that is being written. It does not exist for others before [`Upload::finish`], and dropping
/// the upload removes the bytes.
#[derive(Debug)]
pub struct Upload {
    files: Files,
    url: FileUrl,
    file: File,
    part: PartFile,
    size: u64,
    /// Bytes that the other files of the tenant used at the start
    used: u64,
    reserved: ReservedBytes,
}

/// Bytes of the uploads that are under way, by tenant, so that together they stay within the quota.
#[derive(Debug, Default)]
pub(super) struct Incoming(Mutex<HashMap<String, IncomingBytes>>);

#[derive(Debug, Default, Clone, Copy)]
struct IncomingBytes {
    /// Number of uploads
    uploads: usize,
    /// Bytes that they have written
    written: u64,
    /// Bytes of uploads that finished since there was none under way
    finished: u64,
}

/// The bytes of an upload. Dropping it releases them.
#[derive(Debug)]
struct ReservedBytes {
    files: Files,
    tenant: String,
    size: u64,
    /// Bytes of other uploads that had finished at the start
    finished: u64,
    /// Whether the upload finished, so that its bytes still count for others
    is_finished: bool,
}

impl ReservedBytes {
    fn new(files: Files, tenant: &str) -> ReservedBytes {
        let mut tenants = files.0.incoming.0.lock();
        let own = tenants.entry(tenant.to_owned()).or_default();
        own.uploads += 1;
        let finished = own.finished;
        drop(tenants);
        ReservedBytes { files, tenant: tenant.to_owned(), size: 0, finished, is_finished: false }
    }

    /// Reserves more bytes, if they are within a limit together with those of other uploads. The error is the number
    /// of bytes that others use.
    fn grow(&mut self, more: u64, used: u64, limit: u64) -> Result<(), u64> {
        let mut tenants = self.files.0.incoming.0.lock();
        let own = tenants.entry(self.tenant.clone()).or_default();
        let finished = own.finished.saturating_sub(self.finished);
        let all = used.saturating_add(own.written).saturating_add(finished);
        if all.saturating_add(more) > limit {
            return Err(all.saturating_sub(self.size));
        }
        own.written += more;
        self.size += more;
        Ok(())
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        let mut tenants = self.files.0.incoming.0.lock();
        let Some(own) = tenants.get_mut(&self.tenant) else { return };
        own.uploads -= 1;
        own.written = own.written.saturating_sub(self.size);
        if self.is_finished {
            own.finished += self.size;
        }
        if own.uploads == 0 {
            tenants.remove(&self.tenant);
        }
    }
}

/// The bytes of an incomplete upload. Dropping it removes them.
#[derive(Debug)]
struct PartFile(PathBuf);

impl Drop for PartFile {
    fn drop(&mut self) {
        // A finished upload has renamed it.
        drop(std::fs::remove_file(&self.0));
    }
}

impl Upload {
    pub(super) async fn start(files: Files, url: FileUrl, now: SystemTime) -> Result<Upload> {
        let (row, now) = (url.clone(), seconds(now));
        // Before the table is read: what finishes in between counts twice rather than not at all.
        let reserved = ReservedBytes::new(files.clone(), url.tenant());
        let used = files.ask(move |change| {
            let exists = table::exists(change, &row, now)?;
            exists.then(|| table::others(change, &row, now)).transpose()
        });
        let used = used.await?.ok_or(FileError::NotFound)?;
        let name = url::random_digits().map_err(|_| files.no_random())?;
        let part = files.0.folder.join(INCOMING).join(name);
        let created = part.clone();
        let file = blocking(part.clone(), move || private_file::create(&created)).await?;
        let (file, part) = (File::from_std(file), PartFile(part));
        Ok(Upload { files, url, file, part, size: 0, used, reserved })
    }

    /// Returns the URL that the file will have.
    pub fn url(&self) -> &FileUrl {
        &self.url
    }

    /// Writes the next bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let limits = self.files.0.limits;
        let size = self.size + bytes.len() as u64;
        if size > limits.file_bytes {
            return Err(FileError::TooLarge { max: limits.file_bytes });
        }
        let limit = limits.tenant_bytes;
        let grown = self.reserved.grow(bytes.len() as u64, self.used, limit);
        grown.map_err(|used| FileError::Quota { unit: "bytes", limit, used })?;
        self.file.write_all(bytes).await.map_err(|error| failed(&self.part.0, error))?;
        self.size = size;
        Ok(())
    }

    /// Writes everything that a reader returns.
    pub async fn copy(&mut self, mut from: impl AsyncRead + Unpin) -> Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            match from.read(&mut buffer).await {
                Ok(0) => return Ok(()),
                Ok(length) => self.write(&buffer[..length]).await?,
                Err(error) => return Err(failed(&self.part.0, error)),
            }
        }
    }

    /// Completes the file. From now on it can be found, for its lifetime. If this fails, earlier bytes of the file
    /// stay.
    pub async fn finish(mut self, lifetime: Lifetime, now: SystemTime) -> Result<StoredFile> {
        let lifetime = self.limit(lifetime);
        let synced = async {
            self.file.flush().await?;
            self.file.sync_all().await
        };
        synced.await.map_err(|error| failed(&self.part.0, error))?;
        let (part, path) = (self.part.0.clone(), self.files.path(&self.url));
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        blocking(folder.clone(), move || private_file::create_folder(&folder)).await?;
        let (row, size, limit) = (self.url.clone(), self.size, self.files.0.limits.tenant_bytes);
        let (now, target, mut is_moved) = (seconds(now), path.clone(), false);
        let committed = self.files.ask(move |change| {
            if !table::exists(change, &row, now)? {
                return Ok(Err(FileError::NotFound));
            }
            // Another process may have stored files since this upload began.
            let used = table::others(change, &row, now)?;
            if used.saturating_add(size) > limit {
                return Ok(Err(FileError::Quota { unit: "bytes", limit, used }));
            }
            // Within the transaction, so that a refused upload replaces nothing.
            if !is_moved && let Err(error) = std::fs::rename(&part, &target) {
                return Ok(Err(failed(&target, error)));
            }
            is_moved = true;
            table::complete(change, &row, size, &lifetime, now)?;
            Ok(table::find(change, &row, now)?.ok_or(FileError::NotFound))
        });
        let file = committed.await??;
        self.reserved.is_finished = true;
        Ok(StoredFile { path, ..file })
    }

    /// Shortens a lifetime to the limit.
    fn limit(&self, lifetime: Lifetime) -> Lifetime {
        match lifetime {
            Lifetime::Permanent => Lifetime::Permanent,
            Lifetime::Temporary { lifetime, session } => {
                let lifetime = lifetime.min(self.files.0.limits.lifetime);
                Lifetime::Temporary { lifetime, session }
            }
        }
    }
}
