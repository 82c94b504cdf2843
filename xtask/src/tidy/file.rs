//! Rules about single files: first line, size, name, order of imports, and forbidden content.

use super::{Finding, Source, Tree};

const CODE: &[&str] = &["bench", "crates", "xtask", "fuzz"];
const LONG: usize = 300;
const TOO_LONG: usize = 500;
const LONGEST_SLEEP_MILLIS: u64 = 100;

fn ours(tree: &Tree) -> impl Iterator<Item = &Source> {
    tree.rust().filter(|file| CODE.iter().any(|folder| file.under(folder)))
}

/// Every file starts with `//!`.
pub(super) fn opens_with_its_purpose(tree: &Tree) -> Vec<Finding> {
    ours(tree)
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| file.finding(1, "starts without //!; say what the file is and where it stands"))
        .collect()
}

/// A file without its test module. Declarations as `mod tests;` end nothing, nor do single test-only items.
pub(super) fn before_tests(text: &str) -> &str {
    const TESTS: &str = "\n#[cfg(test)]\nmod ";
    let mut found = text.match_indices(TESTS).map(|(at, _)| at);
    let is_inline = |at: &usize| {
        text[at + TESTS.len()..].lines().next().is_some_and(|line| !line.ends_with(';'))
    };
    found.find(is_inline).map_or(text, |at| &text[..=at])
}

/// Lines before the tests.
fn length(file: &Source) -> usize {
    before_tests(&file.text).lines().count()
}

fn measured(tree: &Tree) -> impl Iterator<Item = (&Source, usize)> {
    let source =
        |file: &&Source| file.path.contains("/src/") || file.path.contains("/fuzz_targets/");
    ours(tree).filter(source).map(|file| (file, length(file)))
}

/// No source has more than 500 lines without its tests.
pub(super) fn is_short(tree: &Tree) -> Vec<Finding> {
    measured(tree)
        .filter(|(_, length)| *length > TOO_LONG)
        .map(|(file, length)| {
            let what = format!("{length} lines without tests, more than {TOO_LONG}; split it");
            file.finding(TOO_LONG + 1, what)
        })
        .collect()
}

/// Sources with more than 300 lines: a warning, not an error.
pub(super) fn grows_long(tree: &Tree) -> Vec<Finding> {
    measured(tree)
        .filter(|(_, length)| (LONG + 1..=TOO_LONG).contains(length))
        .map(|(file, length)| file.finding(1, format!("{length} lines without tests")))
        .collect()
}

/// No `mod.rs`, `utils.rs` or `types.rs`.
pub(super) fn has_a_name_of_its_own(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in ours(tree) {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let what = match name {
            "mod.rs" => "is a mod.rs; name it after its folder, beside it",
            "utils.rs" | "util.rs" | "helpers.rs" | "types.rs" | "common.rs" => {
                "has a name for anything; name it after what it holds"
            }
            _ => continue,
        };
        findings.push(file.finding(1, what));
    }
    findings
}

/// No reminders of unfinished work, no placeholders.
pub(super) fn leaves_nothing_for_later(tree: &Tree) -> Vec<Finding> {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let macros = [concat!("to", "do!"), concat!("db", "g!"), concat!("unimplement", "ed!")];
    let mut findings = Vec::new();
    for file in ours(tree) {
        for (index, line) in file.text.lines().enumerate() {
            let parts = line.split(|each: char| !each.is_alphanumeric() && !"_!".contains(each));
            for part in parts {
                let word = part.trim_end_matches('!');
                if words.contains(&word) || macros.contains(&part) {
                    findings.push(file.finding(index + 1, format!("has {part}; do it or drop it")));
                }
            }
        }
    }
    findings
}

/// No test sleeps longer than [`LONGEST_SLEEP_MILLIS`] of real time. A paused clock skips sleeps.
pub(super) fn tests_sleep_briefly(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in ours(tree).filter(|file| !file.under("xtask/src/tidy")) {
        let is_test = file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
        let first = if is_test { 0 } else { length(file) };
        let is_paused = file.text.contains("start_paused");
        for (index, line) in file.text.lines().enumerate().skip(first) {
            let Some((before, slept)) = line.split_once("sleep(") else { continue };
            let may_skip = is_paused && !before.ends_with("thread::");
            if !may_skip && millis(slept).is_some_and(|millis| millis > LONGEST_SLEEP_MILLIS) {
                let what = "sleeps for long; poll with a deadline, or pause the clock";
                findings.push(file.finding(index + 1, what));
            }
        }
    }
    findings
}

/// The milliseconds of a duration that is written as a literal.
fn millis(duration: &str) -> Option<u64> {
    let units = [("from_millis(", 1), ("from_secs(", 1000), ("from_mins(", 60_000)];
    units.iter().find_map(|(unit, millis)| {
        let (_, count) = duration.split_once(unit)?;
        Some(count.split(')').next()?.replace('_', "").parse::<u64>().ok()? * millis)
    })
}

/// A crate's integration tests are one binary: `tests/it/main.rs`.
pub(super) fn has_one_test_binary(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        if let Some((package, inner)) = file.path.split_once("/tests/")
            && file.is_rust()
            && CODE.iter().any(|folder| file.under(folder))
            && (!inner.contains('/') || (inner.ends_with("/main.rs") && inner != "it/main.rs"))
        {
            let what =
                format!("is a test binary of its own; make it a module of {package}/tests/it");
            findings.push(file.finding(1, what));
        }
        if file.path.ends_with("/Cargo.toml") {
            let lines = file.text.lines().enumerate();
            let more = lines.filter(|(_, line)| line.trim() == "[[test]]").skip(1);
            let what = "names a second test binary; keep one";
            findings.extend(more.map(|(index, _)| file.finding(index + 1, what)));
        }
    }
    findings
}

