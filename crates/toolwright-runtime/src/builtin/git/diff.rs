//! `git_diff`: changes, as counts for each file and as a patch.

use super::run::Git;
use super::{checked, fields};
use crate::builtin::root::Root;
use crate::output::Content;
use crate::prelude::*;
use crate::process::ProcessOutput;

/// Maximum number of bytes of a patch.
const PATCH_MAX: usize = 1 << 20;

/// Maximum number of files that are listed.
const FILES_MAX: usize = 300;

/// The files of a patch.
#[data]
#[non_exhaustive]
pub struct Summary {
    /// The files
    pub files: Vec<Counts>,
    /// Whether there is more than is listed, or the patch is cut
    pub more: bool,
}

/// How much of a file has changed.
#[data]
#[non_exhaustive]
pub struct Counts {
    /// The file
    pub path: String,
    /// The file that it was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Lines added; absent if the file is not text
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines deleted; absent if the file is not text
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<u64>,
}

/// Shows what has changed: a list of files with counts of lines, then the patch. By default what is
/// not staged yet.
#[tool(read_only)]
pub async fn git_diff(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// Show what the next commit will have instead
    #[default(false)]
    staged: bool,
    /// Compare with this commit instead of the last one
    commit: Option<String>,
    /// Only this file or folder
    path: Option<String>,
) -> Result<Output, ToolError> {
    let only = path.as_deref().map(checked).transpose()?;
    let git = Git::open(root, scope).await?;
    let commit = match commit {
        Some(name) => Some(git.commit(&name).await?),
        None => None,
    };
    let mut arguments = vec!["--no-ext-diff", "--no-textconv", "-M"];
    arguments.extend(["--submodule=short", "--ignore-submodules=dirty"]);
    arguments.extend(staged.then_some("--cached"));
    arguments.extend(commit.as_deref());
    arguments.push("--");
    arguments.extend(only.as_deref());
    let counts = git.run(&with(&["diff", "--numstat", "-z"], &arguments)).await?;
    let whole = git.run(&with(&["diff", "--patch"], &arguments)).await?;
    Ok(output(&counts, &whole)?)
}

fn with<'a>(command: &[&'a str], arguments: &[&'a str]) -> Vec<&'a str> {
    [command, arguments].concat()
}

fn output(
    counts: &ProcessOutput,
    patch: &ProcessOutput,
) -> Result<Output, toolwright_json::SerdeError> {
    let text = String::from_utf8_lossy(&patch.stdout);
    let end = text.floor_char_boundary(PATCH_MAX);
    let mut summary = parse(fields(&counts.stdout));
    summary.more |= counts.is_cut || patch.is_cut || end < text.len();
    let output = Output::json(Json::from_serialize(&summary)?);
    if text.is_empty() {
        return Ok(output);
    }
    Ok(output.with(Content::text(&text[..end])))
}

/// Parses `added TAB deleted TAB path`; a renamed file has its two paths in the next fields.
fn parse(mut fields: impl Iterator<Item = String>) -> Summary {
    let mut summary = Summary { files: Vec::new(), more: false };
    while let Some(field) = fields.next() {
        let mut words = field.splitn(3, '\t');
        let (added, deleted) = (words.next(), words.next());
        let (from, path) = match words.next() {
            Some("") => (fields.next(), fields.next().unwrap_or_default()),
            path => (None, path.unwrap_or_default().to_owned()),
        };
        if summary.files.len() == FILES_MAX {
            summary.more = true;
            break;
        }
        let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
        let counts = Counts { path, from, added: number(added), deleted: number(deleted) };
        summary.files.push(counts);
    }
    summary
}
