//! The rules of the source tree: one function each, which gives where a rule is broken and what to
//! do. A rule sees the files only as text, so that its tests need no files.

mod code;
mod dependency;
mod dialect;
mod file;
mod purity;
mod text;

use std::fmt;

use crate::run::{Failure, Outcome, Program, root};

/// A file of the repository.
struct Source {
    /// Its path from the root, with `/`
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        std::path::Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// Whether the file lies under a folder.
    fn under(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// A finding in this file.
    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }
}

/// The text files of the repository.
struct Tree {
    files: Vec<Source>,
}

impl Tree {
    /// Reads what git tracks or would track.
    fn read() -> Outcome<Tree> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let names = Program::new("git").with(&list).read()?;
        let mut files = Vec::new();
        for path in names.split('\0').filter(|path| !path.is_empty()) {
            // What is no text, and what was deleted and not yet committed, has nothing to read.
            if let Ok(text) = std::fs::read_to_string(root().join(path)) {
                files.push(Source { path: path.into(), text });
            }
        }
        Ok(Tree { files })
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Tree {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Tree { files: files.iter().map(source).collect() }
    }

    fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|file| file.is_rust())
    }

    fn get(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Where a rule is broken, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.what)
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[(&str, Rule)] = &[
    ("dialects import only their parent", dialect::imports_only_its_parent),
    ("two dialects meet in one file", dialect::two_meet_in_one_file),
    ("dialects have the same files", dialect::has_the_same_files),
    ("core is pure", purity::core_is_pure),
    ("a file says what it is", file::opens_with_its_purpose),
    ("a file is short", file::is_short),
    ("a file has a name of its own", file::has_a_name_of_its_own),
    ("nothing is left for later", file::leaves_nothing_for_later),
    ("a crate has one integration test binary", file::has_one_test_binary),
    ("no path of a machine", text::names_no_machine),
    ("no address of a registry", text::names_no_registry),
    ("the two READMEs agree", text::readmes_agree),
];

/// Applies every rule.
pub(crate) fn run() -> Outcome {
    let tree = Tree::read()?;
    let mut count = 0;
    let mut report = |rule: &str, findings: Vec<Finding>| {
        for finding in &findings {
            println!("{finding} [{rule}]");
        }
        count += findings.len();
    };
    for (name, rule) in RULES {
        report(name, rule(&tree));
    }
    report("core depends on nothing with effects", dependency::core_has_no_effects(&core_tree()?));
    report("numbers are not arbitrary", dependency::numbers_are_plain(&feature_tree()?));
    for finding in file::grows_long(&tree) {
        println!("warning: {finding}");
    }
    println!("{} files, {} rules, {count} broken", tree.files.len(), RULES.len() + 2);
    if count == 0 { Ok(()) } else { Err(Failure(format!("{count} findings"))) }
}

fn core_tree() -> Outcome<String> {
    Program::cargo()
        .with(&["tree", "--package", "toolwright-core", "--edges", "normal", "--prefix", "none"])
        .read()
}

fn feature_tree() -> Outcome<String> {
    Program::cargo()
        .with(&["tree", "--workspace", "--edges", "all", "--prefix", "none"])
        .with(&["--format", "{p} {f}"])
        .read()
}
