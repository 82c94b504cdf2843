//! Rules about references: links lead to files and headings, cited cases and sections exist, and no
//! text refers to a document or a word that is not here any more.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Finding, Source, Tree};

/// The index of acceptance cases.
const CASES: &str = "docs/cases.md";
/// This file, which names what it forbids.
const HERE: &str = "xtask/src/tidy/reference.rs";

/// Documents that are not in the repository, with the files that may name them.
const ABSENT: &[(&str, &[&str])] = &[
    ("wire facts", &[]),
    ("facts §", &[]),
    ("design §", &[]),
    ("design.md", &[]),
    ("style.md", &[]),
    ("../shared", &["CONTRIBUTING.md", "xtask/src/ci.rs", "xtask/src/recorded.rs"]),
];

/// A name that was replaced across the workspace.
struct Retired {
    word: &'static str,
    instead: &'static str,
    /// Files in which the word is right
    except: &'static [&'static str],
}

const RETIRED: &[Retired] = &[
    Retired { word: "Exchanging", instead: "ExchangeRecorder", except: &[] },
    Retired { word: "Exchanged", instead: "ExchangeRecord", except: &[] },
    Retired { word: "mod near", instead: "suggest", except: &[] },
    Retired { word: "mod nearest", instead: "suggest", except: &[] },
];

/// Every relative link of a Markdown file leads to a file or folder, and its anchor to a heading.
pub(super) fn links_lead_somewhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_markdown(file)) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, text) in prose(&file.text) {
            for target in links(text) {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if path.is_empty() { file.path.clone() } else { join(folder, path) };
                if let Some(problem) = problem(tree, &path, anchor) {
                    findings.push(file.finding(line, format!("links to {target}, {problem}")));
                }
            }
        }
    }
    findings
}

/// Every page below `docs/` that a text names exists, and so does the section.
pub(super) fn cites_existing_sections(tree: &Tree) -> Vec<Finding> {
    each_line(tree, |text| {
        let mut found = Vec::new();
        for (at, _) in text.match_indices("docs/") {
            let inside = |other: char| other.is_alphanumeric() || "/._-#".contains(other);
            let before = text[..at].chars().next_back();
            let cited = text[at..].split(|other| !inside(other)).next().unwrap_or_default();
            let (path, anchor) = cited.split_once('#').unwrap_or((cited, ""));
            if before.is_some_and(inside) || !has_extension(path, "md") {
                continue;
            }
            let problem = problem(tree, path, anchor.trim_end_matches('.'));
            found.extend(problem.map(|problem| format!("cites {cited}, {problem}")));
        }
        found
    })
}

/// Every case that a text cites by its number is in the index.
pub(super) fn cites_existing_cases(tree: &Tree) -> Vec<Finding> {
    let Some(index) = tree.get(CASES) else { return Vec::new() };
    let known: BTreeSet<u32> = Index::of(index).cases.into_iter().map(|case| case.number).collect();
    each_line(tree, |text| {
        let cited = cited_cases(text).into_iter().filter(|number| !known.contains(number));
        cited.map(|number| format!("cites case {number}; add it to {CASES}")).collect()
    })
}

/// The index lists tests that exist, at least one for each case, and every test named after a case.
pub(super) fn cases_list_their_tests(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(CASES) else { return Vec::new() };
    let index = Index::of(file);
    let mut findings = Vec::new();
    for (line, path, name) in &index.tests {
        let exists = |source: &Source| source.text.contains(&format!("fn {name}("));
        if !tree.get(path).is_some_and(exists) {
            let what = format!("lists {name} of {path}, which does not exist; correct the entry");
            findings.push(file.finding(*line, what));
        }
    }
    for case in index.cases.iter().filter(|case| case.tests.is_empty()) {
        let what = format!("lists no test for case {}; add one", case.number);
        findings.push(file.finding(case.line, what));
    }
    for source in tree.rust().filter(|source| source.path != HERE) {
        for (at, text) in source.text.lines().enumerate() {
            let Some((_, rest)) = text.split_once("fn ") else { continue };
            let name = rest.split(|other: char| !is_word(other)).next().unwrap_or_default();
            let test = (source.path.clone(), name.to_owned());
            for number in numbers_in_name(name) {
                let case = index.cases.iter().find(|case| case.number == number);
                if case.is_some_and(|case| !case.tests.contains(&test)) {
                    let what =
                        format!("{name} is not listed under case {number} in {CASES}; add it");
                    findings.push(source.finding(at + 1, what));
                }
            }
        }
    }
    findings
}

/// No text refers to a document that is not in the repository.
pub(super) fn names_no_absent_document(tree: &Tree) -> Vec<Finding> {
    let remedy = "is not in the repository; cite a page of docs/ instead";
    find_words(tree, ABSENT.iter().map(|(word, except)| (*word, *except, remedy.to_owned())))
}

/// No name comes back that was replaced across the workspace.
pub(super) fn uses_no_retired_word(tree: &Tree) -> Vec<Finding> {
    let remedy = |retired: &Retired| format!("was replaced; write `{}`", retired.instead);
    find_words(tree, RETIRED.iter().map(|own| (own.word, own.except, remedy(own))))
}

