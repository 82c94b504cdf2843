//! Child processes that leave nothing behind.
//!
//! A child process may fork, start a session of its own and ignore signals, and the process that started
//! it may be killed. On Linux a *supervisor* therefore stands between them: this program itself, started
//! again under another name.
//!
//! ```text
//! host ──pipes──► supervisor (adopts orphans) ──► child ──► its descendants
//! ```
//!
//! The supervisor is a child subreaper: descendants whose parents have ended become its children. When the
//! child ends, or when nobody reads its output any more (the host dropped the [`Process`], or was killed),
//! the supervisor kills its children until it has none, and ends.
//!
//! A child that kills the supervisor itself, as every process of the same user can, is not held back by it. A child of
//! [`confined_command`] cannot, and can use only some files, if the kernel has Landlock.
//!
//! A program takes part by calling [`init`] at the start of `main`. Without it, and on other Unix systems, only
//! the process group of the child is killed, and only if the host itself is not; elsewhere only the child.

#[cfg(target_os = "linux")]
mod confine;
mod program;
#[cfg(target_os = "linux")]
mod supervisor;

pub use program::find_program;

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Maximum number of bytes of stderr that are returned.
const MAX_STDERR: usize = 64 << 10;

/// Environment variables of the host that a process needs, for hosts that give it no others.
pub const INHERITED_ENVIRONMENT: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// Whether this program supervises child processes when it is started as a supervisor.
static CAN_SUPERVISE: OnceLock<()> = OnceLock::new();

/// Makes this program supervise the child processes that it starts. Call it first in `main`, before anything
/// else: in a process that was started as a supervisor, it does not return.
pub fn init() {
    #[cfg(target_os = "linux")]
    {
        let mut arguments = std::env::args_os();
        match arguments.next() {
            Some(name) if name == supervisor::NAME => {
                std::process::exit(supervisor::supervise(arguments));
            }
            Some(name) if name == confine::NAME => std::process::exit(confine::execute(arguments)),
            _ => {}
        }
        let _already = CAN_SUPERVISE.set(());
    }
}

/// Returns a command for a program, to be started with [`Process::start`]. Arguments, environment and
/// directory can be added as usual; its three streams are pipes.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    #[cfg(target_os = "linux")]
    let mut command = if CAN_SUPERVISE.get().is_some() {
        supervisor::command(program.as_ref())
    } else {
        Command::new(program)
    };
    #[cfg(not(target_os = "linux"))]
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(not(unix))]
    command.kill_on_drop(true);
    command
}

/// What a confined process may use besides the programs and libraries of the system.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// Files and folders that it may read and execute
    pub read: Vec<PathBuf>,
    /// Files and folders that it may read, execute and change
    pub write: Vec<PathBuf>,
    /// A folder of which it may use nothing, except for what `read` and `write` name in it
    pub hidden: PathBuf,
}

/// Whether processes of [`confined_command`] are confined: this program calls [`init`], and the kernel has Landlock.
pub fn can_confine() -> bool {
    #[cfg(target_os = "linux")]
    return CAN_SUPERVISE.get().is_some() && confine::is_supported();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Returns a command as [`command`] does, whose process and descendants may use only some files if [`can_confine`] is
/// true. Network, sockets and other resources are not restricted.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn confined_command(program: impl AsRef<OsStr>, confinement: &Confinement) -> Command {
    #[cfg(target_os = "linux")]
    if CAN_SUPERVISE.get().is_some() {
        let mut command = command(confine::NAME);
        command.args(confine::arguments(confinement)).arg(program);
        return command;
    }
    command(program)
}

/// A running child process. Dropping it kills the process and its descendants.
#[derive(Debug)]
pub struct Process {
    child: Child,
    is_supervised: bool,
}

/// The output of a process that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOutput {
    /// What it wrote to stdout, up to the limit
    pub stdout: Vec<u8>,
    /// Whether it wrote more than the limit, and was killed
    pub is_cut: bool,
    /// The beginning of what it wrote to stderr
    pub stderr: Vec<u8>,
    /// Whether it wrote more to stderr
    pub is_stderr_cut: bool,
    /// The exit code; 128 and the number of the signal for a supervised process that a signal ended, and
    /// `None` for another one
    pub code: Option<i32>,
}

/// The streams of a running process. A supervised process ends when its stdout is no longer read.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProcessStreams {
    /// What it reads
    pub stdin: ChildStdin,
    /// What it writes
    pub stdout: ChildStdout,
    /// Its messages for people; it blocks if they are not read
    pub stderr: ChildStderr,
}

impl Process {
    /// Starts a command from [`command`].
    pub fn start(mut command: Command) -> io::Result<Process> {
        let is_supervised = CAN_SUPERVISE.get().is_some();
        Ok(Process { child: command.spawn()?, is_supervised })
    }

    /// Kills the process, and waits until no descendant is left.
    pub async fn kill(&mut self) -> io::Result<()> {
        // At the end of the pipes, a supervisor ends the process.
        drop((self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take()));
        if !self.is_supervised {
            kill_group(self.child.id());
        }
        self.child.wait().await.map(drop)
    }

