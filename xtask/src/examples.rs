//! The numbered examples: each is run, and must print the text in its first lines.

use std::fs;

use crate::build;
use crate::run::{Failure, Outcome, Program, root, rust_files};

const FOLDER: &str = "crates/toolwright/examples";

/// Builds and runs every example.
pub(crate) fn run() -> Outcome {
    let mut names = rust_files(&root().join(FOLDER))?;
    names.retain(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    build::in_workspace(&["--examples"])?;
    let mut wrong = Vec::new();
    for name in &names {
        let text = fs::read_to_string(root().join(FOLDER).join(format!("{name}.rs")))?;
        let expected = expected_output(&text).ok_or_else(|| {
            Failure(format!("{FOLDER}/{name}.rs: its //! has no ```text block of what it prints"))
        })?;
        let printed = Program::new(root().join("target/debug/examples").join(name)).read()?;
        let same = printed.trim_end() == expected.trim_end();
        println!("{name:<28} {}", if same { "ok" } else { "prints something else" });
        if !same {
            println!("--- expected\n{}\n--- printed\n{}", expected.trim_end(), printed.trim_end());
            wrong.push(name.as_str());
        }
    }
    match wrong.as_slice() {
        [] => Ok(()),
        wrong => Err(Failure(format!("{} print something else", wrong.join(", ")))),
    }
}

/// The text block in the first lines of an example.
fn expected_output(text: &str) -> Option<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let start = lines.iter().position(|line| *line == "```text")? + 1;
    let length = lines[start..].iter().position(|line| *line == "```")?;
    Some(lines[start..start + length].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_output_is_the_first_text_block() {
        let text =
            "//! One tool.\n//!\n//! ```text\n//! a\n//!\n//!   b\n//! ```\n\nfn main() {}\n";
        assert_eq!(expected_output(text).as_deref(), Some("a\n\n  b"));
        assert_eq!(expected_output("//! Nothing.\n//! ```text\nfn main() {}\n"), None);
    }
}
