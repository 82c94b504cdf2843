//! Child processes: nothing that a tool starts outlives its call or the host. `git` is a script here,
//! which starts processes that try to.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::exchange::tools::{CHAT, TOOLS, call, question, whole};
use crate::gateway::{Gateway, Upstream, table, until};

/// Starts processes in a session of their own, orphans, and orphans that ignore signals.
const FORKS: &str = "trap '' TERM INT HUP\n\
    setsid sleep MARK &\n\
    (sleep MARK &)\n\
    (setsid sh -c 'trap \"\" TERM; (sleep MARK &); sleep MARK' &)\n";

/// Number of processes that [`FORKS`] starts and that wait.
const FORKED: usize = 4;

/// A repository with a script in place of git.
struct Repository {
    folder: TempDir,
    /// An argument of every process that the script starts
    mark: String,
}

impl Repository {
    fn new(script: &str) -> Repository {
        let folder = tempfile::tempdir().unwrap();
        let mut random = [0; 8];
        getrandom::fill(&mut random).unwrap();
        let mark = format!("86400.{}", u64::from_le_bytes(random));
        let git = folder.path().join("bin/git");
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        std::fs::create_dir_all(git.parent().unwrap()).unwrap();
        std::fs::write(&git, format!("#!/bin/sh\n{}", script.replace("MARK", &mark))).unwrap();
        std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
        Repository { folder, mark }
    }

    /// Starts a command that runs git.
    fn start(&self) -> Child {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().join("bin").display());
        Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .args(["call", "git_status", "--json", "--root"])
            .arg(self.folder.path())
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self) -> Output {
        self.start().wait_with_output().unwrap()
    }

    /// The number of processes with the mark.
    fn processes(&self) -> usize {
        processes(&self.mark)
    }
}

/// The number of processes with an argument.
pub fn processes(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap();
    let command = |process: &Path| std::fs::read(process.join("cmdline")).ok();
    let has_mark = |command: &Vec<u8>| {
        command.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes())
    };
    entries.filter_map(|entry| command(&entry.ok()?.path())).filter(has_mark).count()
}

#[test]
fn a_killed_host_leaves_no_process() {
    let repository = Repository::new(&format!("{FORKS}sleep MARK\n"));
    for _ in 0..100 {
        let mut host = repository.start();
        until("all processes", || (repository.processes() > FORKED).then_some(()));
        host.kill().unwrap();
        host.wait().unwrap();
        until("their end", || (repository.processes() == 0).then_some(()));
    }
}

#[test]
fn a_host_that_is_killed_while_processes_start_leaves_none() {
    let repository = Repository::new(&format!("{FORKS}sleep MARK\n"));
    for round in 0..20 {
        let mut host = repository.start();
        until("some processes", || (repository.processes() >= round % FORKED).then_some(()));
        host.kill().unwrap();
        host.wait().unwrap();
        until("their end", || (repository.processes() == 0).then_some(()));
    }
}

#[test]
fn a_killed_gateway_leaves_no_process() {
    let Repository { folder, mark } = Repository::new(&format!("{FORKS}sleep MARK\n"));
    let replies = || whole("", &[call(0, "call_1", "git_status", "{}")]);
    let upstream = Upstream::start([replies(), replies(), replies()]);
    let config = [&table("up", "openai-chat", &upstream), TOOLS].concat();
    let mut gateway = Gateway::start_with(folder, &config);
    for _ in 0..3 {
        let headers = [("toolwright-tools", "git_status")];
        let asking = gateway.ask("POST", CHAT, &headers, question(false, "").as_bytes());
        until("all processes", || (processes(&mark) > FORKED).then_some(()));
        gateway = gateway.crash(&config);
        drop(asking);
        until("their end", || (processes(&mark) == 0).then_some(()));
    }
    let asking = gateway.ask("POST", CHAT, &[], b"{}");
    assert_eq!(asking.answer().status, 400);
}

#[test]
fn a_client_that_leaves_ends_the_processes_of_its_call() {
    let Repository { folder, mark } = Repository::new(&format!("{FORKS}sleep MARK\n"));
    let upstream = Upstream::start([whole("", &[call(0, "call_1", "git_status", "{}")])]);
    let config = [&table("up", "openai-chat", &upstream), TOOLS].concat();
    let gateway = Gateway::start_with(folder, &config);
    let headers = [("toolwright-tools", "git_status")];
    let asking = gateway.ask("POST", CHAT, &headers, question(false, "").as_bytes());
    until("all processes", || (processes(&mark) > FORKED).then_some(()));
    drop(asking);
    until("their end", || (processes(&mark) == 0).then_some(()));
}

#[test]
fn a_call_ends_after_the_processes_that_it_started() {
    let repository = Repository::new(FORKS);
    for _ in 0..10 {
        let output = repository.run();
        assert!(output.status.code().is_some());
        assert_eq!(repository.processes(), 0);
    }
}

#[test]
fn a_flood_of_output_is_cut_and_ends_the_process() {
    let repository = Repository::new(&format!("{FORKS}yes MARK; sleep MARK\n"));
    let output = repository.run();
    assert!(output.status.code().is_some());
    assert_eq!(repository.processes(), 0);
}

#[test]
fn a_process_that_forks_without_end_is_ended() {
    // Each process starts another and ends, until a file appears, which bounds a failure of the test.
    let script = "for i in 1 2 3 4; do\n\
                  sh -c 'while [ ! -e stop ]; do (sleep MARK &); done' &\n\
                  done\nsleep MARK\n";
    let repository = Repository::new(script);
    let mut host = repository.start();
    until("many processes", || (repository.processes() > 50).then_some(()));
    host.kill().unwrap();
    host.wait().unwrap();
    let ended = std::panic::catch_unwind(|| {
        until("their end", || (repository.processes() == 0).then_some(()));
    });
    std::fs::write(repository.folder.path().join("stop"), "").unwrap();
    assert!(ended.is_ok());
}

#[test]
fn a_program_that_is_missing_or_not_executable_is_named() {
    let repository = Repository::new("");
    let git = repository.folder.path().join("bin/git");
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o644)).unwrap();
    let host = |path: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .args(["call", "git_status", "--json", "--root"])
            .arg(repository.folder.path())
            .env("PATH", path)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert!(host("/nowhere").contains("git is not installed"));
    let denied = host(git.parent().unwrap().to_str().unwrap());
    assert!(denied.contains("could not be run"), "{denied}");
}
