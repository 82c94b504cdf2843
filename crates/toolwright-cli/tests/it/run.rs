//! Runs the binary and captures its output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output and exit status of a run.
pub struct Ran {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

/// Runs `toolwright` with arguments and an input, in an empty folder.
pub fn toolwright(arguments: &[&str], input: &[u8]) -> Ran {
    toolwright_in(tempfile::tempdir().unwrap().path(), arguments, input)
}

/// Runs the command in a folder.
pub fn toolwright_in(folder: &Path, arguments: &[&str], input: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early closes its input, which does not fail the test.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the command in a folder and returns its output, which must be a success.
pub fn ok_in(folder: &Path, arguments: &[&str]) -> String {
    let ran = toolwright_in(folder, arguments, b"");
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    ran.text()
}

/// Writes the folder `words`, with a prefab whose function `count` runs as a process.
pub fn write_words_prefab(folder: &Path) {
    let words = folder.join("words");
    std::fs::create_dir(&words).unwrap();
    let manifest = r#"{"id":"words-prefab","version":"0.1.0","name":"w","description":"Counts words.",
        "functions":[{"name":"count","description":"Counts.","parameters":[]}],
        "runtime":{"process":{"command":["sh","run.sh"]}}}"#;
    std::fs::write(words.join("prefab.json"), manifest).unwrap();
    std::fs::write(words.join("run.sh"), "echo 7").unwrap();
}

/// A file of the repository's fixtures.
pub fn fixture(relative: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(relative);
    path.to_str().unwrap().to_owned()
}

/// A path for a file that a run writes.
pub fn scratch(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().unwrap().to_owned()
}