fn find_words<'w>(
    tree: &Tree,
    words: impl Iterator<Item = (&'w str, &'w [&'w str], String)>,
) -> Vec<Finding> {
    let words: Vec<_> = words.collect();
    let mut findings = Vec::new();
    for file in written(tree) {
        for (word, except, remedy) in &words {
            if except.contains(&file.path.as_str()) {
                continue;
            }
            let lines = file.text.lines().enumerate().filter(|(_, text)| has_word(text, word));
            findings
                .extend(lines.map(|(at, _)| file.finding(at + 1, format!("`{word}` {remedy}"))));
        }
    }
    findings
}

/// Whether a text has a word, and not only as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + word.len()..].chars().next().is_some_and(is_word);
        !(before && word.starts_with(is_word) || after && word.ends_with(is_word))
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_markdown(file: &Source) -> bool {
    has_extension(&file.path, "md")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|own| own == extension)
}

/// Texts that we wrote: no recorded data, no history of changes, not these rules.
fn written(tree: &Tree) -> impl Iterator<Item = &Source> {
    let data = |file: &Source| file.under("fixtures") || file.under("golden");
    let is_apart =
        |file: &Source| matches!(file.path.as_str(), "CHANGELOG.md" | "Cargo.lock" | HERE);
    tree.files.iter().filter(move |file| !data(file) && !is_apart(file))
}

/// What a check finds in each line of Rust and Markdown.
fn each_line(tree: &Tree, check: impl Fn(&str) -> Vec<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(tree).filter(|file| file.is_rust() || is_markdown(file)) {
        for (at, text) in file.text.lines().enumerate() {
            findings.extend(check(text).into_iter().map(|what| file.finding(at + 1, what)));
        }
    }
    findings
}

/// Lines of Markdown outside of code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// Targets of the links in a line that lead into the repository.
fn links(line: &str) -> Vec<&str> {
    let starts = line.match_indices("](").map(|(at, _)| &line[at + 2..]);
    let targets = starts.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains(':')).collect()
}

/// A path relative to a folder, from the root.
fn join(folder: &str, path: &str) -> String {
    let mut segments: Vec<&str> = folder.split('/').filter(|own| !own.is_empty()).collect();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            other => segments.push(other),
        }
    }
    segments.join("/")
}

/// What is wrong with a reference to a file or folder and, if the anchor is not empty, to a heading.
fn problem(tree: &Tree, path: &str, anchor: &str) -> Option<&'static str> {
    let Some(file) = tree.get(path) else {
        let is_folder = tree.files.iter().any(|file| file.under(path));
        return (!is_folder).then_some("which does not exist; correct the path");
    };
    let mut headings = prose(&file.text).into_iter().filter(|(_, line)| line.starts_with('#'));
    let has = |(_, line): (usize, &str)| slug(line.trim_start_matches('#').trim()) == anchor;
    let missing = !anchor.is_empty() && !headings.any(has);
    missing.then_some("which has no such heading; correct the anchor")
}

/// The anchor of a heading, as GitHub makes it.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|own| is_word(*own) || *own == '-' || *own == ' ');
    kept.map(|own| if own == ' ' { '-' } else { own }).collect()
}

/// The numbers of cases that a line cites: `case_09_…`, "case 9", "cases 9 and 13".
fn cited_cases(text: &str) -> Vec<u32> {
    let mut numbers = numbers_in_name(text);
    let lower = text.to_ascii_lowercase();
    for (at, _) in lower.match_indices("case") {
        if lower[..at].chars().next_back().is_some_and(is_word) {
            continue;
        }
        let rest = &lower[at + "case".len()..];
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let Some(mut rest) = rest.strip_prefix(' ') else { continue };
        while let Some((number, after)) = leading_number(rest) {
            numbers.push(number);
            let next = after.strip_prefix(", ").or_else(|| after.strip_prefix(" and "));
            rest = next.unwrap_or_default();
        }
    }
    numbers
}

/// The numbers after `case_`, of two digits each: 6 and 7 of `case_06_07_signatures`.
fn numbers_in_name(text: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for (at, prefix) in text.match_indices("case_") {
        let groups = text[at + prefix.len()..].split('_');
        numbers.extend(groups.map_while(|group| group.get(..2)?.parse::<u32>().ok()));
    }
    numbers
}

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|own: char| !own.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok().map(|number| (number, &text[end..]))
}

/// The index of cases, read.
#[derive(Default)]
struct Index {
    cases: Vec<Case>,
    /// Every listed test: line, file, function
    tests: Vec<(usize, String, String)>,
}

struct Case {
    number: u32,
    line: usize,
    /// File and function
    tests: BTreeSet<(String, String)>,
}

