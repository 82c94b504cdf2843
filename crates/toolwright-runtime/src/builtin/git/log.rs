//! `git_log`: commits, newest first.

use super::run::Git;
use super::{checked, fields};
use crate::builtin::root::Root;
use crate::prelude::*;

/// Maximum number of bytes of a commit message.
const MESSAGE_MAX: usize = 2000;

/// A part of the history.
#[data]
#[non_exhaustive]
pub struct History {
    /// The newest first
    pub commits: Vec<Commit>,
    /// Whether there are older ones
    pub more: bool,
}

/// A commit.
#[data]
#[non_exhaustive]
pub struct Commit {
    /// Its id
    pub id: String,
    /// Who wrote it
    pub author: String,
    /// Their address
    pub email: String,
    /// When it was written
    pub time: String,
    /// What it says, its subject first
    pub message: String,
}

/// Lists the history, the last commits first: id, author, time and message.
#[tool(read_only)]
pub async fn git_log(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// The most commits to return
    #[default(20)]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
    /// How many of the newest to pass over
    #[default(0)]
    skip: usize,
    /// Only commits that change this file or folder
    path: Option<String>,
    /// Begin at this commit or branch instead of the current one
    commit: Option<String>,
) -> Result<History, ToolError> {
    let path = path.as_deref().map(checked).transpose()?;
    let git = Git::open(root, scope).await?;
    let commit = match commit {
        Some(name) => git.commit(&name).await?,
        // A repository without commits has an empty history.
        None if !git.test(&["rev-parse", "--verify", "--quiet", "HEAD"]).await? => {
            return Ok(History { commits: Vec::new(), more: false });
        }
        None => "HEAD".to_owned(),
    };
    let (count, skip) = (format!("--max-count={}", limit + 1), format!("--skip={skip}"));
    let format = "--format=tformat:%H%x00%an%x00%ae%x00%aI%x00%B";
    let mut arguments = vec!["log", "-z", format, "--no-show-signature", &count, &skip];
    arguments.extend([commit.as_str(), "--"]);
    arguments.extend(path.as_deref());
    let answer = git.run(&arguments).await?;
    let mut fields = fields(&answer.stdout);
    let mut commits = Vec::new();
    while let (Some(id), Some(author), Some(email), Some(time), Some(message)) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    {
        let message = message.trim_end();
        let message = message[..message.floor_char_boundary(MESSAGE_MAX)].to_owned();
        commits.push(Commit { id, author, email, time, message });
    }
    let more = answer.is_cut || commits.len() > limit;
    commits.truncate(limit);
    Ok(History { commits, more })
}
