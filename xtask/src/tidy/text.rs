//! Rules about every text file: nothing specific to one machine, and two READMEs with the same
//! structure.

use super::{Finding, Source, Tree};

/// No absolute path of a machine.
pub(super) fn names_no_machine(tree: &Tree) -> Vec<Finding> {
    let folders = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    // A path that continues something before it, or a URL, is not an absolute path.
    let starts = |before: &str| {
        !before.ends_with(|last: char| last.is_alphanumeric() || "._-}~)/".contains(last))
    };
    search(tree, "use a path from the repository's root", |line| {
        folders
            .into_iter()
            .find(|folder| line.match_indices(folder).any(|(at, _)| starts(&line[..at])))
    })
}

/// No URL of a package registry: that is configuration of the machine.
pub(super) fn names_no_registry(tree: &Tree) -> Vec<Finding> {
    let hosts =
        [concat!("index.", "crates.io"), concat!("pypi", ".org"), concat!("registry.", "npmjs")];
    search(tree, "leave the registry to the machine", |line| {
        hosts.into_iter().find(|host| line.contains(host))
    })
}

fn search(
    tree: &Tree,
    remedy: &str,
    broken: impl Fn(&str) -> Option<&'static str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Recorded data is exempt.
    let written = tree.files.iter().filter(|file| !file.under("fixtures/args"));
    for file in written {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(what) = broken(line) {
                findings.push(file.finding(index + 1, format!("names {what}; {remedy}")));
            }
        }
    }
    findings
}

/// The Chinese README has the sections and the commands of the English one.
pub(super) fn readmes_agree(tree: &Tree) -> Vec<Finding> {
    let (Some(english), Some(chinese)) = (tree.get("README.md"), tree.get("README.zh-CN.md"))
    else {
        return Vec::new();
    };
    let (ours, theirs) = (Outline::of(english), Outline::of(chinese));
    let mut findings = Vec::new();
    if ours.headings != theirs.headings {
        let what = format!(
            "has {} sections, README.md has {}; translate what is missing",
            theirs.headings, ours.headings
        );
        findings.push(chinese.finding(1, what));
    }
    let mut lines = theirs.commands.iter();
    for (line, command) in &ours.commands {
        let other = lines.next();
        if other.is_none_or(|(_, other)| other != command) {
            let at = other.map_or(1, |(line, _)| *line);
            let what = format!("differs from README.md:{line}, where `{command}` stands; copy it");
            findings.push(chinese.finding(at, what));
            return findings;
        }
    }
    if let Some((line, command)) = lines.next() {
        findings
            .push(chinese.finding(*line, format!("has `{command}`, README.md has not; drop it")));
    }
    findings
}

/// What translations of a text have in common.
struct Outline {
    headings: usize,
    /// Commands with their lines
    commands: Vec<(usize, String)>,
}

impl Outline {
    fn of(file: &Source) -> Outline {
        let mut outline = Outline { headings: 0, commands: Vec::new() };
        let mut fence: Option<&str> = None;
        for (index, line) in file.text.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(language.trim()) };
            } else if let Some(language) = fence {
                // A comment is prose, which is translated.
                let command = line.split(" #").next().unwrap_or_default().trim();
                let prose = command.is_empty() || command.starts_with('#');
                if matches!(language, "sh" | "bash" | "shell" | "console") && !prose {
                    outline.commands.push((index + 1, command.to_owned()));
                }
            } else if line.starts_with("## ") {
                outline.headings += 1;
            }
        }
        outline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_found() {
        let found = |text: &str| names_no_machine(&Tree::of(&[("a.md", text)])).len();
        assert_eq!(found(concat!("see /wo", "rk/main")), 1);
        assert_eq!(found(concat!("`/ho", "me/me/x`")), 1);
        assert_eq!(found(concat!("docs/ho", "me/x and https://example.com/wo", "rk/")), 0);
    }

    #[test]
    fn a_registry_url_is_found() {
        let text = concat!("a\nhttps://pypi", ".org/simple");
        let findings = names_no_registry(&Tree::of(&[("pip.conf", text)]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }

    fn readmes(english: &str, chinese: &str) -> Vec<String> {
        let tree = Tree::of(&[("README.md", english), ("README.zh-CN.md", chinese)]);
        readmes_agree(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn readmes_that_differ_are_found() {
        let english = "# T\n## Use\n```sh\ncargo run # fast\n```\n## More\n";
        let same = "# T\n## 用\n```sh\n# 快\ncargo run\n```\n## 更多\n";
        assert_eq!(readmes(english, same), Vec::<String>::new());
        assert!(readmes(english, &same.replace("## 更多", ""))[0].contains("has 1 sections"));
        let other = readmes(english, &same.replace("cargo run", "cargo build"));
        assert!(other[0].starts_with("README.zh-CN.md:5: differs from README.md:4"));
        assert_eq!(readmes(english, &same.replace("cargo run", "cargo run\ncargo test")).len(), 1);
        assert_eq!(readmes(english, &same.replace("cargo run\n", "")).len(), 1);
    }
}
