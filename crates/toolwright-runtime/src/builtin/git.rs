//! Git tools in a root: status, diff, log, add and commit. `run` runs git and keeps an untrusted
//! repository from running programs.

mod commit;
mod diff;
mod log;
mod run;
mod status;

pub use commit::{git_add, git_commit};
pub use diff::git_diff;
pub use log::git_log;
pub use status::git_status;

use super::root::{PathError, RelativePath};

/// Prefix of a pathspec without pattern characters.
const LITERAL: &str = ":(literal)";

/// Checks a path and returns it as a pathspec.
fn checked(path: &str) -> Result<String, PathError> {
    RelativePath::parse(path).map(|place| format!("{LITERAL}{}", place.path()))
}

/// Splits output into its NUL-terminated fields.
fn fields(bytes: &[u8]) -> impl Iterator<Item = String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let fields = (!bytes.is_empty()).then(|| bytes.split(|byte| *byte == 0));
    fields.into_iter().flatten().map(|field| String::from_utf8_lossy(field).into_owned())
}
