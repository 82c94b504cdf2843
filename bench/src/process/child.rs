//! A child process, which is killed on drop.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::usage::{self, Usage};
use crate::failure::{Failure, Outcome};

/// A running process.
pub(crate) struct Child(std::process::Child);

impl Child {
    /// Starts a program.
    pub(crate) fn start(command: &mut Command) -> Outcome<Child> {
        let name = command.get_program().to_string_lossy().into_owned();
        match command.stdin(Stdio::null()).spawn() {
            Ok(child) => Ok(Child(child)),
            Err(error) => Err(Failure(format!("cannot start {name}: {error}"))),
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Processor time so far.
    pub(crate) fn usage(&self) -> Usage {
        Usage::of(self.id())
    }

    /// Resident memory in megabytes.
    pub(crate) fn resident(&self) -> f64 {
        usage::resident(self.id())
    }

    /// The number of open files and sockets.
    pub(crate) fn files(&self) -> usize {
        usage::files(self.id())
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(id) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) {
            // A process that has exited is ignored.
            let _ = kill_process(id, signal);
        }
    }

    /// Kills it.
    pub(crate) fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// The exit status, if it has exited.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.0.try_wait().ok().flatten().map(|status| status.to_string())
    }
}

/// A process and its address.
pub(crate) struct Serving {
    /// The process
    pub(crate) child: Child,
    /// Its address
    pub(crate) address: SocketAddr,
}

impl Serving {
    /// Starts the mock at an address; port 0 picks a free port.
    pub(crate) fn mock(address: &str) -> Outcome<Serving> {
        Serving::part(&["mock", address])
    }

    /// Starts this program again in another role.
    pub(crate) fn part(words: &[&str]) -> Outcome<Serving> {
        Serving::program(Command::new(std::env::current_exe()?).args(words))
    }

    /// Starts a program that prints the address that it serves.
    pub(crate) fn program(command: &mut Command) -> Outcome<Serving> {
        let mut child = Child::start(command.stdout(Stdio::piped()))?;
        let mut line = String::new();
        if let Some(stdout) = child.0.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().parse();
        let address =
            address.map_err(|_| Failure(format!("{command:?} does not serve: {line}")))?;
        Ok(Serving { child, address })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
