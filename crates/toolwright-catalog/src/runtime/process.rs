//! Functions that run as a process: one JSON document on stdin, one on stdout.
//!
//! ```text
//! stdin   {"function": …, "parameters": {…}, "files": {key: [path]}, "context": {…}}
//! stdout  the return value
//! ```
//!
//! A streaming function writes one JSON document to each line instead, `{"type": …, "data": …}`: any number of
//! `content` and `progress`, and `done` or `error` at the end.
//!
//! A process starts in a copy of the published folder, without the environment of the host. Input files are copies
//! for this call as well; a file that it writes to `{context.output_dir}/{key}/` is returned under this key. If the
//! kernel can confine it, the process reads only these, the programs and libraries of the system, and folders that the
//! operator names.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use toolwright_core::{Json, Tool, object};
use toolwright_json::Object;
use toolwright_plan::Reservation;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::process::{
    self, Confinement, INHERITED_ENVIRONMENT, Process, ProcessOutput,
};
use toolwright_runtime::redact::known::KnownSecrets;
use toolwright_runtime::{Handler, Output, Scope, ToolError};
use toolwright_transport::secret::SecretString;

use super::stream::{EventSender, FunctionStream, StreamError};
use super::with_files;
use super::workspace::{OUTPUT, PREFAB, TEMPORARY, Workspace};
use crate::files::Files;
use crate::manifest::{FILES, Function};
use crate::package::PublishedFiles;

/// Maximum number of bytes of a return value.
const MAX_STDOUT: usize = 64 << 20;

/// Maximum number of characters of stderr in an error.
const MAX_STDERR_CHARS: usize = 2000;

/// Number of events that may wait for the client before the process waits.
const EVENTS_IN_FLIGHT: usize = 64;

/// A function that runs as a process.
pub(super) struct ProcessFunction {
    pub(super) command: Vec<String>,
    pub(super) prefab: Arc<PublishedFiles>,
    /// The data folder, and folders that the operator opens to it
    pub(super) confinement: Confinement,
    pub(super) function: Function,
    pub(super) secrets: Vec<(String, SecretString)>,
    /// All secrets that it receives, which it must not return
    pub(super) known: KnownSecrets,
    pub(super) files: Files,
    /// Where the files of calls are
    pub(super) work: PathBuf,
}

impl ProcessFunction {
    pub(super) fn into_handler(self, tool: Tool) -> Handler {
        let process = Arc::new(self);
        Handler::new(tool, move |scope, arguments| {
            let process = process.clone();
            async move { process.run(&scope, arguments).await }
        })
        .with_stop_on_cancel()
    }

    async fn run(&self, scope: &Scope, mut parameters: Object) -> ToolResult {
        let links = self.function.input_files().next().and_then(|_| parameters.remove(FILES));
        let tenant = &scope.session.caller.tenant;
        let workspace =
            Workspace::create(&self.work, &self.files, tenant, &self.function, links.as_ref())
                .await?;
        if !workspace.copy_prefab(&self.prefab).await? {
            return Err(self.changed());
        }
        let memory = Reservation::of(&scope.session.context).await;
        let input = self.input(scope, parameters, &workspace).compact();
        let mut process = self.start(scope, &workspace)?;
        let value = if self.function.streaming {
            self.stream(scope, &mut process, &input).await?
        } else {
            let output =
                process.communicate(input.as_bytes(), MAX_STDOUT, None, &scope.cancel).await;
            let output = output.map_err(|error| not_run(&self.command, &error))?;
            self.check_end(&output)?;
            memory.grow_for_result(output.stdout.len()).await?;
            let invalid =
                |what| failed(&format!("its stdout is not {what}{}", self.stderr(&output)));
            let text = std::str::from_utf8(&output.stdout).map_err(|_| invalid("UTF-8"))?;
            Json::parse(text).map_err(|_| invalid("one JSON document"))?
        };
        let value = self.known.json(value);
        if !workspace.outputs.is_empty() {
            return Ok(Output::json(with_files(value, workspace.save_outputs().await?)));
        }
        Ok(Output::json(value))
    }

    fn input(&self, scope: &Scope, parameters: Object, workspace: &Workspace) -> Json {
        let caller = &scope.session.caller;
        let mut context = object! {
            "caller": &*caller.id,
            "tenant": &*caller.tenant,
            "idempotency_key": &*scope.key,
            "attempt": scope.attempt,
        };
        if !self.function.files.is_empty() {
            let output = workspace.folder().join(OUTPUT);
            context.insert("output_dir", output.to_string_lossy().into_owned());
        }
        let mut secrets = Object::new();
        for (name, secret) in &self.secrets {
            secrets.insert(name.clone(), secret.expose().as_str());
        }
        context.insert("secrets", secrets);
        object! {
            "function": self.function.name.as_str(),
            "parameters": parameters,
            "files": workspace.inputs.clone(),
            "context": context,
        }
        .into()
    }

