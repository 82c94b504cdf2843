//! Runs other programs from the root of the repository, and installs missing ones.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fmt, fs};

/// Why a task failed, as a message for the user.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// The result of a task.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// A program with its arguments, which can be printed as a shell command.
pub(crate) struct Program {
    command: Command,
    line: String,
}

impl Program {
    /// A program that runs in the root of the repository.
    pub(crate) fn new(name: impl AsRef<OsStr>) -> Program {
        let line = name.as_ref().to_string_lossy().into_owned();
        let mut command = Command::new(name);
        command.current_dir(root());
        Program { command, line }
    }

    /// The cargo that runs this. It does not inherit what `cargo run` says of this package: build scripts that look at
    /// these variables, such as that of `ring`, would run again, and all that depends on them be compiled again,
    /// whenever a direct `cargo` follows a `cargo xtask`.
    pub(crate) fn cargo() -> Program {
        let mut program = Program::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        program.line = "cargo".into();
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                program.command.env_remove(name);
            }
        }
        program
    }

    /// Adds arguments.
    pub(crate) fn with(mut self, arguments: &[impl AsRef<str>]) -> Program {
        for argument in arguments.iter().map(AsRef::as_ref) {
            self.line.push(' ');
            self.line.push_str(argument);
            self.command.arg(argument);
        }
        self
    }

    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Program {
        let quote = if value.contains(' ') { "'" } else { "" };
        self.line = format!("{name}={quote}{value}{quote} {}", self.line);
        self.command.env(name, value);
        self
    }

    /// The command line as a user would type it.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Runs it with inherited standard streams.
    pub(crate) fn run(mut self) -> Outcome {
        let status = self.command.status().map_err(|error| self.unstarted(&error))?;
        if status.success() { Ok(()) } else { Err(Failure(format!("{status}: {}", self.line))) }
    }

    /// Prints the command line and runs it.
    pub(crate) fn run_shown(self) -> Outcome {
        println!("{}", self.line);
        self.run()
    }

    /// Runs it and returns its standard output.
    pub(crate) fn read(mut self) -> Outcome<String> {
        self.command.stderr(Stdio::inherit());
        let output = self.output()?;
        if !output.status.success() {
            return Err(Failure(format!("{}: {}", output.status, self.line)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs it and returns its standard output, whether it succeeded or not.
    pub(crate) fn answer(mut self) -> Outcome<String> {
        Ok(String::from_utf8_lossy(&self.output()?.stdout).into_owned())
    }

    /// Runs it and returns whether it succeeded, with its captured output.
    pub(crate) fn capture(mut self) -> Outcome<(bool, String)> {
        let output = self.output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok((output.status.success(), text))
    }

    fn output(&mut self) -> Outcome<Output> {
        self.command.output().map_err(|error| self.unstarted(&error))
    }

    fn unstarted(&self, error: &std::io::Error) -> Failure {
        Failure(format!("cannot start `{}`: {error}", self.line))
    }
}

/// The names of the Rust files of a folder, without their extension, in order.
pub(crate) fn rust_files(folder: &Path) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Installs a Debian package unless the probe succeeds.
pub(crate) fn ensure(package: &str, probe: impl Fn() -> Program) -> Outcome {
    let runs = || probe().capture().is_ok_and(|(fine, _)| fine);
    if runs() {
        return Ok(());
    }
    println!("installing {package}, which is missing");
    // A new machine may have no package lists yet; an offline machine still has old ones.
    let _ = Program::new("apt-get").with(&["update", "--quiet"]).capture()?;
    Program::new("apt-get")
        .with(&["install", "--yes", "--no-install-recommends", package])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .run()
        .map_err(|failure| Failure(format!("install {package} by hand: {failure}")))?;
    let wanted = probe();
    if runs() { Ok(()) } else { Err(Failure(format!("`{}` still fails", wanted.line()))) }
}
