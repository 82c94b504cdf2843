//! A git that runs: it is heard to a bound, and ends with whatever it has started.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

/// The most bytes of a complaint that are read.
const COMPLAINT_MAX: usize = 64 << 10;

/// What a command answered.
pub(super) struct Answer {
    pub(super) stdout: Vec<u8>,
    /// Whether the answer was longer than is read
    pub(super) is_cut: bool,
    pub(super) stderr: Vec<u8>,
    pub(super) code: Option<i32>,
}

/// A running command with whatever it has started.
pub(super) struct Group(Child);

impl Group {
    /// A command that was started as the leader of a group.
    pub(super) fn new(child: Child) -> Group {
        Group(child)
    }

    /// Gives it some input and hears its answer, of which so many bytes at most are wanted.
    pub(super) async fn talk(&mut self, input: &[u8], most: usize) -> io::Result<Answer> {
        let Group(child) = self;
        let id = child.id();
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // One who does not read to the end will say why.
                let _ = stdin.write_all(input).await;
            }
        };
        let listen = async {
            let heard = read(stdout, most).await;
            if matches!(heard, Ok((_, true))) {
                // Nobody listens any more, and whoever cannot go on talking never ends.
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
        // A child that has been waited for has no id any more.
        kill(self.0.id());
    }
}

/// Ends a command with whatever it has started.
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

/// As much of a stream as is wanted, and whether there is more.
async fn read(stream: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut out = Vec::new();
    let Some(stream) = stream else { return Ok((out, false)) };
    stream.take(most as u64 + 1).read_to_end(&mut out).await?;
    let is_cut = out.len() > most;
    out.truncate(most);
    Ok((out, is_cut))
}

/// The beginning of a stream that is read to its end.
async fn drain(stream: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let Some(mut stream) = stream else { return Ok(Vec::new()) };
    let (out, _) = read(Some(&mut stream), COMPLAINT_MAX).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(out)
}