/// Imports at the top of a file are those of `std`, then of other crates, then of its own.
pub(super) fn imports_in_order(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let is_module = |name: &str| file.text.contains(&format!("mod {name};"));
        let place = |root: &str| match root {
            "std" => 0,
            "crate" | "super" | "self" => 2,
            module if is_module(module) => 2,
            _ => 1,
        };
        let mut last = 0;
        for (at, line) in file.text.lines().enumerate() {
            let Some(path) = line.strip_prefix("use ") else {
                // Attributes and other items begin another group.
                last = if line.starts_with([' ', '}']) || line.is_empty() { last } else { 0 };
                continue;
            };
            let root = path.split([':', ';']).next().unwrap_or_default();
            if place(root) < last {
                let what = format!("imports {root} late; std is first, other crates follow");
                findings.push(file.finding(at + 1, what));
            }
            last = place(root);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str, rule: fn(&Tree) -> Vec<Finding>) -> Vec<String> {
        rule(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    const NONE: Vec<String> = Vec::new();

    #[test]
    fn a_file_without_a_head_comment_is_found() {
        let found = one("crates/a/src/x.rs", "use x;\n", opens_with_its_purpose);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/src/x.rs:1: starts without //!"));
        assert_eq!(one("crates/a/src/x.rs", "//! X.\n", opens_with_its_purpose), NONE);
    }

    #[test]
    fn a_long_file_is_found_but_for_its_tests() {
        let path = "crates/a/src/x.rs";
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "line\n".repeat(600));
        assert_eq!(one(path, &format!("{}{tests}", "line\n".repeat(500)), is_short), NONE);
        let long = format!("{}{tests}", "line\n".repeat(501));
        assert!(one(path, &long, is_short)[0].starts_with("crates/a/src/x.rs:501: 501 lines"));
        assert_eq!(one(path, &"line\n".repeat(301), grows_long).len(), 1);
        assert_eq!(one(path, &"line\n".repeat(300), grows_long), NONE);
        let early = format!("#[cfg(test)]\nfn of() {{}}\n{}", "line\n".repeat(600));
        assert_eq!(one(path, &early, is_short).len(), 1);
    }

    #[test]
    fn imports_out_of_order_are_found() {
        let check = |text: &str| one("crates/a/src/b.rs", text, imports_in_order).len();
        assert_eq!(
            check("use std::a;\n\nuse other::{\n    b,\n};\n\nuse c::D;\nuse crate::d;\nmod c;"),
            0
        );
        assert_eq!(check("use crate::a;\n#[cfg(x)]\nuse std::b;"), 0);
        assert_eq!(check("use other::a;\nuse std::b;\nuse super::c;\n\nuse other::d;"), 2);
    }

    #[test]
    fn generic_file_names_are_found() {
        for name in ["mod.rs", "utils.rs", "types.rs"] {
            assert_eq!(one(&format!("crates/a/src/b/{name}"), "", has_a_name_of_its_own).len(), 1);
        }
        assert_eq!(one("crates/a/src/b/model.rs", "", has_a_name_of_its_own), NONE);
    }

    #[test]
    fn unfinished_work_is_found() {
        let text = concat!("//! X.\n// TO", "DO: x\nfn f() { to", "do!() }\n");
        let found = one("crates/a/src/x.rs", text, leaves_nothing_for_later);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("crates/a/src/x.rs:2: "));
        assert!(found[1].starts_with("crates/a/src/x.rs:3: "));
        assert_eq!(one("crates/a/src/x.rs", "//! Method.\n", leaves_nothing_for_later), NONE);
    }

    #[test]
    fn a_test_that_sleeps_for_long_is_found() {
        let found = |path: &str, text: &str| one(path, text, tests_sleep_briefly).len();
        let (test, source) = ("crates/a/tests/it/x.rs", "crates/a/src/x.rs");
        for long in ["thread::sleep(Duration::from_millis(1_000))", "sleep(Duration::from_secs(1))"]
        {
            assert_eq!(found(test, long), 1, "{long}");
            assert_eq!(found(source, long), 0, "{long}");
            assert_eq!(
                found(source, &format!("//! X.\n#[cfg(test)]\nmod tests {{\n{long}")),
                1,
                "{long}"
            );
        }
        for short in ["sleep(Duration::from_millis(100))", "sleep(PAUSE)", "sleep_until(due)"] {
            assert_eq!(found(test, short), 0, "{short}");
        }
        let paused = "#[tokio::test(start_paused = true)]\n";
        assert_eq!(found(test, &format!("{paused}sleep(Duration::from_secs(1))")), 0);
        assert_eq!(found(test, &format!("{paused}thread::sleep(Duration::from_secs(1))")), 1);
    }

    #[test]
    fn a_second_test_binary_is_found() {
        assert_eq!(one("crates/a/tests/it/main.rs", "", has_one_test_binary), NONE);
        assert_eq!(one("crates/a/tests/it/json.rs", "", has_one_test_binary), NONE);
        assert_eq!(one("crates/a/tests/json.rs", "", has_one_test_binary).len(), 1);
        assert_eq!(one("crates/a/tests/more/main.rs", "", has_one_test_binary).len(), 1);
        assert_eq!(
            one("crates/a/Cargo.toml", "[[test]]\n\n[[test]]\n", has_one_test_binary).len(),
            1
        );
    }
}
