//! How a command ends: one line on stderr, an optional hint, and an exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use toolwright_core::Json;
use toolwright_dialects::translate::TranslateError;
use toolwright_runtime::CallError;

use toolwright_gateway::config::ConfigError;
use toolwright_gateway::terminal;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

/// What a command does.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Creates a failure of the command, with exit code 1.
    pub(crate) fn failed(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), hint: None, code: 1 }
    }

    /// Creates a usage error, with exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), hint: None, code: 2 }
    }

    /// Adds a hint.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the failure and returns the exit code.
    #[allow(clippy::print_stderr)]
    pub(crate) fn report(self) -> ExitCode {
        match self.hint {
            _ if self.code == 0 => {}
            Some(hint) => eprintln!("error: {}\nhint: {hint}", self.message),
            None => eprintln!("error: {}", self.message),
        }
        ExitCode::from(self.code)
    }

    /// Prints the failure as a warning, with its consequence for a command that goes on.
    pub(crate) fn warn(self, consequence: &str) {
        let hint = self.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        warn(&format!("{}; {consequence}{hint}", self.message));
    }
}

/// Prints a warning.
#[allow(clippy::print_stderr)]
pub(crate) fn warn(text: &str) {
    eprintln!("warning: {}", terminal::plain(text));
}

impl From<TranslateError> for Failure {
    fn from(error: TranslateError) -> Failure {
        let failure = Failure::failed(error.to_string());
        match error {
            TranslateError::Refused(_) => Failure { code: 3, ..failure }
                .with_hint("leave out --strict to translate with losses"),
            _ => failure,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        let failure = Failure::failed(error.to_string());
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

/// Converts an error.
pub(crate) fn failed(error: impl Display) -> Failure {
    Failure::failed(error.to_string())
}

/// Converts the error of a call, for the person who made it.
pub(crate) fn call_failed(error: &CallError) -> Failure {
    Failure::failed(terminal::plain(terminal::without_advice(&error.text)))
}

/// Writes text to stdout.
pub(crate) fn print(text: &str) -> Result<()> {
    terminal::write(text).map_err(io("stdout"))
}

/// Writes a document to stdout.
pub(crate) fn print_json(document: impl Into<Json>) -> Result<()> {
    print(&document.into().pretty())
}

/// Writes rows under a heading to stdout.
pub(crate) fn print_table(heading: &[impl ToString], rows: &[impl AsRef<[String]>]) -> Result<()> {
    terminal::table(&mut io::stdout().lock(), heading, rows).map_err(io("stdout"))
}

/// Returns the first characters of a text, for a line or a cell.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Converts an IO error, with the name of the file or stream. A reader that has closed the pipe, such as `head`, has
/// all that it wants: the command ends without a message and with exit code 0.
pub(crate) fn io(what: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure { message: String::new(), hint: None, code: 0 },
        _ => Failure::failed(format!("{what}: {error}")),
    }
}
