//! Starts this program again as another process with a role in a test, for properties that hold
//! between processes, or when one of them is killed.
//!
//! A test calls [`role`] first; in the other process it plays the role and exits.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const ROLE: &str = "TOOLWRIGHT_TEST_ROLE";
/// Precedes each line of a role, because the test harness prints lines of its own.
const MARK: &str = "@ ";

/// The arguments of the role that this process was started for.
pub fn role() -> Option<Vec<String>> {
    let words = std::env::var(ROLE).ok()?;
    Some(words.split('\n').map(str::to_owned).collect())
}

/// Sends a line to the process that started this one.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader is gone: the test has failed or is over.
    if writeln!(out, "\n{MARK}{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

/// Waits for a line from the process that started this one.
pub fn hear() -> String {
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
        std::process::exit(1);
    }
    line.trim_end().to_owned()
}

/// Exits after the role was played.
pub fn leave() -> ! {
    std::process::exit(0)
}

/// A process that plays a role.
pub struct Player {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Player {
    /// Starts this program again for a test, by its full name, with a role.
    pub fn start(test: &str, role: &[&str]) -> Player {
        Player::spawn(Command::new(std::env::current_exe().unwrap()), test, role)
    }

    /// Like [`Player::start`], through a command that runs its last arguments.
    pub fn start_with(command: &[&str], test: &str, role: &[&str]) -> Player {
        let mut program = Command::new(command[0]);
        program.args(&command[1..]).arg(std::env::current_exe().unwrap());
        Player::spawn(program, test, role)
    }

    fn spawn(mut program: Command, test: &str, role: &[&str]) -> Player {
        let mut child = program
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Player { child, input, output }
    }

    /// Sends a line to it.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// All further lines until it has exited.
    pub fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Waits for it to exit, and asserts success.
    pub fn end(mut self) -> Vec<String> {
        let said = self.rest();
        assert!(self.child.wait().unwrap().success(), "a role failed: {said:?}");
        said
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Iterator for Player {
    type Item = String;

    /// The next line that it sends; `None` once it has exited.
    fn next(&mut self) -> Option<String> {
        loop {
            let line = self.output.next()?.ok()?;
            if let Some(line) = line.strip_prefix(MARK) {
                return Some(line.to_owned());
            }
        }
    }
}