impl Index {
    /// Reads headings (`## Case 9: …`) and list items (`` - `file.rs`: `test`, `test` ``).
    fn of(file: &Source) -> Index {
        let mut index = Index::default();
        let (mut in_case, mut in_item, mut path) = (false, false, None);
        for (line, text) in prose(&file.text) {
            if let Some(heading) = text.strip_prefix("## ") {
                let number = heading.strip_prefix("Case ").and_then(leading_number);
                in_case = number.is_some();
                let case = |(number, _)| Case { number, line, tests: BTreeSet::new() };
                index.cases.extend(number.map(case));
            }
            in_item = text.starts_with("- ") || (in_item && text.starts_with("  "));
            path = path.filter(|_| in_item && !text.starts_with("- "));
            for span in text.split('`').skip(1).step_by(2).filter(|_| in_item) {
                if has_extension(span, "rs") {
                    path = Some(span.to_owned());
                } else if let Some(path) = &path {
                    index.tests.push((line, path.clone(), span.to_owned()));
                    let case = index.cases.last_mut().filter(|_| in_case);
                    if let Some(case) = case {
                        case.tests.insert((path.clone(), span.to_owned()));
                    }
                }
            }
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
        rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        let check = |text: &str| {
            let page = ("docs/a.md", "# A page: of `x_y`\n```\n# no heading\n```\n");
            found(links_lead_somewhere, &[page, ("README.md", ""), ("docs/b.md", text)]).len()
        };
        for right in [
            "[a](a.md) [b](#here)\n# Here",
            "[a](a.md#a-page-of-x_y) [root](../README.md) [folder](../docs)",
            "[web](https://example.com/x.md#y)\n```\n[code](nothing.md)\n```",
        ] {
            assert_eq!(check(right), 0, "{right}");
        }
        for wrong in ["[a](c.md)", "[a](a.md#no-heading)", "[a](#gone)", "[a](../a.md)"] {
            assert_eq!(check(wrong), 1, "{wrong}");
        }
    }

    #[test]
    fn a_cited_section_that_is_missing_is_found() {
        let check = |text: &str| {
            let files = [("docs/dialects/x.md", "## Known quirks"), ("crates/a/src/b.rs", text)];
            found(cites_existing_sections, &files).len()
        };
        let page = concat!("docs", "/dialects/x.md");
        assert_eq!(check(&format!("// See `{page}#known-quirks`, and {page}.")), 0);
        assert_eq!(check("// docs/dialects/<name>.md"), 0);
        assert_eq!(check(&format!("// {page}#tools")), 1);
        assert_eq!(check(concat!("// docs", "/dialects/y.md")), 1);
    }

    const INDEX: &str = "## Case 1: A\n\n- `t.rs`: `case_01_a`,\n  `b`\n\n## Case 2: B\n\n- `t.rs`: \
                         `case_02_c`\n";

    fn cases(rule: fn(&Tree) -> Vec<Finding>, index: &str, test: &str) -> Vec<String> {
        found(rule, &[(CASES, index), ("t.rs", test)])
    }

    const TESTS: &str = "fn case_01_a() {}\nfn b() {}\nfn case_02_c() {}\n";

    #[test]
    fn an_unknown_case_is_found() {
        let check = |text: &str| cases(cites_existing_cases, INDEX, text).len();
        for right in ["// cases 1 and 2", "// Case 1: x", "fn case_01_02_x()", "// a case of 3"] {
            assert_eq!(check(right), 0, "{right}");
        }
        for wrong in
            ["// (case 3)", "// cases 1, 2 and 3", "fn case_03_x()", "\"case_01_03_x.txt\""]
        {
            assert_eq!(check(wrong), 1, "{wrong}");
        }
    }

    #[test]
    fn an_index_that_differs_from_the_tests_is_found() {
        let check = |index: &str, tests: &str| cases(cases_list_their_tests, index, tests);
        assert_eq!(check(INDEX, TESTS), Vec::<String>::new());
        assert!(
            check(INDEX, &TESTS.replace("fn b", "fn d"))[0].starts_with("docs/cases.md:4: lists b")
        );
        let more = format!("{TESTS}fn case_02_d() {{}}");
        assert!(check(INDEX, &more)[0].starts_with("t.rs:4: case_02_d is not listed under case 2"));
        let none = format!("{INDEX}\n## Case 3: C\n");
        assert!(check(&none, TESTS)[0].contains("no test for case 3"));
    }

    #[test]
    fn absent_documents_and_retired_words_are_found() {
        for (path, text, count) in [
            ("crates/a.rs", "// see the wire facts", 1),
            ("docs/a.md", "style.md, ../shared/x", 2),
            ("CONTRIBUTING.md", "../shared/recorded", 0),
            ("fixtures/a.json", "wire facts", 0),
        ] {
            assert_eq!(found(names_no_absent_document, &[(path, text)]).len(), count, "{text}");
        }
        let retired = |text: &str| found(uses_no_retired_word, &[("crates/a.rs", text)]);
        assert_eq!(
            retired("mod near;"),
            ["crates/a.rs:1: `mod near` was replaced; write `suggest`"]
        );
        assert_eq!(retired("mod nearby;"), Vec::<String>::new());
    }
}
