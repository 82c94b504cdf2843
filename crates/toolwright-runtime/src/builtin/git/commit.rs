//! `git_add` and `git_commit`: stage files and commit them.

use super::run::{Git, error};
use super::{LITERAL, checked, fields};
use crate::builtin::root::{PathError, Root};
use crate::prelude::*;

/// Maximum number of files that are listed.
const FILES_MAX: usize = 300;

/// What the next commit will have.
#[data]
#[non_exhaustive]
pub struct Staged {
    /// How many files differ from the last commit
    pub count: usize,
    /// The first of them
    pub files: Vec<String>,
}

/// A commit that was made.
#[data]
#[non_exhaustive]
pub struct Committed {
    /// Its id
    pub id: String,
    /// How many files it changes
    pub files: usize,
}

/// Stages files for the next commit: new, changed and deleted ones. Returns everything that is
/// staged. Submodules stay as they are.
#[tool]
pub async fn git_add(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// Files and folders, relative to the root; "." for all
    #[schemars(length(min = 1, max = 1000))]
    paths: Vec<String>,
) -> Result<Staged, ToolError> {
    let paths: Vec<String> =
        paths.iter().map(|path| checked(path)).collect::<Result<_, PathError>>()?;
    let git = Git::open(root, scope).await?;
    // Paths are passed through stdin, because they can exceed the length of a command line.
    let mut lines = paths.join("\0").into_bytes();
    for submodule in submodules(&git).await? {
        if let Some(path) = paths.iter().find(|path| path.as_bytes()[LITERAL.len()..] == submodule)
        {
            let path = &path[LITERAL.len()..];
            return Err(error(format!(
                "{path:?} is a submodule, and those stay as they are. Nothing was done."
            )));
        }
        lines.extend_from_slice(b"\0:(exclude,literal)");
        lines.extend(submodule);
    }
    git.run_with_input(&["add", "--pathspec-from-file=-", "--pathspec-file-nul"], &lines).await?;
    staged(&git).await
}

/// Makes a commit of what is staged. Hooks are not run.
#[tool]
pub async fn git_commit(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// The message: a subject line, then, if needed, an empty line and more
    #[schemars(length(min = 1, max = 20_000))]
    message: String,
) -> Result<Committed, ToolError> {
    if message.trim().is_empty() || message.contains('\0') {
        return Err(error("A commit needs a message. Nothing was done."));
    }
    let git = Git::open(root, scope).await?;
    let staged = staged(&git).await?;
    if staged.count == 0 {
        return Err(error("Nothing is staged: call git_add first. Nothing was done."));
    }
    let arguments =
        ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--file=-"];
    git.run_with_input(&arguments, message.as_bytes()).await?;
    Ok(Committed { id: git.commit("HEAD").await?, files: staged.count })
}

/// Returns the submodules. `git add` would run a status in each of them to see whether it changed,
/// and with it the programs of its configuration.
async fn submodules(git: &Git<'_>) -> Result<Vec<Vec<u8>>, ToolError> {
    let listed = git.list(&["ls-files", "--stage", "-z"]).await?;
    let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let paths = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    Ok(paths.map(<[u8]>::to_vec).collect())
}

async fn staged(git: &Git<'_>) -> Result<Staged, ToolError> {
    let arguments =
        ["diff", "--cached", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=dirty"];
    let answer = git.run(&arguments).await?;
    let mut files: Vec<String> = fields(&answer.stdout).collect();
    let count = files.len();
    files.truncate(FILES_MAX);
    Ok(Staged { count, files })
}
