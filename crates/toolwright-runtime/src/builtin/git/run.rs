//! Runs git in a root, with a repository that may not be trusted.
//!
//! - The root must be the top of the repository: git does not search parent folders, so a root
//!   within a larger repository does not show files outside of the root. `.git` is a folder there,
//!   or the repository that it names must list this worktree.
//! - Paths are literal, come after `--`, and are checked like those of the file tools.
//! - No program runs that the repository configures: no hooks, no monitor, no external diff, no
//!   signing, no fetching of missing objects. A repository whose own configuration sets filters,
//!   which git would run to compare or add files, or hooks is refused; filters in the user's
//!   configuration (such as Git LFS) are allowed. Hooks can come from files of the worktree, which
//!   a model may write.
//! - Git does not enter submodules, because their configurations are not checked.
//! - Git's environment has the paths of programs and of the user's configuration, and the author's
//!   name; no other variable, and so no secret.

use std::future::pending;
use std::io;
use std::path::Path;

use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::builtin::root::Root;
use crate::error::ToolError;
use crate::process::{self, Process, ProcessOutput};
use crate::session::Scope;

/// Maximum number of output bytes that are read.
const ANSWER_MAX: usize = 4 << 20;

/// Maximum number of bytes of a list that must be complete.
const LIST_MAX: usize = 64 << 20;

/// Maximum length of a commit name.
const NAME_MAX: usize = 1000;

/// Maximum number of bytes of an error message that are shown.
const COMPLAINT_SHOWN: usize = 1000;

/// Configuration of every command.
const CONFIGURATION: [&str; 17] = [
    "color.ui=false",
    "commit.gpgSign=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.submodule=short",
    "gc.auto=0",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
];

/// Environment variables that are passed to git if they are set.
const ENVIRONMENT: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "SYSTEMROOT",
    "USERPROFILE",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "EMAIL",
];

/// Git in a root, for one call.
pub(super) struct Git<'g> {
    root: &'g Root,
    cancel: &'g CancellationToken,
}

