//! Rules of `dialect/`: a dialect depends on itself and the model, not on other dialects.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{code, paths};
use super::{Finding, Source, Tree};

const CRATE: &str = "crates/toolwright-dialects/src";
const FOLDER: &str = "crates/toolwright-dialects/src/dialect/";

/// Every dialect that has a module.
const DIALECTS: &[&str] = &[
    "openai_chat",
    "openai_responses",
    "anthropic",
    "bedrock",
    "deepseek",
    "gemini",
    "ollama",
    "mistral",
    "cohere",
    "mcp",
    "vendors",
];

/// Dialects and presets that build on the codec of another dialect.
const PARENTS: &[(&str, &str)] =
    &[("deepseek", "openai_chat"), ("vendors", "openai_chat"), ("mistral", "openai_chat")];

/// The files of a dialect, and those of one that has tools only.
const CHAT_FILES: &[&str] =
    &["wire", "tool", "part", "request", "response", "stream", "fault", "quirks"];
const TOOL_FILES: &[&str] = &["wire", "tool", "call"];

/// The files that may name several dialects: the registry and the translation.
const MEETING: &[&str] =
    &["crates/toolwright-dialects/src/dialect.rs", "crates/toolwright-dialects/src/translate.rs"];

/// The modules from the crate's root to a file: `dialect/x/tool.rs` is `dialect`, `x`, `tool`.
fn modules(file: &Source) -> Vec<&str> {
    let inner = file.path.strip_prefix(CRATE).unwrap_or(&file.path).trim_start_matches('/');
    let inner = inner.strip_suffix(".rs").unwrap_or(inner);
    inner.split('/').filter(|name| *name != "lib").collect()
}

/// The dialect to which a file belongs.
fn own(file: &Source) -> Option<&str> {
    let name = modules(file).into_iter().nth(1)?;
    (file.path.starts_with(FOLDER) && DIALECTS.contains(&name)).then_some(name)
}

/// The dialects that a file names, each with the line of its first mention.
fn mentions(file: &Source) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for named in paths(&code(&file.text)) {
        let mut at = modules(file);
        let mut rest = named.segments.iter().map(String::as_str).peekable();
        match rest.peek() {
            Some(&("crate" | "dialect")) => at.clear(),
            Some(&("super" | "self")) => {}
            _ => continue,
        }
        for segment in rest {
            match segment {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                name => at.push(name),
            }
        }
        if let ["dialect", name, ..] = at.as_slice()
            && DIALECTS.contains(name)
        {
            found.entry((*name).to_owned()).or_insert(named.line);
        }
    }
    found
}

fn parent(dialect: &str) -> Option<&'static str> {
    PARENTS.iter().find(|(child, _)| *child == dialect).map(|(_, parent)| *parent)
}

/// A dialect imports no other except its declared parent.
pub(super) fn imports_only_its_parent(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with(FOLDER)) {
        let own = own(file);
        for (name, line) in mentions(file) {
            if own != Some(name.as_str()) && own.and_then(parent) != Some(name.as_str()) {
                let who = own.unwrap_or("shared code");
                let what = format!(
                    "{who} imports {name}; move what they share to the model, or declare a parent"
                );
                findings.push(file.finding(line, what));
            }
        }
    }
    findings
}

/// Outside the dialects, only the registry and the translation name two of them.
pub(super) fn two_meet_in_one_file(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let inside = |file: &&Source| file.under(CRATE) && !file.path.starts_with(FOLDER);
    for file in tree.rust().filter(inside) {
        let seen = mentions(file);
        if !MEETING.contains(&file.path.as_str()) && seen.len() > 1 {
            let names: Vec<&str> = seen.keys().map(String::as_str).collect();
            let what = format!("names {}; dialects meet in translate.rs only", names.join(" and "));
            findings.push(file.finding(seen.values().copied().max().unwrap_or(1), what));
        }
    }
    findings
}

