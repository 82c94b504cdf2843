//! Finds the programs of commands.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Finds the program of a process that starts in a folder.
pub fn find_program(folder: &Path, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program)).filter(|path| is_executable(path));
    }
    let search = env::var_os("PATH");
    let search = search.as_deref().unwrap_or(OsStr::new("/bin:/usr/bin"));
    let mut paths = env::split_paths(search).map(|entry| folder.join(entry).join(program));
    paths.find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    found.is_file() && may_run
}
