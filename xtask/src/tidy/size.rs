//! The sizes of crates, files and functions, in lines of code: without blank lines, comments and tests.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::code::{code, without_comments};
use super::file::before_tests;
use super::{Finding, Source, Tree};

/// Maximum number of lines of a crate.
const CRATE: usize = 25_000;

/// Maximum number of lines of all crates.
const ALL: usize = 112_000;

/// Maximum number of lines of a function.
const FUNCTION: usize = 110;

/// Number of functions and files that the table names.
const SHOWN: usize = 5;

/// The crate of tests, which is not published.
const TESTING: &str = "toolwright-testing";

/// The size of a crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct Size {
    /// Lines of code
    code: usize,
    /// Lines of tests, examples and benchmarks
    tests: usize,
    /// Lines of documentation of the code
    docs: usize,
    files: usize,
}

/// A function in a source.
struct Function<'t> {
    file: &'t Source,
    name: String,
    /// The line of its name
    line: usize,
    lines: usize,
}

/// No crate is larger than one room, and all of them are a house that one can know.
pub(super) fn crates_are_small(tree: &Tree) -> Vec<Finding> {
    let sizes = sizes(tree);
    let finding = |path: String, what: String| Finding { path, line: 1, what };
    let large = sizes.iter().filter(|(_, size)| size.code > CRATE).map(|(name, size)| {
        let what = format!("{} lines of code, more than {CRATE}; cut it along a seam", size.code);
        finding(format!("crates/{name}/Cargo.toml"), what)
    });
    let all: usize = sizes.values().map(|size| size.code).sum();
    let whole = (all > ALL).then(|| {
        let what = format!("{all} lines of code in all crates, more than {ALL}; take some away");
        finding("Cargo.toml".to_owned(), what)
    });
    large.chain(whole).collect()
}

/// No function is longer than a screen or two.
pub(super) fn functions_are_short(tree: &Tree) -> Vec<Finding> {
    let long = functions(tree).filter(|function| function.lines > FUNCTION);
    let finding = |function: Function<'_>| {
        let Function { name, lines, .. } = function;
        let what = format!("{name} has {lines} lines of code, more than {FUNCTION}; split it");
        function.file.finding(function.line, what)
    };
    long.map(finding).collect()
}

/// The sizes of all crates, the longest functions and the longest files.
pub(super) fn table(tree: &Tree) -> String {
    let sizes = sizes(tree);
    let mut text = String::new();
    let mut row = |name: &str, Size { code, tests, docs, files }: &Size| {
        let share = |part: usize, whole: usize| 100 * part / whole.max(1);
        let (ratio, docs) = (share(*tests, *code), share(*docs, docs + code));
        let _ =
            writeln!(text, "{name:<24} {code:>8} {tests:>8} {ratio:>7} % {docs:>5} % {files:>6}");
    };
    let mut all = Size::default();
    for (name, size) in &sizes {
        row(name, size);
        all.code += size.code;
        all.tests += size.tests;
        all.docs += size.docs;
        all.files += size.files;
    }
    row("all", &all);
    let head = format!(
        "{:<24} {:>8} {:>8} {:>9} {:>7} {:>6}\n",
        "crate", "code", "tests", "tests", "docs", "files"
    );
    let mut functions: Vec<Function<'_>> = functions(tree).collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.lines));
    text.push_str("\nlongest functions\n");
    for Function { file, name, line, lines } in functions.iter().take(SHOWN) {
        let _ = writeln!(text, "{lines:>6} {name}, {}:{line}", file.path);
    }
    let mut files: Vec<(usize, &Source)> =
        sources(tree).map(|(_, file)| (lines(before_tests(&file.text)), file)).collect();
    files.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
    text.push_str("\nlongest files\n");
    for (lines, file) in files.iter().take(SHOWN) {
        let _ = writeln!(text, "{lines:>6} {}", file.path);
    }
    head + &text
}

fn sizes(tree: &Tree) -> BTreeMap<&str, Size> {
    let mut sizes: BTreeMap<&str, Size> = BTreeMap::new();
    for file in tree.rust() {
        let Some((name, inner)) = in_crate(file) else { continue };
        let size = sizes.entry(name).or_default();
        let whole = lines(&file.text);
        if is_source(inner) {
            let code = before_tests(&file.text);
            let own = lines(code);
            size.code += own;
            size.tests += whole - own;
            size.docs += code.lines().filter(|line| is_documentation(line)).count();
            size.files += 1;
        } else {
            size.tests += whole;
        }
    }
    sizes
}

