//! The core has no effects: it reads no files, opens no sockets, reads no clock, prints nothing.

use super::code::{code, paths};
use super::{Finding, Tree};

/// The crates without effects.
const PURE: &[&str] = &[
    "crates/toolwright-json/src",
    "crates/toolwright-core/src",
    "crates/toolwright-dialects/src",
    "crates/toolwright-plan/src/plan",
];

const MODULES: &[&[&str]] = &[
    &["std", "env"],
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
];

const MACROS: &[&str] = &["print!", "println!", "eprint!", "eprintln!"];

/// No effects in the sources of the core.
pub(super) fn core_is_pure(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| PURE.iter().any(|folder| file.under(folder))) {
        let code = code(&file.text);
        for named in paths(&code) {
            let is_it = |module: &&&[&str]| named.segments.iter().take(module.len()).eq(**module);
            if let Some(module) = MODULES.iter().find(is_it) {
                let what = format!("uses {}; take the value as an argument", module.join("::"));
                findings.push(file.finding(named.line, what));
            }
        }
        for (index, line) in code.lines().enumerate() {
            let mut words =
                line.split(|each: char| !each.is_alphanumeric() && !"_!".contains(each));
            if let Some(word) = words.find(|word| MACROS.contains(word)) {
                let what = format!("uses {word}; give the caller what there is to say");
                findings.push(file.finding(index + 1, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        core_is_pure(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_effect_is_found() {
        let path = "crates/toolwright-core/src/x.rs";
        for text in [
            "use std::fs;",
            "use std::{fmt, net::TcpStream};",
            "let now = std::time::Instant::now();",
            "use std::time::{Duration, SystemTime};",
            "fn f() { println!(\"x\"); }",
        ] {
            let found = found(path, text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with("crates/toolwright-core/src/x.rs:1: uses "));
        }
    }

    #[test]
    fn pure_code_and_other_crates_are_allowed() {
        let text = "//! Not std::fs.\nuse std::time::Duration;\nfn f() { sprintln!(1); }";
        assert_eq!(found("crates/toolwright-core/src/x.rs", text), Vec::<String>::new());
        let gateway = "crates/toolwright-gateway/src/main.rs";
        assert_eq!(found(gateway, "use std::fs;"), Vec::<String>::new());
    }
}