/// The folders of dialects have the same file names.
pub(super) fn has_the_same_files(tree: &Tree) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in tree.rust() {
        let inner = file.path.strip_prefix(FOLDER).and_then(|inner| inner.split_once('/'));
        if let Some((folder, rest)) = inner {
            // A large part has its own folder beside it: `stream.rs` and `stream/`.
            let name = rest.split('/').next().unwrap_or(rest);
            folders.entry(folder).or_default().insert(name.strip_suffix(".rs").unwrap_or(name));
        }
    }
    let mut findings = Vec::new();
    for (folder, names) in folders {
        let path = format!("{FOLDER}{folder}");
        let finding = |what: String| Finding { path: path.clone(), line: 1, what };
        if !DIALECTS.contains(&folder) {
            findings.push(finding("is no dialect; add it to DIALECTS in xtask".into()));
            continue;
        }
        let wanted = if folder == "mcp" { TOOL_FILES } else { CHAT_FILES };
        for missing in wanted.iter().filter(|name| !names.contains(**name)) {
            findings.push(finding(format!("lacks {missing}.rs; every dialect has it")));
        }
        for stray in names.iter().filter(|name| !wanted.contains(name)) {
            let what = format!("has {stray}.rs; put it into one of {}", wanted.join(", "));
            findings.push(finding(what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> String {
        format!("{FOLDER}{path}")
    }

    fn imports(path: &str, text: &str) -> Vec<String> {
        let findings = imports_only_its_parent(&Tree::of(&[(&at(path), text)]));
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_import_of_another_dialect_is_found_in_every_spelling() {
        for text in [
            "use crate::dialect::bedrock::wire;",
            "use crate::dialect::{Fields, bedrock};",
            "use super::super::bedrock::wire;",
            "use super::super::{bedrock::{self}};",
            "fn f() { crate::dialect::bedrock::tool::encode(); }",
        ] {
            let found = imports("anthropic/tool.rs", text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(
                found[0].starts_with(&format!(
                    "{}:1: anthropic imports bedrock",
                    at("anthropic/tool.rs")
                ))
            );
        }
        assert_eq!(imports("anthropic.rs", "use super::bedrock::wire;").len(), 1);
        assert_eq!(imports("fields.rs", "use super::bedrock::wire;").len(), 1);
    }

    #[test]
    fn imports_of_itself_its_parent_and_the_model_are_allowed() {
        let text = "use crate::dialect::{Dialect, anthropic::wire};\nuse super::part;\n// crate::dialect::bedrock::x\n";
        assert_eq!(imports("anthropic/tool.rs", text), Vec::<String>::new());
        assert_eq!(imports("deepseek.rs", "use super::openai_chat::wire;"), Vec::<String>::new());
        assert_eq!(imports("deepseek.rs", "use super::mistral::wire;").len(), 1);
    }

    #[test]
    fn only_listed_files_name_two_dialects() {
        let text = "use crate::dialect::{anthropic::A, gemini::B};";
        let tree = |path: &str| Tree::of(&[(&format!("{CRATE}/{path}"), text)]);
        assert_eq!(two_meet_in_one_file(&tree("fit/roles.rs")).len(), 1);
        assert_eq!(two_meet_in_one_file(&tree("translate.rs")), []);
        let public =
            Tree::of(&[(&format!("{CRATE}/lib.rs"), "pub use dialect::{gemini::A, ollama::B};")]);
        assert_eq!(two_meet_in_one_file(&public).len(), 1);
    }

    #[test]
    fn a_missing_and_a_stray_file_are_found() {
        let mut files: Vec<String> =
            CHAT_FILES.iter().map(|name| at(&format!("cohere/{name}.rs"))).collect();
        let found = |files: &[String]| {
            let list: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "")).collect();
            has_the_same_files(&Tree::of(&list))
                .iter()
                .map(|each| each.what.clone())
                .collect::<Vec<_>>()
        };
        files.push(at("cohere/stream/decode.rs"));
        assert_eq!(found(&files), Vec::<String>::new());
        files.push(at("cohere/helpers.rs"));
        assert!(found(&files)[0].starts_with("has helpers.rs"));
        files.pop();
        files.remove(0);
        assert_eq!(found(&files), ["lacks wire.rs; every dialect has it"]);
        assert!(found(&[at("mcp/wire.rs"), at("mcp/tool.rs")])[0].starts_with("lacks call.rs"));
        assert!(found(&[at("groq/wire.rs")])[0].starts_with("is no dialect"));
    }
}