/// The crate of a file and the path in it, except for tests of all crates.
fn in_crate(file: &Source) -> Option<(&str, &str)> {
    let named = file.path.strip_prefix("crates/")?.split_once('/')?;
    (named.0 != TESTING).then_some(named)
}

/// Whether a file of a crate is neither a test nor an example nor a benchmark.
fn is_source(inner: &str) -> bool {
    inner.starts_with("src/") && !inner.ends_with("/tests.rs")
}

/// The sources of all crates, with the names of the crates.
fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &Source)> {
    tree.rust().filter_map(|file| {
        let (name, inner) = in_crate(file)?;
        is_source(inner).then_some((name, file))
    })
}

/// Counts lines of code.
fn lines(text: &str) -> usize {
    without_comments(text).lines().filter(|line| !line.trim().is_empty()).count()
}

fn is_documentation(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// The functions of all sources that have a body.
fn functions(tree: &Tree) -> impl Iterator<Item = Function<'_>> {
    sources(tree).flat_map(|(_, file)| {
        let text = before_tests(&file.text);
        let code = code(text);
        let all: Vec<&str> = text.lines().collect();
        let found = starts(&code).into_iter().filter_map(|(at, name)| {
            let (first, last) = body(&code, at)?;
            let lines = lines(&all[first..=last].join("\n"));
            let line = 1 + code[..at].matches('\n').count();
            Some(Function { file, name, line, lines })
        });
        found.collect::<Vec<_>>()
    })
}

/// Where functions start, with their names.
fn starts(code: &str) -> Vec<(usize, String)> {
    let is_word = |each: char| each.is_alphanumeric() || each == '_';
    let found = code.match_indices("fn ").filter_map(|(at, _)| {
        let is_separate = !code[..at].ends_with(is_word);
        let rest = &code[at + 3..];
        let name: String = rest.chars().take_while(|each| is_word(*each)).collect();
        (is_separate && !name.is_empty()).then_some((at, name))
    });
    found.collect()
}

/// The first and the last line of the body of a function; `None` if it has none.
fn body(code: &str, at: usize) -> Option<(usize, usize)> {
    let line_of = |at: usize| code[..at].matches('\n').count();
    let (mut depth, mut open) = (0_usize, None);
    for (index, each) in code[at..].char_indices() {
        match each {
            ';' if open.is_none() && depth == 0 => return None,
            '(' | '[' if open.is_none() => depth += 1,
            ')' | ']' if open.is_none() => depth = depth.saturating_sub(1),
            '{' if open.is_none() => (open, depth) = (Some(at + index), 1),
            '{' => depth += 1,
            '}' if open.is_some() => {
                depth -= 1;
                if depth == 0 {
                    return Some((line_of(open?), line_of(at + index)));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! A file.\n\n/// Adds.\nfn add(a: [u8; 2]) {\n    // why\n    a(\"//\");\n\n}\n\
                        #[cfg(test)]\nmod apart;\n\
                        trait T { fn none(&self); }\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";

    #[test]
    fn comments_blank_lines_and_tests_are_no_code() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", TEXT),
            ("crates/a/tests/it/main.rs", "fn main() {}\n\n// end\n"),
            ("crates/toolwright-testing/src/lib.rs", "fn a() {}\n"),
        ]);
        let size = Size { code: 6, tests: 5, docs: 2, files: 1 };
        assert_eq!(sizes(&tree), BTreeMap::from([("a", size)]));
    }

    #[test]
    fn a_function_that_is_too_long_is_found_at_its_name() {
        let lines = "    a();\n".repeat(FUNCTION);
        let text = format!("//! A file.\n\nfn long(\n    a: u8,\n) {{\n{lines}}}\nfn b() {{}}\n");
        let tree = Tree::of(&[("crates/a/src/lib.rs", &text)]);
        let found: Vec<String> =
            functions_are_short(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["crates/a/src/lib.rs:3: long has 112 lines of code, more than 110; split it"]
        );
    }

    #[test]
    fn a_crate_that_is_too_large_is_found() {
        let text = "a();\n".repeat(CRATE + 1);
        let found = crates_are_small(&Tree::of(&[("crates/a/src/lib.rs", &text)]));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].to_string().starts_with("crates/a/Cargo.toml:1: 25001 lines"),
            "{found:?}"
        );
    }
}
