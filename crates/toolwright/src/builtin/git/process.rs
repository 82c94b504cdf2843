//! A git process: its output is read up to a limit, and it is killed together with its child
//! processes.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

/// Maximum number of bytes of stderr that are read.
const COMPLAINT_MAX: usize = 64 << 10;

/// The output of a command.
pub(super) struct Answer {
    pub(super) stdout: Vec<u8>,
    /// Whether the output exceeded the limit
    pub(super) is_cut: bool,
    pub(super) stderr: Vec<u8>,
    pub(super) code: Option<i32>,
}

/// A running command with its child processes.
pub(super) struct Group(Child);

impl Group {
    /// Wraps a command that was started as a process group leader.
    pub(super) fn new(child: Child) -> Group {
        Group(child)
    }

    /// Writes the input and reads the output, up to `most` bytes.
    pub(super) async fn communicate(&mut self, input: &[u8], most: usize) -> io::Result<Answer> {
        let Group(child) = self;
        let id = child.id();
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input reports why on stderr.
                let _ = stdin.write_all(input).await;
            }
        };
        let listen = async {
            let heard = read(stdout, most).await;
            if matches!(heard, Ok((_, true))) {
                // Its output is not read further, so it would block on the pipe forever.
                kill(id);
            }
            heard
        };
        let ((), heard, complaint) = tokio::join!(write, listen, drain(stderr));
        let ((stdout, is_cut), stderr) = (heard?, complaint?);
        Ok(Answer { stdout, is_cut, stderr, code: child.wait().await?.code() })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that has been waited for has no id.
        kill(self.0.id());
    }
}

/// Kills a process group.
fn kill(id: Option<u32>) {
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
async fn read(stream: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut out = Vec::new();
    let Some(stream) = stream else { return Ok((out, false)) };
    stream.take(most as u64 + 1).read_to_end(&mut out).await?;
    let is_cut = out.len() > most;
    out.truncate(most);
    Ok((out, is_cut))
}

/// Reads a stream to its end and returns the beginning.
async fn drain(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let Some(mut stream) = stream else { return Ok(Vec::new()) };
    let (out, _) = read(Some(&mut stream), COMPLAINT_MAX).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(out)
}
