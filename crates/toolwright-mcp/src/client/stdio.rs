//! A server that is a child process: one message on each line of its stdin and stdout.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolwright_runtime::process::{self, INHERITED_ENVIRONMENT, Process};
use toolwright_transport::secret::SecretString;

use super::MAX_MESSAGE;
use super::inbox::Inbox;
use crate::message::Message;

/// Time to exit after stdin has been closed.
const GRACE: Duration = Duration::from_secs(2);

/// Number of messages that wait to be written.
const QUEUE: usize = 64;

/// How long a server may leave its answers unread before it is ended.
const UNREAD: Duration = Duration::from_secs(10);

/// Maximum number of bytes of stderr that are kept for an error message.
const MAX_STDERR: usize = 2000;

/// The command that starts a server.
#[must_use]
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerCommand {
    /// The program
    pub program: String,
    /// Its arguments
    pub arguments: Vec<String>,
    /// Environment variables with secrets, which are redacted in all that the server sends
    pub environment: Vec<(String, SecretString)>,
    /// Other environment variables, beside a few that every process needs
    pub variables: Vec<(String, String)>,
    /// The working directory; that of the host if there is none
    pub directory: Option<PathBuf>,
}

impl ServerCommand {
    /// Creates a command.
    pub fn new<S: Into<String>>(
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> ServerCommand {
        ServerCommand {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            variables: Vec::new(),
            directory: None,
        }
    }

    /// Adds an environment variable that holds no secret.
    pub fn with_variable(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> ServerCommand {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Adds an environment variable with a secret.
    pub fn with_environment(
        mut self,
        name: impl Into<String>,
        value: SecretString,
    ) -> ServerCommand {
        self.environment.push((name.into(), value));
        self
    }

    /// Sets the working directory.
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> ServerCommand {
        self.directory = Some(directory.into());
        self
    }
}

/// A running server. Dropping it closes the server's stdin, and kills the server and its descendants if they
/// do not exit.
pub(super) struct Stdio {
    lines: mpsc::Sender<String>,
    _used: DropGuard,
}

impl Stdio {
    /// Starts a server. Its messages arrive in the inbox.
    pub(super) fn start(command: &ServerCommand, inbox: Arc<Inbox>) -> std::io::Result<Stdio> {
        let mut child = process::command(&command.program);
        child.args(&command.arguments).env_clear();
        child.envs(
            INHERITED_ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        child.envs(command.variables.iter().map(|(name, value)| (name, value)));
        child.envs(command.environment.iter().map(|(name, value)| (name, value.expose())));
        if let Some(directory) = &command.directory {
            child.current_dir(directory);
        }
        let process = Process::start(child)?;
        let (lines, queue) = mpsc::channel(QUEUE);
        let unused = CancellationToken::new();
        tokio::spawn(run(process, queue, lines.downgrade(), unused.clone(), inbox));
        Ok(Stdio { lines, _used: unused.drop_guard() })
    }

    /// Sends a message, unless the server has ended.
    pub(super) async fn send(&self, message: &Message) {
        let _ = self.lines.send(message.compact()).await;
    }

    /// Sends a message if there is room for it.
    pub(super) fn try_send(&self, message: &Message) {
        let _ = self.lines.try_send(message.compact());
    }
}

/// Moves messages until the server has ended or is no longer used.
async fn run(
    mut process: Process,
    queue: mpsc::Receiver<String>,
    answers: mpsc::WeakSender<String>,
    unused: CancellationToken,
    inbox: Arc<Inbox>,
) {
    let Some(streams) = process.streams() else { return };
    let errors = Arc::new(Mutex::new(Vec::new()));
    let collecting = tokio::spawn(collect(streams.stderr, errors.clone()));
    let mut reading = Box::pin(read(streams.stdout, answers, inbox.clone()));
    // A server that does not read would block the writing for ever.
    let writing = unused.run_until_cancelled_owned(write(streams.stdin, queue));
    let reason = tokio::select! {
        reason = &mut reading => reason,
        _ = writing => {
            let _ = timeout(GRACE, reading).await;
            "it is no longer used".to_owned()
        }
    };
    let code = timeout(GRACE, process.wait()).await.ok().and_then(Result::ok).flatten();
    let _ = timeout(GRACE, collecting).await;
    if let Some(error) = process.start_error(code, &errors.lock()) {
        return inbox.end(&format!("its program does not start: {error}"), None);
    }
    drop(process);
    let code = code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors.lock()).into_owned();
    let errors = Some(errors.trim()).filter(|errors| !errors.is_empty());
    inbox.end(&format!("{reason}{code}"), errors);
}

/// Writes messages until the queue or the stream is closed. A server that no longer reads is noticed when it
/// ends.
async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<String>) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Reads messages until the end, and returns why it ended.
async fn read(
    stdout: impl AsyncRead + Unpin,
    answers: mpsc::WeakSender<String>,
    inbox: Arc<Inbox>,
) -> String {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = MAX_MESSAGE as u64 + 1;
        match (&mut stdout).take(limit).read_until(b'\n', &mut line).await {
            Ok(0) => return "its process has ended".to_owned(),
            Ok(_) if line.len() > MAX_MESSAGE => {
                return format!("it sent a message of more than {MAX_MESSAGE} bytes");
            }
            Ok(_) => {}
            Err(error) => return format!("its output cannot be read: {error}"),
        }
        let line = line.trim_ascii();
        // Programs that print to stdout are common.
        if !line.starts_with(b"{") && !line.starts_with(b"[") {
            continue;
        }
        for message in inbox.read(line) {
            let Some(request) = inbox.deliver(message, None) else { continue };
            let answers = answers.clone();
            let send = |answer: Message| async move {
                if let Some(answers) = answers.upgrade() {
                    let _ = answers.send(answer.compact()).await;
                }
            };
            if timeout(UNREAD, inbox.spawn_answer(request, None, send)).await.is_err() {
                return format!("it did not read the answers to its requests for {UNREAD:?}");
            }
        }
    }
}

/// Keeps the end of what a server says on stderr, from the end of a word on: the rest of a word that is cut may be the
/// end of a secret.
async fn collect(mut stderr: impl AsyncRead + Unpin, errors: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 4096];
    let mut is_cut = false;
    while let Ok(count @ 1..) = stderr.read(&mut piece).await {
        let mut kept = errors.lock();
        kept.extend_from_slice(&piece[..count]);
        let excess = kept.len().saturating_sub(MAX_STDERR);
        if excess > 0 || is_cut {
            let end = kept[excess..].iter().position(u8::is_ascii_whitespace);
            is_cut = end.is_none();
            let cut = end.map_or(kept.len(), |end| excess + end);
            kept.drain(..cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::secrets::SentSecrets;
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_word_on_stderr_is_not_kept_without_its_beginning() {
        let errors = Arc::default();
        let said = format!("{}{} end", "a ".repeat(MAX_STDERR), "s".repeat(10_000));
        collect(said.as_bytes(), Arc::clone(&errors)).await;
        assert_eq!(*errors.lock(), b" end");
        let said = format!("{} end", "word ".repeat(MAX_STDERR));
        collect(said.as_bytes(), Arc::clone(&errors)).await;
        let kept = errors.lock().clone();
        assert!(kept.len() <= MAX_STDERR && kept.starts_with(b" word word"));
        assert!(kept.ends_with(b"word  end"));
    }

    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

    fn read_pings(answers: &mpsc::Sender<String>) -> impl Future<Output = String> + use<> {
        let inbox = Arc::new(Inbox::new("s".into(), Arc::default(), SentSecrets::default()));
        let pings = std::io::Cursor::new(PING.repeat(1000).into_bytes());
        read(pings, answers.downgrade(), inbox)
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_read_its_answers_is_ended() {
        let (answers, _unread) = mpsc::channel(QUEUE);
        let reason = read_pings(&answers).await;
        assert_eq!(reason, "it did not read the answers to its requests for 10s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_reads_gets_every_answer() {
        let (answers, mut queue) = mpsc::channel(QUEUE);
        let reading = tokio::spawn(read_pings(&answers));
        for _ in 0..1000 {
            assert!(queue.recv().await.unwrap().contains("result"));
        }
        assert_eq!(reading.await.unwrap(), "its process has ended");
    }
}
