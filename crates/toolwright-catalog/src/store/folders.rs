//! The files of versions.
//!
//! A publication first writes its files to `.publish/<id>@<version>/files` and syncs them. Then it
//! renames that folder to `<id>/<version>`, commits the row, and removes `.publish/<id>@<version>`. So
//! whenever a publication was killed, its name is in `.publish`, and the row decides what happens to
//! its files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use toolwright_transport::private_file;

use crate::error::{CatalogError, Result};
use crate::package::{PackageFile, write_files};

/// The folder of publications that are under way.
const STAGING: &str = ".publish";

#[derive(Debug)]
pub(super) struct Folders {
    root: PathBuf,
}

impl Folders {
    pub(super) fn new(root: PathBuf) -> Folders {
        Folders { root }
    }

    /// Returns the folder of a version.
    pub(super) fn of(&self, id: &str, version: &str) -> PathBuf {
        self.root.join(id).join(version)
    }

    fn stage(&self, id: &str, version: &str) -> PathBuf {
        self.root.join(STAGING).join(format!("{id}@{version}"))
    }

    /// Writes the files of a version, and moves them into place.
    pub(super) fn place(&self, id: &str, version: &str, files: &[PackageFile]) -> Result<()> {
        let stage = self.stage(id, version);
        let place = || {
            let written = stage.join("files");
            for folder in write_files(&written, files, File::sync_all)? {
                sync(&folder);
            }
            sync(&stage);
            sync(&self.root.join(STAGING));
            let folder = self.of(id, version);
            remove(&folder)?;
            private_file::create_folder(&self.root.join(id))?;
            fs::rename(&written, &folder)?;
            sync(&self.root.join(id));
            sync(&self.root);
            Ok(())
        };
        place().map_err(failed(&stage))
    }

    /// Announces that versions are removed, so that their files are, even if this process is killed.
    pub(super) fn begin_removal(&self, id: &str, versions: &[String]) -> Result<()> {
        for version in versions.iter().filter(|version| self.of(id, version).exists()) {
            let stage = self.stage(id, version);
            private_file::create_folder(&stage).map_err(failed(&stage))?;
            sync(&self.root.join(STAGING));
        }
        Ok(())
    }

    /// Returns the publications and removals that were not finished, as id and version.
    pub(super) fn leftovers(&self) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.root.join(STAGING)) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter_map(|name| {
                let (id, version) = name.split_once('@')?;
                Some((id.to_owned(), version.to_owned()))
            })
            .collect()
    }

    /// Finishes a publication or removal: if there is no row, the files are removed.
    pub(super) fn clean(&self, id: &str, version: &str, is_published: bool) -> Result<()> {
        let (folder, stage) = (self.of(id, version), self.stage(id, version));
        if !is_published {
            remove(&folder).map_err(failed(&folder))?;
            // Only an empty folder can be removed so; other versions keep it.
            let _not_empty = fs::remove_dir(self.root.join(id));
        }
        remove(&stage).map_err(failed(&stage))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CatalogError + '_ {
    |error| CatalogError::Folder { path: path.to_owned(), why: error.to_string() }
}

/// Makes the entries of a folder durable. Not every system can sync a folder.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        drop(folder.sync_all());
    }
}

/// Removes a folder, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
