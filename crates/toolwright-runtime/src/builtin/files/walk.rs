//! Walks the folders below a folder, breadth first.

use std::collections::VecDeque;
use std::io;

use cap_std::fs::Dir;

use crate::builtin::root::{PathError, RelativePath, Root, is_git};
use crate::prelude::*;

/// Maximum number of names that are read from one folder. They come in no particular order, so
/// which ones are left out is arbitrary.
const NAMES_MAX: usize = 20_000;

/// Maximum number of folders in the queue.
const FOLDERS_MAX: usize = 20_000;

/// A file or a folder.
#[data]
pub struct Entry {
    /// Relative to the root
    pub path: String,
    /// What it is
    pub kind: Kind,
    /// Bytes, of a file
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What an entry is. Links are not followed, others not opened.
#[data]
#[derive(Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file
    File,
    /// A folder
    Folder,
    /// A link
    Link,
    /// A device, a pipe, a name that is not UTF-8
    Other,
}

/// A breadth-first walk through folders.
pub(super) struct Walk<'w> {
    root: &'w Root,
    /// Paths, not open folders: file descriptors are limited
    folders: VecDeque<(RelativePath, usize)>,
    depth: usize,
    /// Whether something was left out
    pub(super) more: bool,
}

/// An open folder and its entries, in order.
pub(super) struct Opened {
    pub(super) dir: Dir,
    pub(super) place: RelativePath,
    pub(super) entries: Vec<(String, Entry)>,
}

impl<'w> Walk<'w> {
    /// Starts at a folder, with a maximum depth.
    pub(super) fn new(root: &'w Root, path: &str, depth: usize) -> Result<Walk<'w>, PathError> {
        // Some models pass an empty path for the root.
        let place = RelativePath::parse(if path.is_empty() { "." } else { path })?;
        root.folder(&place)?;
        Ok(Walk { root, folders: VecDeque::from([(place, 1)]), depth, more: false })
    }

    /// Returns the next folder. Skips folders that cannot be opened.
    pub(super) fn next(&mut self) -> Option<Opened> {
        while let Some((place, level)) = self.folders.pop_front() {
            let Ok(dir) = self.root.folder(&place) else { continue };
            let Ok(entries) = self.scan(&dir, &place) else { continue };
            if level < self.depth {
                self.descend(&place, &entries, level);
            }
            return Some(Opened { dir, place, entries });
        }
        None
    }

    fn descend(&mut self, place: &RelativePath, entries: &[(String, Entry)], level: usize) {
        let is_folder =
            |(name, entry): &&(String, Entry)| entry.kind == Kind::Folder && !is_git(name);
        for (name, _) in entries.iter().filter(is_folder) {
            if self.folders.len() == FOLDERS_MAX {
                self.more = true;
                return;
            }
            self.folders.push_back((place.join(name), level + 1));
        }
    }

    fn scan(&mut self, dir: &Dir, place: &RelativePath) -> io::Result<Vec<(String, Entry)>> {
        let mut entries = Vec::new();
        for found in dir.entries()? {
            if entries.len() == NAMES_MAX {
                self.more = true;
                break;
            }
            // The entry was removed in the meantime.
            let Ok(found) = found else { continue };
            let (name, kind) = match (found.file_name().into_string(), found.file_type()) {
                (Err(name), _) => (name.to_string_lossy().into_owned(), Kind::Other),
                (Ok(name), Ok(kind)) if kind.is_file() => (name, Kind::File),
                (Ok(name), Ok(kind)) if kind.is_dir() => (name, Kind::Folder),
                (Ok(name), Ok(kind)) if kind.is_symlink() => (name, Kind::Link),
                (Ok(name), _) => (name, Kind::Other),
            };
            let known = (kind == Kind::File).then(|| found.metadata().ok()).flatten();
            let (path, size) = (place.join(&name).path(), known.map(|known| known.len()));
            entries.push((name, Entry { path, kind, size }));
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(entries)
    }
}