impl<'g> Git<'g> {
    /// Opens a root that is the top of a repository without configured programs.
    pub(super) async fn open(root: &'g Root, scope: &'g Scope) -> Result<Git<'g>, ToolError> {
        check_repository(root.path())?;
        let git = Git { root, cancel: &scope.cancel };
        let programs = r"^(filter\..*\.(clean|smudge|process)|hook\..*\.command)$";
        let found =
            git.output(&["config", "--show-scope", "-z", "--get-regexp", programs], b"").await?;
        let mut words = found.stdout.split(|byte| *byte == 0);
        while let (Some(scope), Some(setting)) = (words.next(), words.next()) {
            if !matches!(scope, b"system" | b"global") {
                let name = setting.split(|byte| *byte == b'\n').next().unwrap_or_default();
                return Err(error(format!(
                    "The configuration of this repository sets {}, a program that git would run. \
                     Programs that a repository configures are not run, so the git tools cannot be \
                     used here.",
                    String::from_utf8_lossy(name)
                )));
            }
        }
        Ok(git)
    }

    /// Runs a command that must succeed.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<ProcessOutput, ToolError> {
        self.run_with_input(arguments, b"").await
    }

    /// Runs a command that must succeed, with input.
    pub(super) async fn run_with_input(
        &self,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<ProcessOutput, ToolError> {
        self.check_status(arguments, self.output(arguments, input).await?)
    }

    /// Runs a command whose output must be complete.
    pub(super) async fn list(&self, arguments: &[&str]) -> Result<Vec<u8>, ToolError> {
        let answer = self.check_status(arguments, self.execute(arguments, b"", LIST_MAX).await?)?;
        if answer.is_cut {
            return Err(error(
                "The repository has too many files for this tool. Nothing was done.",
            ));
        }
        Ok(answer.stdout)
    }

    fn check_status(
        &self,
        arguments: &[&str],
        answer: ProcessOutput,
    ) -> Result<ProcessOutput, ToolError> {
        if answer.code == Some(0) || answer.is_cut {
            return Ok(answer);
        }
        let complaint = String::from_utf8_lossy(&answer.stderr);
        // The location of the root is not shown to models.
        let complaint = complaint.replace(&*self.root.path().to_string_lossy(), ".");
        let complaint = complaint.replace(super::LITERAL, "");
        let complaint = complaint.trim();
        let end = complaint.floor_char_boundary(COMPLAINT_SHOWN);
        Err(error(format!("git {} failed: {}", arguments[0], &complaint[..end])))
    }

    /// Runs a command that answers by its exit code, 0 or 1.
    pub(super) async fn test(&self, arguments: &[&str]) -> Result<bool, ToolError> {
        match self.output(arguments, b"").await?.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => self.run(arguments).await.map(|_| true),
        }
    }

    /// Resolves the name of a commit to its id.
    pub(super) async fn commit(&self, name: &str) -> Result<String, ToolError> {
        let shown: String = name.chars().take(100).collect();
        let unknown =
            || error(format!("There is no commit {shown:?}. Call git_log for the ids of commits."));
        if name.contains('\0') || name.len() > NAME_MAX {
            return Err(unknown());
        }
        let commit = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        let answer = self.output(&arguments, b"").await?;
        let id = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if answer.code != Some(0) || id.is_empty() || id.starts_with('-') {
            return Err(unknown());
        }
        Ok(id)
    }

    async fn output(&self, arguments: &[&str], input: &[u8]) -> Result<ProcessOutput, ToolError> {
        self.execute(arguments, input, ANSWER_MAX).await
    }

    async fn execute(
        &self,
        arguments: &[&str],
        input: &[u8],
        most: usize,
    ) -> Result<ProcessOutput, ToolError> {
        let run = async {
            Process::start(self.command(arguments))?
                .communicate(input, most, None, self.cancel)
                .await
        };
        match run.await {
            // The call has ended, and what git had done by then is unknown.
            Err(failure) if failure.kind() == io::ErrorKind::Interrupted => pending().await,
            Err(failure) if failure.kind() == io::ErrorKind::NotFound => {
                Err(error("The program git is not installed here."))
            }
            Err(failure) => Err(error(format!("git could not be run: {failure}"))),
            Ok(output) => Ok(output),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = process::command("git");
        command.current_dir(self.root.path()).env_clear();
        let known = |name| std::env::var_os(name).map(|value| (name, value));
        command.envs(ENVIRONMENT.into_iter().filter_map(known));
        command
            .env("LC_ALL", "C")
            .env("GIT_CEILING_DIRECTORIES", self.root.path().parent().unwrap_or(self.root.path()))
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "false")
            .env("GIT_WORK_TREE", self.root.path());
        command.arg("--no-pager");
        for setting in CONFIGURATION {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command
    }
}

/// Checks that the root is the top of a repository.
fn check_repository(root: &Path) -> Result<(), ToolError> {
    let elsewhere = || {
        error(
            "The .git of the root leads to a repository that does not know this folder as its \
             worktree, so the git tools cannot be used here.",
        )
    };
    let own = root.join(".git");
    let found = own.symlink_metadata().map_err(|_| {
        error("The root is not the top of a git repository, so the git tools cannot be used here.")
    })?;
    if found.is_dir() {
        return if own.join("commondir").exists() { Err(elsewhere()) } else { Ok(()) };
    }
    if !found.is_file() || found.len() > 4096 {
        return Err(elsewhere());
    }
    // A linked worktree: its repository must refer back to it.
    let named = std::fs::read_to_string(&own)?;
    let named = named.strip_prefix("gitdir:").ok_or_else(elsewhere)?.trim();
    let back = std::fs::read_to_string(root.join(named).join("gitdir")).map_err(|_| elsewhere())?;
    let is_own = Path::new(back.trim()).canonicalize().is_ok_and(|back| back == own);
    if is_own { Ok(()) } else { Err(elsewhere()) }
}

/// Creates an error of git for the model.
pub(super) fn error(message: impl Into<String>) -> ToolError {
    ToolError::new(message).with_kind("GitError")
}
