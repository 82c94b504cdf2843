//! The folder that file tools work in. No path leads outside of it.
//!
//! A path is resolved name by name from the open folder, and each name is opened without following
//! links, so that no change between a check and its use can lead elsewhere. `..`, absolute paths
//! and links are refused, devices and pipes are not opened, and `.git` is off limits: a file
//! written there could make git run programs.

use std::fmt;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

/// Maximum length of a path, and of a name in it.
const PATH_MAX: usize = 4096;
const NAME_MAX: usize = 255;

/// A folder that no path leads out of. Clones refer to the same folder.
#[derive(Clone)]
pub struct Root {
    dir: Arc<Dir>,
    path: Arc<Path>,
}

/// Why a path cannot be used, for the model. It does not reveal the location of the root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path is absolute or has `..`
    #[error("{0} leaves the root: a path must be relative to it and without \"..\"")]
    Outside(Shown),
    /// A component of the path is a link
    #[error("{0} is a link or goes through one, and links are not followed")]
    Link(Shown),
    /// The path is in `.git`
    #[error("{0} belongs to git: use the git tools")]
    Git(Shown),
    /// The name is not valid
    #[error("{0} cannot be the name of a file")]
    Name(Shown),
    /// The path does not exist
    #[error("{0} does not exist: call list_files to see what exists")]
    Missing(Shown),
    /// The path exists already
    #[error("{0} exists already: to change it, choose another mode")]
    Exists(Shown),
    /// Not a file
    #[error("{0} is a folder and not a file: call list_files to see what is in it")]
    NotAFile(Shown),
    /// Not a folder
    #[error("{0} is not a folder, or one of its parents is not")]
    NotAFolder(Shown),
    /// A device, a pipe or a socket
    #[error("{0} is neither a file nor a folder and is not opened")]
    Special(Shown),
    /// Permission denied
    #[error("{0} may not be opened")]
    Denied(Shown),
    /// Another error
    #[error("{0} cannot be used: {1}")]
    Other(Shown, io::ErrorKind),
}

/// A path for display: quoted and truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    fn new(path: &str) -> Shown {
        let end = path.floor_char_boundary(200);
        let rest = if end < path.len() { "…" } else { "" };
        Shown(format!("{:?}{rest}", &path[..end]))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A relative path without `..`, checked by its text alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelativePath {
    names: Vec<String>,
    shown: Shown,
}

impl RelativePath {
    /// Parses a path below the root. It may not lead out of it.
    pub fn parse(path: &str) -> Result<RelativePath, PathError> {
        let shown = Shown::new(path);
        if path.is_empty() || path.len() > PATH_MAX || path.contains('\0') {
            return Err(PathError::Name(shown));
        }
        let mut names = Vec::new();
        for component in Path::new(path).components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => {
                    let name = name.to_string_lossy().into_owned();
                    if name.len() > NAME_MAX {
                        return Err(PathError::Name(shown));
                    }
                    if is_git(&name) {
                        return Err(PathError::Git(shown));
                    }
                    names.push(name);
                }
                _ => return Err(PathError::Outside(shown)),
            }
        }
        Ok(RelativePath { names, shown })
    }

    /// Appends a name that was read from the folder.
    #[must_use]
    pub fn join(&self, name: &str) -> RelativePath {
        let mut names = self.names.clone();
        names.push(name.to_owned());
        RelativePath { shown: Shown::new(&names.join("/")), names }
    }

    /// Returns the path with `/`, or `.` for the root.
    pub(super) fn path(&self) -> String {
        if self.names.is_empty() { ".".to_owned() } else { self.names.join("/") }
    }

    /// Returns the names of the folders and the name of the file.
    pub(super) fn file(&self) -> Result<(&[String], &str), PathError> {
        match self.names.split_last() {
            Some((name, folders)) => Ok((folders, name)),
            None => Err(PathError::NotAFile(self.shown.clone())),
        }
    }

    /// Returns the error for a name in a folder.
    pub(super) fn why(&self, folder: &Dir, name: &str, error: &io::Error) -> PathError {
        let shown = self.shown.clone();
        let is_link = folder.symlink_metadata(name).is_ok_and(|found| found.is_symlink());
        match error.kind() {
            _ if is_link => PathError::Link(shown),
            io::ErrorKind::NotFound => PathError::Missing(shown),
            io::ErrorKind::AlreadyExists => PathError::Exists(shown),
            io::ErrorKind::NotADirectory => PathError::NotAFolder(shown),
            io::ErrorKind::IsADirectory => PathError::NotAFile(shown),
            io::ErrorKind::PermissionDenied => PathError::Denied(shown),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => PathError::Name(shown),
            kind => PathError::Other(shown, kind),
        }
    }
}

/// Whether a name means `.git`, also on file systems that ignore case or trailing characters.
pub(super) fn is_git(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Whether missing folders are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Refuse,
    Make,
}

impl Root {
    /// Opens a folder. Links in this path are followed.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Root> {
        let path = path.as_ref().canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Root { dir: Arc::new(dir), path: path.into() })
    }

    /// Returns the location. It is not shown to models.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder in the root.
    pub fn folder(&self, place: &RelativePath) -> Result<Dir, PathError> {
        self.walk(place, &place.names, Missing::Refuse)
    }

    /// Opens the folder of a file, which need not exist.
    pub(super) fn folder_of(
        &self,
        place: &RelativePath,
        missing: Missing,
    ) -> Result<Dir, PathError> {
        self.walk(place, place.file()?.0, missing)
    }

    fn walk(
        &self,
        place: &RelativePath,
        names: &[String],
        missing: Missing,
    ) -> Result<Dir, PathError> {
        let other = |error: io::Error| PathError::Other(place.shown.clone(), error.kind());
        let mut here = self.dir.try_clone().map_err(other)?;
        for name in names {
            here = match here.open_dir_nofollow(name) {
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && missing == Missing::Make =>
                {
                    // If it exists by now, or is a link, opening it below reports that.
                    let _ = here.create_dir(name);
                    here.open_dir_nofollow(name)
                }
                opened => opened,
            }
            .map_err(|error| place.why(&here, name, &error))?;
        }
        Ok(here)
    }

    /// Opens a file for reading and returns its size.
    pub fn file(&self, place: &RelativePath) -> Result<(File, u64), PathError> {
        let folder = self.folder_of(place, Missing::Refuse)?;
        let (_, name) = place.file()?;
        open_file(&folder, name, place)
    }
}

/// Opens a file of a folder for reading and returns its size.
pub(super) fn open_file(
    folder: &Dir,
    name: &str,
    place: &RelativePath,
) -> Result<(File, u64), PathError> {
    let why = |error: io::Error| place.why(folder, name, &error);
    // Checked before opening, since opening a device can have effects, and after, since it may have
    // been replaced. Opening a pipe must not wait for its other end.
    regular(folder.symlink_metadata(name).map_err(why)?.file_type(), place)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options).map_err(why)?;
    let found = file.metadata().map_err(why)?;
    regular(found.file_type(), place)?;
    Ok((file, found.len()))
}

fn regular(kind: cap_std::fs::FileType, place: &RelativePath) -> Result<(), PathError> {
    let shown = || place.shown.clone();
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_symlink() => Err(PathError::Link(shown())),
        kind if kind.is_dir() => Err(PathError::NotAFile(shown())),
        _ => Err(PathError::Special(shown())),
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Root(…)")
    }
}
