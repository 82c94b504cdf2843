//! Rules about references: links lead to files and headings, cited sections and sources exist, and
//! no text refers to a document or a name that no longer exists.

use std::path::Path;

use super::{Finding, Source, Tree};

/// Documents that are not in the repository, with the files that may name them.
const ABSENT: &[(&str, &[&str])] = &[
    (concat!("wire", " facts"), &[]),
    (concat!("facts", " §"), &[]),
    (concat!("design", " §"), &[]),
    (concat!("design", ".md"), &[]),
    (concat!("style", ".md"), &[]),
    (concat!("../", "shared"), &["CONTRIBUTING.md", "xtask/src/ci.rs", "xtask/src/recorded.rs"]),
];

/// Names that were replaced across the workspace, with those that replace them.
const RETIRED: &[(&str, &str)] = &[
    ("Exchanging", "ExchangeRecorder"),
    ("Exchanged", "ExchangeRecord"),
    ("struct Relay", "TranslatingBody"),
    ("struct Bundle", "CoalescingBody"),
    ("enum Tap", "Observer"),
    ("struct Consult", "FallbackModel"),
    ("StreamListener", "StreamDecoder"),
    ("Speaker", "VendorCodec"),
    ("is_mere_piece", "is_delta_only"),
    ("mod near", "suggest"),
    ("mod nearest", "suggest"),
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

/// Every source file that a document names by its path exists.
pub(super) fn names_existing_sources(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(tree).filter(|file| is_markdown(file)) {
        let mut sources = None;
        for (line, text) in prose(&file.text) {
            if text.starts_with('#') {
                sources = None;
            }
            for (at, part) in text.split('`').enumerate() {
                if at % 2 == 0 {
                    sources = crate_in_bold(tree, part).or(sources);
                } else if is_path(part) && !is_source(tree, sources, part) {
                    let place = sources.map(|own| format!(" in {own}")).unwrap_or_default();
                    let what =
                        format!("names {part}, which does not exist{place}; correct the path");
                    findings.push(file.finding(line, what));
                }
            }
        }
    }
    findings
}

/// The sources of the crate that a text names last in bold, by the end of its name.
fn crate_in_bold<'t>(tree: &'t Tree, text: &str) -> Option<&'t str> {
    let is_named = |folder: &&str, name: &str| {
        let before = folder.strip_suffix("/src/").and_then(|own| own.strip_suffix(name));
        !name.is_empty() && before.is_some_and(|before| before.ends_with(['/', '-']))
    };
    let folders = || {
        let paths = tree.rust().filter(|source| source.path.starts_with("crates/"));
        paths.filter_map(|own| Some(&own.path[..own.path.find("/src/")? + "/src/".len()]))
    };
    let names = text.split("**").skip(1).step_by(2);
    names.filter_map(|name| folders().find(|folder| is_named(folder, name))).last()
}

fn is_path(span: &str) -> bool {
    has_extension(span, "rs") && span.chars().all(|own| is_word(own) || "/.-".contains(own))
}

/// Whether a path leads to a source file from the root or in a folder, where the name of a file alone may be anywhere
/// below. Without a folder the path may be the end of one, and a name alone is not looked for.
fn is_source(tree: &Tree, folder: Option<&str>, span: &str) -> bool {
    let is_name = !span.contains('/');
    let is_it = |source: &Source| {
        let below = folder.map_or(Some(&*source.path), |own| source.path.strip_prefix(own));
        let before = below.and_then(|below| below.strip_suffix(span));
        source.path == span
            || before.is_some_and(|before| match folder {
                Some(_) => before.is_empty() || is_name && before.ends_with('/'),
                None => before.is_empty() || before.ends_with(['/', '-']),
            })
    };
    folder.is_none() && is_name || tree.rust().any(is_it)
}

/// No text refers to a document that is not in the repository.
pub(super) fn names_no_absent_document(tree: &Tree) -> Vec<Finding> {
    let remedy = "is not in the repository; cite a page of docs/ instead";
    find_words(tree, ABSENT.iter().map(|(word, except)| (*word, *except, remedy.to_owned())))
}

/// No name that was replaced across the workspace is used again.
pub(super) fn uses_no_retired_word(tree: &Tree) -> Vec<Finding> {
    let remedy = |instead: &str| format!("was replaced; write `{instead}`");
    find_words(tree, RETIRED.iter().map(|(word, instead)| (*word, &[][..], remedy(instead))))
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

/// Whether a text contains a word, not only as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + word.len()..].chars().next().is_some_and(is_word);
        !(before && word.starts_with(is_word) || after && word.ends_with(is_word))
    })
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_markdown(file: &Source) -> bool {
    has_extension(&file.path, "md")
}

pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|own| own == extension)
}

/// Texts of the project: no recorded data, no changelog, not these rules, which name what they
/// forbid.
fn written(tree: &Tree) -> impl Iterator<Item = &Source> {
    let apart = ["fixtures", "golden", "xtask/src/tidy"];
    let is_apart = move |file: &Source| {
        apart.iter().any(|folder| file.under(folder))
            || matches!(file.path.as_str(), "CHANGELOG.md" | "Cargo.lock")
    };
    tree.files.iter().filter(move |file| !is_apart(file))
}

/// The findings of a check in each line of Rust and Markdown.
pub(super) fn each_line(tree: &Tree, check: impl Fn(&str) -> Vec<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(tree).filter(|file| file.is_rust() || is_markdown(file)) {
        for (at, text) in file.text.lines().enumerate() {
            findings.extend(check(text).into_iter().map(|what| file.finding(at + 1, what)));
        }
    }
    findings
}

/// Lines of Markdown outside of code blocks, with their numbers.
pub(super) fn prose(text: &str) -> Vec<(usize, &str)> {
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

/// The code spans of a line.
pub(super) fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
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

/// The problem with a reference to a file or folder and, if the anchor is not empty, to a heading.
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

/// The anchor of a heading, as GitHub generates it.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|own| is_word(*own) || *own == '-' || *own == ' ');
    kept.map(|own| if own == ' ' { '-' } else { own }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
        rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dangling_link_is_found() {
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

    #[test]
    fn a_source_that_is_missing_is_found() {
        let check = |text: &str| {
            let files = [("crates/a-core/src/x/y.rs", ""), ("README.md", text)];
            found(names_existing_sources, &files).len()
        };
        let right =
            "`x/y.rs`, `core/src/x/y.rs`, `crates/a-core/src/x/y.rs`, `utils.rs`, `<x>/z.rs`";
        assert_eq!(check(right), 0);
        assert_eq!(check("`x/z.rs` and `b/x/y.rs`"), 2);
        assert_eq!(check("**core** `x/y.rs`, in it `y.rs`, and `crates/a-core/src/x/y.rs`"), 0);
        assert_eq!(check("**core** `src/x/y.rs`, `z.rs`\n# Other\n`z.rs`"), 2);
    }

    #[test]
    fn absent_documents_and_retired_words_are_found() {
        for (path, text, count) in [
            ("crates/a.rs", concat!("// see the wire", " facts"), 1),
            ("docs/a.md", concat!("style", ".md, ../", "shared/x"), 2),
            ("CONTRIBUTING.md", concat!("../", "shared/recorded"), 0),
            ("fixtures/a.json", concat!("wire", " facts"), 0),
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
