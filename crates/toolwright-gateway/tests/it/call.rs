//! `toolwright call`: one tool, from arguments to the result.

use crate::run::{Ran, toolwright};
use toolwright_core::Json;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "第一行\nsecond\n").unwrap();
    folder
}

fn call(folder: &tempfile::TempDir, arguments: &[&str], input: &str) -> Ran {
    let mut all = vec!["call", "--root", folder.path().to_str().unwrap()];
    all.extend(arguments);
    toolwright(&all, input.as_bytes())
}

#[test]
fn a_result_goes_to_stdout() {
    let ran = call(&folder(), &["read_file", "--args", r#"{"path":"note.txt"}"#], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.text().contains("第一行\nsecond"), "{}", ran.text());
}

#[test]
fn a_long_result_is_printed_completely() {
    let folder = folder();
    let long = "第一行\n".repeat(100_000);
    std::fs::write(folder.path().join("long.txt"), &long).unwrap();
    let ran = call(&folder, &["read_file", "--args", r#"{"path":"long.txt"}"#], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.text() == long, "{} bytes", ran.text().len());
}

#[test]
fn arguments_come_from_a_file_or_stdin_and_are_repaired() {
    let folder = folder();
    let file = folder.path().join("args.json");
    std::fs::write(&file, "{path: 'note.txt',}").unwrap();
    let at = format!("@{}", file.display());
    for (args, input) in [(at.as_str(), ""), ("@-", "```json\n{\"path\": \"note.txt\"}\n```")] {
        let ran = call(&folder, &["read_file", "--args", args, "--json"], input);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let document = Json::parse(&ran.text()).unwrap();
        assert_eq!(document.get("success"), Some(&Json::Bool(true)));
        assert!(!document.get("changes").unwrap().as_array().unwrap().is_empty(), "{args}");
    }
}

#[test]
fn a_failure_is_printed_as_an_envelope_with_an_exit_code() {
    let folder = folder();
    for (tool, args, kind) in [
        ("read_file", r#"{"path":"none.txt"}"#, None),
        ("read_file", r#"{"path":"../note.txt"}"#, None),
        ("read_file", r#"{"file":"note.txt"}"#, Some("invalid_arguments")),
        ("read_file", r#"{"path":"no"#, Some("truncated")),
        ("reed_file", "{}", Some("unknown_tool")),
    ] {
        let ran = call(&folder, &[tool, "--args", args, "--json"], "");
        assert_eq!(ran.code, 1, "{args}");
        let document = Json::parse(&ran.text()).unwrap();
        assert_eq!(document.get("success"), Some(&Json::Bool(false)), "{args}");
        assert_eq!(document.get("tool_name").and_then(Json::as_str), Some(tool));
        assert!(document.get("error").and_then(Json::as_str).is_some_and(|text| !text.is_empty()));
        let own = document.get("error_type").and_then(Json::as_str);
        assert!(kind.is_none_or(|kind| own == Some(kind)), "{args}: {own:?}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    let ran = call(&folder, &["reed_file"], "");
    assert_eq!((ran.code, ran.text().as_str()), (1, ""));
    assert!(ran.stderr.contains("`read_file`"), "the nearest name is offered: {}", ran.stderr);
}

#[test]
fn tools_with_effects_run_only_with_an_option() {
    let folder = folder();
    let write = ["write_file", "--args", r#"{"path":"new.txt","content":"x"}"#];
    let ran = call(&folder, &write, "y\n");
    assert_eq!(ran.code, 1);
    assert!(!folder.path().join("new.txt").exists(), "a pipe is not a terminal");
    assert!(ran.stderr.contains("hint: pass --yes"), "{}", ran.stderr);
    let ran = call(&folder, &[&write[..], &["--yes"]].concat(), "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(folder.path().join("new.txt").exists());
}

#[test]
fn tools_are_listed_as_definitions() {
    let ran = call(&folder(), &["--json"], "");
    let Json::Array(tools) = Json::parse(&ran.text()).unwrap() else { panic!("{}", ran.text()) };
    let find =
        |name: &str| tools.iter().find(|tool| tool.get("name").unwrap().as_str() == Some(name));
    let path = find("read_csv").unwrap().pointer("/parameters/properties/path/type");
    assert_eq!(path.and_then(Json::as_str), Some("string"));
}

#[test]
fn tools_are_listed_in_columns() {
    let folder = folder();
    let ran = call(&folder, &[], "");
    assert_eq!(call(&folder, &["--list"], "").text(), ran.text());
    assert_eq!(ran.code, 0);
    let text = ran.text();
    let column = text.lines().next().unwrap().find("EFFECT").unwrap();
    for tool in ["git_status", "read_csv", "write_file"] {
        let line = text.lines().find(|line| line.starts_with(tool)).unwrap();
        assert_eq!(line.as_bytes()[column - 1], b' ');
        assert_ne!(line.as_bytes()[column], b' ', "{line}");
    }
}