    /// Returns the streams of a process that reads and writes for as long as it runs, once.
    pub fn streams(&mut self) -> Option<ProcessStreams> {
        let child = &mut self.child;
        Some(ProcessStreams {
            stdin: child.stdin.take()?,
            stdout: child.stdout.take()?,
            stderr: child.stderr.take()?,
        })
    }

    /// Waits until the process has ended, and returns its exit code as [`ProcessOutput::code`] does.
    pub async fn wait(&mut self) -> io::Result<Option<i32>> {
        Ok(self.child.wait().await?.code())
    }

    /// Writes the input, and reads the output up to `max_stdout` bytes until the process has ended. A
    /// process that writes more is killed. When `cancel` is cancelled, the process is killed, and the error of
    /// [`io::ErrorKind::Interrupted`] is returned when no descendant is left.
    ///
    /// With `lines`, each line of the output is sent as soon as it is complete, without its line feed, and the
    /// returned output has no stdout.
    pub async fn communicate(
        &mut self,
        input: &[u8],
        max_stdout: usize,
        lines: Option<mpsc::Sender<Vec<u8>>>,
        cancel: &CancellationToken,
    ) -> io::Result<ProcessOutput> {
        let (id, is_supervised) = (self.child.id(), self.is_supervised);
        let child = &mut self.child;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input reports why on stderr.
                let _ = stdin.write_all(input).await;
            }
        };
        let read = async {
            // Closes the pipe, at which a supervisor ends the process.
            let output = match lines {
                Some(lines) => {
                    send_lines(stdout, max_stdout, &lines).await.map(|is_cut| (Vec::new(), is_cut))
                }
                None => read_up_to(stdout, max_stdout).await,
            };
            if matches!(output, Ok((_, true))) && !is_supervised {
                // Its output is not read further, so it would block on the pipe forever.
                kill_group(id);
            }
            output
        };
        let communicate = async {
            let ((), output, errors) = tokio::join!(write, read, read_beginning(stderr));
            Ok::<_, io::Error>((output?, errors?, child.wait().await?.code()))
        };
        let Some(ended) = cancel.run_until_cancelled(communicate).await else {
            self.kill().await?;
            return Err(io::ErrorKind::Interrupted.into());
        };
        let ((stdout, is_cut), (stderr, is_stderr_cut), code) = ended?;
        match self.start_error(code, &stderr) {
            Some(error) => Err(error),
            None => Ok(ProcessOutput { stdout, is_cut, stderr, is_stderr_cut, code }),
        }
    }

    /// Returns why the program was not started, if its supervisor ended with that.
    pub fn start_error(&self, code: Option<i32>, stderr: &[u8]) -> Option<io::Error> {
        #[cfg(target_os = "linux")]
        return self.is_supervised.then(|| supervisor::start_error(code, stderr)).flatten();
        #[cfg(not(target_os = "linux"))]
        return None;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A supervisor ends the process when its pipes are closed, which follows. A child that has been
        // waited for has no id.
        if !self.is_supervised {
            kill_group(self.child.id());
        }
    }
}

/// Kills a process group.
fn kill_group(id: Option<u32>) {
    #[cfg(unix)]
    if let Some(id) = id.and_then(|id| i32::try_from(id).ok())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// Reads a stream up to a limit; returns whether there is more.
async fn read_up_to(
    stream: Option<impl AsyncRead + Unpin>,
    max: usize,
) -> io::Result<(Vec<u8>, bool)> {
    let mut out = Vec::new();
    let Some(stream) = stream else { return Ok((out, false)) };
    stream.take((max as u64).saturating_add(1)).read_to_end(&mut out).await?;
    let is_cut = out.len() > max;
    out.truncate(max);
    Ok((out, is_cut))
}

/// Sends the lines of a stream up to a limit; returns whether there is more.
async fn send_lines(
    stream: Option<impl AsyncRead + Unpin>,
    max: usize,
    lines: &mpsc::Sender<Vec<u8>>,
) -> io::Result<bool> {
    let Some(stream) = stream else { return Ok(false) };
    let mut stream = BufReader::new(stream.take((max as u64).saturating_add(1)));
    let mut total = 0;
    loop {
        let mut line = Vec::new();
        total += stream.read_until(b'\n', &mut line).await?;
        if line.is_empty() || total > max {
            return Ok(total > max);
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        // A receiver that has left does not end the process.
        let _ = lines.send(line).await;
    }
}

/// Reads a stream to its end; returns the beginning, and whether there is more.
async fn read_beginning(stream: Option<impl AsyncRead + Unpin>) -> io::Result<(Vec<u8>, bool)> {
    let Some(mut stream) = stream else { return Ok((Vec::new(), false)) };
    let beginning = read_up_to(Some(&mut stream), MAX_STDERR).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_without_a_limit_is_read() {
        let (all, is_cut) = read_up_to(Some(&b"all of it"[..]), usize::MAX).await.unwrap();
        assert_eq!((all.as_slice(), is_cut), (&b"all of it"[..], false));
    }
}
