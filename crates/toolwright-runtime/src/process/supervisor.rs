//! The process between the host and a child: adopts the child's descendants, and ends them with it.
//!
//! It runs in one thread. It kills only its own children, and reaps them itself, so that no process id can
//! be reused between finding and killing a process; the children of a killed process become its own.

use std::env::ArgsOs;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, pidfd_open,
    set_child_subreaper, wait,
};

use super::confine;

/// The name under which a program is a supervisor.
pub(super) const NAME: &str = "toolwright-supervisor";

/// The file of this very process, even if its path has been replaced.
const PROGRAM: &str = "/proc/self/exe";

/// Exit codes of a supervisor whose child did not start, as of `env` and `timeout`.
const FAILED: i32 = 125;
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// How often adopted processes that have ended are reaped.
const REAP_INTERVAL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Maximum number of rounds of killing, and the pause between them. Only a process that may not be killed,
/// such as one of another user, outlasts them.
const MAX_ROUNDS: usize = 5000;
const ROUND_PAUSE: Duration = Duration::from_millis(2);

/// Returns the command that starts this program as the supervisor of another.
pub(super) fn command(program: &OsStr) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(PROGRAM);
    command.arg0(NAME).arg(program);
    command
}

/// Returns the error of a child that the supervisor could not start.
pub(super) fn start_error(code: Option<i32>, stderr: &[u8]) -> Option<io::Error> {
    let kind = match code? {
        FAILED => io::ErrorKind::Other,
        NOT_EXECUTABLE => io::ErrorKind::PermissionDenied,
        NOT_FOUND => io::ErrorKind::NotFound,
        _ => return None,
    };
    let message = stderr.strip_prefix(NAME.as_bytes())?;
    let message = String::from_utf8_lossy(message);
    Some(io::Error::new(kind, message.trim_start_matches(':').trim().to_owned()))
}

/// Runs the program of the arguments, and returns the exit code for this process when no descendant is
/// left.
pub(super) fn supervise(arguments: ArgsOs) -> i32 {
    match start(arguments) {
        Ok(child) => {
            let status = watch(child);
            let last = kill_children(child);
            exit_code(status.or(last))
        }
        Err(failure) => report(failure),
    }
}

fn start(mut arguments: ArgsOs) -> Result<Pid, (i32, io::Error)> {
    let failed = |error: io::Error| (FAILED, error);
    set_child_subreaper(Some(getpid())).map_err(|error| failed(error.into()))?;
    let program = arguments.next().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let is_confined = program == confine::NAME;
    let mut child = Command::new(if is_confined { PROGRAM.into() } else { program });
    if is_confined {
        child.arg0(confine::NAME);
    }
    // Its own group: a script that kills its group must not kill the supervisor.
    let child = child.args(arguments).process_group(0).spawn().map_err(start_failure)?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| failed(io::ErrorKind::Other.into()))
}

/// Returns the exit code for a program that cannot be started, with the error.
pub(super) fn start_failure(error: io::Error) -> (i32, io::Error) {
    let is_found = error.kind() != io::ErrorKind::NotFound;
    (if is_found { NOT_EXECUTABLE } else { NOT_FOUND }, error)
}

/// Writes the error to stderr, and returns the exit code.
pub(super) fn report((code, error): (i32, io::Error)) -> i32 {
    let _ = writeln!(io::stderr(), "{NAME}: {error}");
    code
}

/// Waits until the child has ended, and returns its status, or until the host reads no longer.
fn watch(child: Pid) -> Option<WaitStatus> {
    // Without it, the child's end is noticed when adopted processes are reaped.
    let ended = pidfd_open(child, PidfdFlags::empty()).ok();
    let (stdout, stderr) = (io::stdout(), io::stderr());
    loop {
        if let Some(status) = reap(child) {
            return Some(status);
        }
        if wait_for_event([stdout.as_fd(), stderr.as_fd()], ended.as_ref().map(AsFd::as_fd)) {
            return None;
        }
    }
}

/// Waits for an event or the interval. Returns whether nobody reads one of the streams.
fn wait_for_event(streams: [BorrowedFd<'_>; 2], ended: Option<BorrowedFd<'_>>) -> bool {
    // The error of a pipe without readers is always reported.
    let mut events: Vec<PollFd<'_>> = streams
        .iter()
        .map(|stream| PollFd::from_borrowed_fd(*stream, PollFlags::empty()))
        .collect();
    events.extend(ended.map(|ended| PollFd::from_borrowed_fd(ended, PollFlags::IN)));
    match poll(&mut events, Some(&REAP_INTERVAL)) {
        Ok(_) => events[..2].iter().any(|stream| stream.revents().contains(PollFlags::ERR)),
        Err(_) => false,
    }
}

/// Reaps every child that has ended, and returns the status of this one if it is among them.
fn reap(child: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((id, ended))) = wait(WaitOptions::NOHANG) {
        if id == child {
            status = Some(ended);
        }
    }
    status
}

/// Kills and reaps children until there are none. Returns the status of this one if it is among them.
fn kill_children(child: Pid) -> Option<WaitStatus> {
    let mut status = None;
    for _ in 0..MAX_ROUNDS {
        status = status.or(reap(child));
        if !has_children() {
            break;
        }
        // Each at once: a process that forks and ends again and again soon has another id.
        for id in children() {
            let _ = kill_process(id, Signal::KILL);
        }
        std::thread::sleep(ROUND_PAUSE);
    }
    status
}

fn has_children() -> bool {
    // Reaps nothing, because `reap` has just done so or the child is alive.
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
        .is_ok()
}

/// The processes whose parent is this one.
fn children() -> impl Iterator<Item = Pid> {
    let own = getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(move |id| parent(*id) == Some(own)).filter_map(Pid::from_raw)
}

/// The parent of a process.
fn parent(id: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name before it, in parentheses, may contain anything.
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(&stat[after_name + 1..]).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn exit_code(status: Option<WaitStatus>) -> i32 {
    let code = |status: WaitStatus| {
        status.exit_status().or_else(|| Some(128 + status.terminating_signal()?))
    };
    status.and_then(code).unwrap_or(FAILED)
}
