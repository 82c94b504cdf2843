//! `git_status`: the branch, and the differences from the last commit.

use super::fields;
use super::run::Git;
use crate::builtin::root::Root;
use crate::prelude::*;

/// Maximum number of entries that are listed.
const ENTRIES_MAX: usize = 500;

/// What differs from the last commit.
#[data]
#[derive(Default)]
#[non_exhaustive]
pub struct Status {
    /// The branch; absent if none is checked out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The last commit; absent if there is none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch that this one follows
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits that the upstream lacks
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Commits that the upstream has and this branch lacks
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// Whether nothing differs
    pub clean: bool,
    /// What the next commit will have
    pub staged: Vec<Changed>,
    /// What has changed and is not staged
    pub unstaged: Vec<Changed>,
    /// Files and folders that git does not know
    pub untracked: Vec<String>,
    /// Files whose merge must be settled
    pub conflicts: Vec<String>,
    /// Whether there is more than is listed
    pub more: bool,
}

/// A file that has changed.
#[data]
#[non_exhaustive]
pub struct Changed {
    /// The file
    pub path: String,
    /// What was done to it: added, modified, deleted, renamed, copied or retyped
    pub change: String,
    /// The file that it was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Tells the branch and what differs from the last commit: staged, unstaged and untracked files.
#[tool(read_only)]
pub async fn git_status(
    #[context] root: &Root,
    #[scope] scope: &Scope,
) -> Result<Status, ToolError> {
    let git = Git::open(root, scope).await?;
    let arguments =
        ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty", "--renames"];
    let answer = git.run(&arguments).await?;
    let mut status = parse(fields(&answer.stdout));
    status.more |= answer.is_cut;
    Ok(status)
}

/// Parses the output of `git status --porcelain=v2`.
fn parse(mut fields: impl Iterator<Item = String>) -> Status {
    let mut status = Status { clean: true, ..Status::default() };
    let mut entries = 0;
    while let Some(field) = fields.next() {
        let Some((kind, rest)) = field.split_once(' ') else { continue };
        // A renamed file is followed by its old name.
        let from = if kind == "2" { fields.next() } else { None };
        if kind == "#" {
            header(&mut status, rest);
            continue;
        }
        status.clean = false;
        entries += 1;
        if entries > ENTRIES_MAX {
            status.more = true;
            continue;
        }
        // The number of words before the path, by the kind of line.
        let words = match kind {
            "1" => 8,
            "2" => 9,
            "u" => 10,
            _ => 1,
        };
        let Some(path) = rest.splitn(words, ' ').last().map(str::to_owned) else { continue };
        match kind {
            "?" => status.untracked.push(path),
            "u" => status.conflicts.push(path),
            "1" | "2" => {
                let mut letters = rest.chars();
                let (staged, unstaged) = (letters.next(), letters.next());
                let changed = |letter: Option<char>| {
                    let change = word(letter?)?.to_owned();
                    let from = from.clone().filter(|_| letter.is_some_and(|l| "RC".contains(l)));
                    Some(Changed { path: path.clone(), change, from })
                };
                status.staged.extend(changed(staged));
                status.unstaged.extend(changed(unstaged));
            }
            _ => {}
        }
    }
    status
}

fn header(status: &mut Status, header: &str) {
    let Some((name, value)) = header.split_once(' ') else { return };
    match name {
        "branch.oid" if value != "(initial)" => status.commit = Some(value.to_owned()),
        "branch.head" if value != "(detached)" => status.branch = Some(value.to_owned()),
        "branch.upstream" => status.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let mut counts = value.split(' ').map(|count| count.get(1..)?.parse().ok());
            status.ahead = counts.next().flatten();
            status.behind = counts.next().flatten();
        }
        _ => {}
    }
}

/// Returns the word for git's status letter; none if the file is unchanged.
fn word(letter: char) -> Option<&'static str> {
    Some(match letter {
        'A' => "added",
        'M' => "modified",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        'T' => "retyped",
        _ => return None,
    })
}
