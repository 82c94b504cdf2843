//! Uploads: bytes that are written as they arrive.

use std::path::PathBuf;
use std::time::SystemTime;

use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::{
    FileError, FileUrl, Files, INCOMING, Lifetime, StoredFile, blocking, failed, seconds, table,
    url,
};
use crate::key_file::{create_private, create_private_folder};

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
    /// Bytes that the other files of the tenant use
    used: u64,
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
    pub(super) async fn start(
        files: Files,
        url: FileUrl,
        now: SystemTime,
    ) -> Result<Upload, FileError> {
        let (row, now) = (url.clone(), seconds(now));
        let used = files.0.writer.sender()?.ask(move |change| {
            let exists = table::exists(change, &row, now)?;
            exists.then(|| table::usage(change, row.tenant(), now)).transpose()
        });
        let (_, used) = used.await?.ok_or(FileError::NotFound)?;
        let name = url::random_digits().map_err(|_| files.no_random())?;
        let part = files.0.folder.join(INCOMING).join(name);
        let created = part.clone();
        let file = blocking(part.clone(), move || create_private(&created)).await?;
        let (file, part) = (File::from_std(file), PartFile(part));
        Ok(Upload { files, url, file, part, size: 0, used })
    }

    /// Returns the URL that the file will have.
    pub fn url(&self) -> &FileUrl {
        &self.url
    }

    /// Writes the next bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let limits = self.files.0.limits;
        let size = self.size + bytes.len() as u64;
        if size > limits.file_bytes {
            return Err(FileError::TooLarge { max: limits.file_bytes });
        }
        if self.used.saturating_add(size) > limits.tenant_bytes {
            let (limit, used) = (limits.tenant_bytes, self.used);
            return Err(FileError::Quota { unit: "bytes", limit, used });
        }
        self.file.write_all(bytes).await.map_err(|error| failed(&self.part.0, error))?;
        self.size = size;
        Ok(())
    }

    /// Writes everything that a reader returns.
    pub async fn copy(&mut self, mut from: impl AsyncRead + Unpin) -> Result<(), FileError> {
        let mut buffer = vec![0; BUFFER];
        loop {
            match from.read(&mut buffer).await {
                Ok(0) => return Ok(()),
                Ok(length) => self.write(&buffer[..length]).await?,
                Err(error) => return Err(failed(&self.part.0, error)),
            }
        }
    }

    /// Completes the file. From now on it can be found, for its lifetime.
    pub async fn finish(
        mut self,
        lifetime: Lifetime,
        now: SystemTime,
    ) -> Result<StoredFile, FileError> {
        let lifetime = self.limit(lifetime);
        let synced = async {
            self.file.flush().await?;
            self.file.sync_all().await
        };
        synced.await.map_err(|error| failed(&self.part.0, error))?;
        let (part, path) = (self.part.0.clone(), self.files.path(&self.url));
        let moved = path.clone();
        let rename = move || {
            if let Some(folder) = moved.parent() {
                create_private_folder(folder)?;
            }
            std::fs::rename(part, moved)
        };
        blocking(path, rename).await?;
        let (row, size, limit) = (self.url.clone(), self.size, self.files.0.limits.tenant_bytes);
        let now = seconds(now);
        let committed = self.files.0.writer.sender()?.ask(move |change| {
            // Other uploads may have finished since this one began.
            let is_found = table::complete(change, &row, size, &lifetime, now)?;
            let (_, used) = table::usage(change, row.tenant(), now)?;
            if used > limit {
                // Removed below, or by a sweep after a crash.
                table::expire(change, &row, now)?;
            }
            Ok((is_found, used, table::find(change, &row, now)?))
        });
        match committed.await? {
            (false, ..) => {
                let path = self.files.path(&self.url);
                blocking(path.clone(), move || std::fs::remove_file(path)).await?;
                Err(FileError::NotFound)
            }
            (true, used, None) => {
                let used = used.saturating_sub(self.size);
                self.files.remove(vec![self.url.clone()]).await?;
                Err(FileError::Quota { unit: "bytes", limit, used })
            }
            (true, _, Some(file)) => Ok(StoredFile { path: self.files.path(&self.url), ..file }),
        }
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
