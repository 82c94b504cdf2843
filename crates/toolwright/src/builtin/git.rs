//! Git in a root: what changed, the history, and new commits. How git is run, and what a repository
//! that is not trusted cannot make it do, is in `run`.

mod commit;
mod diff;
mod log;
mod process;
mod run;
mod status;

pub use commit::{git_add, git_commit};
pub use diff::git_diff;
pub use log::git_log;
pub use status::git_status;

use super::root::{PathError, Place};

/// Begins a path in which no letter is a pattern.
const LITERAL: &str = ":(literal)";

/// A path that git may see, as it shall see it.
fn checked(path: &str) -> Result<String, PathError> {
    Place::parse(path).map(|place| format!("{LITERAL}{}", place.path()))
}

/// The fields of an answer that end with NUL, as text.
fn fields(bytes: &[u8]) -> impl Iterator<Item = String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let fields = (!bytes.is_empty()).then(|| bytes.split(|byte| *byte == 0));
    fields.into_iter().flatten().map(|field| String::from_utf8_lossy(field).into_owned())
}
