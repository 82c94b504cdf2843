//! Rules about acceptance cases: `docs/cases.md` has every case that is cited and lists its tests.

use std::collections::BTreeSet;

use super::reference::{each_line, has_extension, is_word, prose, spans};
use super::{Finding, Source, Tree};

/// The index of acceptance cases.
const CASES: &str = "docs/cases.md";

/// Every case that a text cites by its number is in the index.
pub(super) fn are_indexed(tree: &Tree) -> Vec<Finding> {
    let Some(index) = tree.get(CASES) else { return Vec::new() };
    let known: BTreeSet<u32> = Index::of(index).cases.into_iter().map(|case| case.number).collect();
    each_line(tree, |text| {
        let cited = cited_cases(text).into_iter().filter(|number| !known.contains(number));
        cited.map(|number| format!("cites case {number}; add it to {CASES}")).collect()
    })
}

/// The index lists existing tests, at least one for each case, and no test is named by a number.
pub(super) fn list_their_tests(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(CASES) else { return Vec::new() };
    let index = Index::of(file);
    let mut findings = Vec::new();
    for (line, path, name) in &index.tests {
        let keyword = if has_extension(path, "py") { "def" } else { "fn" };
        let exists = |source: &Source| source.text.contains(&format!("{keyword} {name}("));
        if !tree.get(path).is_some_and(exists) {
            let what = format!("lists {name} of {path}, which does not exist; correct the entry");
            findings.push(file.finding(*line, what));
        }
    }
    for case in index.cases.iter().filter(|case| !case.has_tests) {
        let what = format!("lists no test for case {}; add one", case.number);
        findings.push(file.finding(case.line, what));
    }
    for source in tree.rust().filter(|source| !source.under("xtask/src/tidy")) {
        for (at, text) in source.text.lines().enumerate() {
            let Some((_, rest)) = text.split_once("fn ") else { continue };
            let name = rest.split(|other: char| !is_word(other)).next().unwrap_or_default();
            if !numbers_in_name(name).is_empty() {
                let what = format!("{name}: name it by what it shows, and list it in {CASES}");
                findings.push(source.finding(at + 1, what));
            }
        }
    }
    findings
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

/// The parsed index of cases.
#[derive(Default)]
struct Index {
    cases: Vec<Case>,
    /// Every listed test: line, file, function
    tests: Vec<(usize, String, String)>,
}

struct Case {
    number: u32,
    line: usize,
    has_tests: bool,
}

impl Index {
    /// Reads headings (`## Case 9: …`) and list items (`` - `file.rs`: `test`, `test` ``). The file may be
    /// one of Python.
    fn of(file: &Source) -> Index {
        let mut index = Index::default();
        let (mut in_case, mut in_item, mut path) = (false, false, None);
        for (line, text) in prose(&file.text) {
            if let Some(heading) = text.strip_prefix("## ") {
                let number = heading.strip_prefix("Case ").and_then(leading_number);
                in_case = number.is_some();
                let case = |(number, _)| Case { number, line, has_tests: false };
                index.cases.extend(number.map(case));
            }
            in_item = text.starts_with("- ") || (in_item && text.starts_with("  "));
            path = path.filter(|_| in_item && !text.starts_with("- "));
            for span in spans(text).filter(|_| in_item) {
                if has_extension(span, "rs") || has_extension(span, "py") {
                    path = Some(span.to_owned());
                } else if let Some(path) = &path {
                    index.tests.push((line, path.clone(), span.to_owned()));
                    if let Some(case) = index.cases.last_mut().filter(|_| in_case) {
                        case.has_tests = true;
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

    const INDEX: &str = "## Case 1: A\n\n- `t.rs`: `a`,\n  `b`\n\n## Case 2: B\n\n- `t.rs`: `c`\n";

    fn cases(rule: fn(&Tree) -> Vec<Finding>, index: &str, test: &str) -> Vec<String> {
        let tree = Tree::of(&[(CASES, index), ("t.rs", test)]);
        rule(&tree).iter().map(ToString::to_string).collect()
    }

    const TESTS: &str = "fn a() {}\nfn b() {}\nfn c() {}\n";

    #[test]
    fn an_unknown_case_is_found() {
        let check = |text: &str| cases(are_indexed, INDEX, text).len();
        for right in ["// cases 1 and 2", "// Case 1: x", "\"case_01_02_x.txt\"", "// a case of 3"]
        {
            assert_eq!(check(right), 0, "{right}");
        }
        for wrong in
            ["// (case 3)", "// cases 1, 2 and 3", "\"case_03_x.txt\"", "\"case_01_03_x.txt\""]
        {
            assert_eq!(check(wrong), 1, "{wrong}");
        }
    }

    #[test]
    fn an_index_that_differs_from_the_tests_is_found() {
        let check = |index: &str, tests: &str| cases(list_their_tests, index, tests);
        assert_eq!(check(INDEX, TESTS), Vec::<String>::new());
        assert!(
            check(INDEX, &TESTS.replace("fn b", "fn d"))[0].starts_with("docs/cases.md:4: lists b")
        );
        let more = format!("{TESTS}fn case_02_d() {{}}");
        assert!(check(INDEX, &more)[0].starts_with("t.rs:4: case_02_d: name it by what it shows"));
        let none = format!("{INDEX}\n## Case 3: C\n");
        assert!(check(&none, TESTS)[0].contains("no test for case 3"));
    }
}
