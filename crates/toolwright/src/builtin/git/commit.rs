//! `git_add` and `git_commit`: from files to a new commit.

use super::run::{Git, error};
use super::{checked, fields};
use crate::builtin::root::{PathError, Root};
use crate::prelude::*;

/// The most files that are listed.
const FILES_MAX: usize = 300;

/// What the next commit will have.
#[data]
pub struct Staged {
    /// How many files differ from the last commit
    pub count: usize,
    /// The first of them
    pub files: Vec<String>,
}

/// A commit that was made.
#[data]
pub struct Committed {
    /// Its id
    pub id: String,
    /// How many files it changes
    pub files: usize,
}

/// Stages files for the next commit: new, changed and deleted ones. Returns everything that is
/// staged.
#[tool]
pub async fn git_add(
    #[context] root: &Root,
    /// Files and folders, relative to the root; "." for all
    #[schemars(length(min = 1, max = 1000))]
    paths: Vec<String>,
) -> Result<Staged, ToolError> {
    let paths: Vec<String> =
        paths.iter().map(|path| checked(path)).collect::<Result<_, PathError>>()?;
    let git = Git::open(root).await?;
    let mut arguments = vec!["add", "--"];
    arguments.extend(paths.iter().map(String::as_str));
    git.ask(&arguments).await?;
    staged(&git).await
}

/// Makes a commit of what is staged. Hooks are not run.
#[tool]
pub async fn git_commit(
    #[context] root: &Root,
    /// The message: a subject line, then, if needed, an empty line and more
    #[schemars(length(min = 1, max = 20_000))]
    message: String,
) -> Result<Committed, ToolError> {
    if message.trim().is_empty() || message.contains('\0') {
        return Err(error("A commit needs a message. Nothing was done."));
    }
    let git = Git::open(root).await?;
    let staged = staged(&git).await?;
    if staged.count == 0 {
        return Err(error("Nothing is staged: call git_add first. Nothing was done."));
    }
    let arguments =
        ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--file=-"];
    git.tell(&arguments, message.as_bytes()).await?;
    Ok(Committed { id: git.commit("HEAD").await?, files: staged.count })
}

async fn staged(git: &Git<'_>) -> Result<Staged, ToolError> {
    let arguments =
        ["diff", "--cached", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=dirty"];
    let answer = git.ask(&arguments).await?;
    let mut files: Vec<String> = fields(&answer.stdout).collect();
    let count = files.len();
    files.truncate(FILES_MAX);
    Ok(Staged { count, files })
}