    fn start(&self, scope: &Scope, workspace: &Workspace) -> Result<Process, ToolError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(failed("its command is empty"));
        };
        if scope.cancel.is_cancelled() {
            return Err(not_run(&self.command, &io::ErrorKind::Interrupted.into()));
        }
        let mut confinement = self.confinement.clone();
        confinement.write.push(workspace.folder());
        let mut command = process::confined_command(program, &confinement);
        command.args(arguments).current_dir(workspace.folder().join(PREFAB)).env_clear();
        command.envs(
            INHERITED_ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.env("TMPDIR", workspace.folder().join(TEMPORARY));
        Process::start(command).map_err(|error| not_run(&self.command, &error))
    }

    /// Passes on events as they arrive, and returns the result.
    async fn stream(
        &self,
        scope: &Scope,
        process: &mut Process,
        input: &str,
    ) -> Result<Json, ToolError> {
        let (sender, mut lines) = mpsc::channel::<Vec<u8>>(EVENTS_IN_FLIGHT);
        let events = scope.session.context.lock::<EventSender>().ok();
        let mut stream = FunctionStream::default();
        let malformed = |error: StreamError| error.into_tool_error(&self.known, failed);
        let receive = async {
            while let Some(line) = lines.recv().await {
                let event = self.known.json(stream.add(&line).map_err(malformed)?);
                if let Some(events) = &events {
                    // A client that has left does not end the function.
                    let _ = events.read().await.0.send(event).await;
                }
            }
            Ok::<(), ToolError>(())
        };
        let communicate = async {
            let (input, cancel) = (input.as_bytes(), &scope.cancel);
            let output = process.communicate(input, MAX_STDOUT, Some(sender), cancel).await;
            output.map_err(|error| not_run(&self.command, &error))
        };
        let ended = tokio::try_join!(communicate, receive);
        // If it wrote what is not an event, it still runs, and its files cannot be removed.
        drop(process.kill().await);
        let (output, ()) = ended?;
        self.check_end(&output)?;
        stream.finish().map_err(malformed)
    }

    fn changed(&self) -> ToolError {
        let PublishedFiles { id, version, .. } = &*self.prefab;
        failed(&format!(
            "the files of {id}@{version} are not those that were published. The operator can run `toolwright \
             catalog remove {id} {version}`, and publish it again with `toolwright catalog add`"
        ))
    }

    fn check_end(&self, output: &ProcessOutput) -> Result<(), ToolError> {
        if output.is_cut {
            return Err(failed(&format!("it wrote more than {MAX_STDOUT} bytes to stdout")));
        }
        if output.code != Some(0) {
            let code = output.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
            return Err(failed(&format!("it ended with {code}{}", self.stderr(output))));
        }
        Ok(())
    }

    /// The end of stderr, without secrets and without paths of the machine.
    fn stderr(&self, output: &ProcessOutput) -> String {
        let mut text = self.known.beginning(&output.stderr, output.is_stderr_cut);
        text = text.replace(&*self.work.to_string_lossy(), "[work]");
        let text = text.trim();
        let skipped = text.chars().count().saturating_sub(MAX_STDERR_CHARS);
        let end: String = text.chars().skip(skipped).collect();
        if end.is_empty() { String::new() } else { format!(", and wrote to stderr:\n{end}") }
    }
}

/// Returns why a process has no output: its program did not start, the call was cancelled, or a pipe broke.
fn not_run(command: &[String], error: &io::Error) -> ToolError {
    let program = command.first().map(String::as_str).unwrap_or_default();
    match error.kind() {
        io::ErrorKind::Interrupted => failed("its call has ended"),
        kind => failed(&format!("`{program}` could not be run: {kind}")),
    }
}

fn failed(problem: &str) -> ToolError {
    ToolError::new(format!("The process of the function failed: {problem}"))
        .with_kind("ProcessError")
}

#[cfg(test)]
mod tests {
    use toolwright_runtime::Session;

    use super::*;

    #[tokio::test]
    async fn a_call_that_is_cancelled_after_the_start_is_no_failure_to_start() {
        let mut command = process::command("sleep");
        command.arg("1000");
        let mut process = Process::start(command).unwrap();
        let cancel = Session::new("run").cancel;
        cancel.cancel();
        let cancelled = process.communicate(b"", MAX_STDOUT, None, &cancel).await.unwrap_err();
        let missing = Process::start(process::command("no-such-program")).unwrap_err();
        for (error, wanted) in [
            (cancelled, "its call has ended"),
            (missing, "`prog` could not be run: entity not found"),
            (io::ErrorKind::BrokenPipe.into(), "`prog` could not be run: broken pipe"),
        ] {
            let error = not_run(&["prog".to_owned()], &error);
            assert_eq!(error.message, format!("The process of the function failed: {wanted}"));
        }
    }
}
