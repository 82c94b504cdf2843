//! Files and folders that only their owner may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a file. It must not exist.
pub fn create(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

/// Opens a file for writing, or creates it.
pub fn open(path: &Path) -> io::Result<File> {
    options().create(true).truncate(false).open(path)
}

/// Writes a temporary file and renames it to a path, so that readers find the earlier content or the new one. If this
/// fails, the temporary file is removed.
pub fn replace(path: &Path, temporary: &Path, content: &[u8]) -> io::Result<()> {
    // A killed process may have left it.
    drop(fs::remove_file(temporary));
    let written = create(temporary)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        drop(fs::remove_file(temporary));
    }
    written
}

/// Creates a folder, and the folders above it.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a data folder, unless it exists, and returns its absolute path: a child process that starts in another
/// folder receives paths in it.
pub fn open_folder(path: &Path) -> io::Result<PathBuf> {
    create_folder(path)?;
    // On other systems a canonical path has a form that few programs accept.
    if cfg!(unix) { path.canonicalize() } else { std::path::absolute(path) }
}
