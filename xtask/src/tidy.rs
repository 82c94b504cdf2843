//! The rules of the source tree: one function each, which returns the violations and their
//! remedies. A rule sees the files only as text, so that its tests need no files.

mod cases;
mod code;
mod dependency;
mod dialect;
mod file;
mod layers;
mod purity;
mod reference;
mod size;
mod text;

use std::{fmt, fs};

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
    /// Reads every text file below the root that `.gitignore` does not list.
    fn read() -> Outcome<Tree> {
        let ignored = Ignored::parse(&fs::read_to_string(root().join(".gitignore"))?);
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root().join(&folder))? {
                let entry = entry?;
                let path = format!("{folder}{}", entry.file_name().to_string_lossy());
                if ignored.has(&path) {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    folders.push(path + "/");
                } else if let Ok(text) = fs::read_to_string(entry.path()) {
                    files.push(Source { path, text });
                }
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
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

/// The lines of `.gitignore`: a path from the root (`/target`) or a name at any depth (`x/`).
struct Ignored(Vec<String>);

impl Ignored {
    fn parse(text: &str) -> Ignored {
        let lines = text.lines().map(str::trim);
        Ignored(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name == ".git"
            || self.0.iter().any(|line| match line.strip_prefix('/') {
                Some(anchored) => anchored.trim_end_matches('/') == path,
                None => line.trim_end_matches('/') == name,
            })
    }
}

/// A violation of a rule, with the remedy.
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
    ("a crate depends only on crates before it", layers::of_crates_are_kept),
    ("a module imports only from layers to its left", layers::are_kept),
    ("core is pure", purity::core_is_pure),
    ("a file says what it is", file::opens_with_its_purpose),
    ("a file is short", file::is_short),
    ("a crate is one room", size::crates_are_small),
    ("a function is short", size::functions_are_short),
    ("a file has a name of its own", file::has_a_name_of_its_own),
    ("imports are in order", file::imports_in_order),
    ("nothing is left for later", file::leaves_nothing_for_later),
    ("a crate has one integration test binary", file::has_one_test_binary),
    ("tests sleep briefly", file::tests_sleep_briefly),
    ("links lead somewhere", reference::links_lead_somewhere),
    ("cited sections exist", reference::cites_existing_sections),
    ("named sources exist", reference::names_existing_sources),
    ("cited cases exist", cases::are_indexed),
    ("cases list their tests", cases::list_their_tests),
    ("no document that is not here", reference::names_no_absent_document),
    ("no retired word", reference::uses_no_retired_word),
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

/// Prints the sizes of the crates, the longest functions and the longest files.
pub(crate) fn print_sizes() -> Outcome {
    print!("{}", size::table(&Tree::read()?));
    Ok(())
}

fn core_tree() -> Outcome<String> {
    let program = Program::cargo().with(&["tree", "--package", "toolwright-dialects"]);
    program.with(&["--edges", "normal", "--prefix", "none"]).read()
}

fn feature_tree() -> Outcome<String> {
    Program::cargo()
        .with(&["tree", "--workspace", "--edges", "all", "--prefix", "none"])
        .with(&["--format", "{p} {f}"])
        .read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_not_read() {
        let ignored = Ignored::parse("/target\n/fuzz/corpus\n__pycache__/\n");
        for path in ["target", "fuzz/corpus", "conformance/dialects/__pycache__", ".git"] {
            assert!(ignored.has(path), "{path}");
        }
        for path in ["crates/target", "corpus", "fuzz", ".ci", ".gitignore"] {
            assert!(!ignored.has(path), "{path}");
        }
    }
}
