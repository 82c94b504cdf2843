//! `toolwright ask` with the offline rules and the built-in tools.

use std::path::Path;

use toolwright_core::Json;

use crate::mcp::server;
use crate::run::{ok_in, toolwright};

/// A folder with a table that has an empty cell.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("test.csv"), "city,degrees\n北京,20123\n上海,\n").unwrap();
    folder
}

fn ask(root: &Path, arguments: &[&str]) -> crate::run::Ran {
    let mut all = vec!["ask", "--root", root.to_str().unwrap()];
    all.extend(arguments);
    toolwright(&all, b"")
}

/// Replaces handles by numbers, in the order of their first use.
fn settled(text: &str) -> String {
    let mut out = text.to_owned();
    let mut number = 0;
    while let Some(at) = out.find("tw:").filter(|at| out.len() >= at + 35) {
        number += 1;
        let handle = out[at..at + 35].to_owned();
        out = out.replace(&handle, &format!("HANDLE-{number}"));
    }
    out
}

#[test]
fn the_answer_is_one_document_in_the_documented_form() {
    let folder = folder();
    let ran = ask(folder.path(), &["read test.csv and drop missing rows", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mut document = Json::parse(&ran.text()).unwrap();
    let usage = document.get("usage").cloned().unwrap();
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).unwrap();
    assert!(count("input_tokens") > 0 && count("output_tokens") > 0);
    assert_eq!(count("input_tokens") + count("output_tokens"), count("total_tokens"));
    // The tokens of the tools' descriptions do not matter here.
    let usage = document.as_object_mut().unwrap().get_mut("usage").unwrap();
    for (_, count) in usage.as_object_mut().unwrap().iter_mut() {
        *count = Json::from(0u64);
    }
    let golden = r#"{
  "message": {
    "content": {
      "text": "[offline/rules: a rule-based stand-in, not a language model] read_csv ran: Read test.csv: 2 rows, 2 columns (city, degrees); missing cells: degrees 1.\ndrop_missing ran: Removed 1 row. Left: 1 row, 2 columns (city, degrees); no cell is missing.",
      "reasoning": null
    },
    "tool_desc": [
      {
        "id": "call_1",
        "type": "function",
        "name": "read_csv",
        "arguments": "{\"path\":\"test.csv\"}"
      },
      {
        "id": "call_2",
        "type": "function",
        "name": "drop_missing",
        "arguments": "{\"table\":\"HANDLE-1\"}"
      }
    ],
    "finish_reason": "stop"
  },
  "model": "offline/rules",
  "usage": {
    "input_tokens": 0,
    "output_tokens": 0,
    "total_tokens": 0
  }
}"#;
    assert_eq!(settled(&document.pretty()), golden);
}

#[test]
fn without_calls_there_are_none_in_the_document() {
    let ran = ask(folder().path(), &["hello", "--json"]);
    let document = Json::parse(&ran.text()).unwrap();
    assert_eq!(document.pointer("/message/tool_desc"), Some(&Json::Null));
}

#[test]
fn a_chinese_question_is_answered() {
    let ran = ask(folder().path(), &["读取 test.csv 并删除缺失数据"]);
    assert_eq!(ran.code, 0);
    let text = ran.text();
    assert!(text.contains("read_csv 已执行") && text.contains("drop_missing 已执行"), "{text}");
    assert!(!text.contains("20123") && !text.contains("上海"), "no cell leaves its table: {text}");
}

#[test]
fn tools_with_effects_need_an_option() {
    let folder = folder();
    let question = "write \"hello\" to the file out.txt";
    let ran = ask(folder.path(), &[question]);
    assert_eq!(ran.code, 0);
    assert!(ran.text().contains("--yes"), "{}", ran.text());
    assert!(!folder.path().join("out.txt").exists());

    let ran = ask(folder.path(), &[question, "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("out.txt")).unwrap(), "hello");
}

#[test]
fn a_question_can_come_from_stdin() {
    let folder = folder();
    let root = folder.path().to_str().unwrap();
    let ran = toolwright(&["ask", "-", "--root", root], "列出文件".as_bytes());
    assert!(ran.text().contains("test.csv"), "{}", ran.text());
}

#[test]
fn an_unknown_model_and_a_missing_folder_are_reported() {
    let ran = ask(folder().path(), &["hello", "--model", "nobody/nothing"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("nobody/nothing") && ran.stderr.contains("offline/rules"));
    let ran = ask(Path::new("no/such/folder"), &["hello"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no/such/folder"), "{}", ran.stderr);
}

#[test]
fn a_limit_on_turns_ends_the_run() {
    let ran = ask(folder().path(), &["list files", "--turns", "1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("limit of 1 turn\nhint: --turns"), "{}", ran.stderr);
}

#[test]
fn an_empty_question_and_no_turns_are_wrong_usage() {
    let folder = folder();
    let ran = ask(folder.path(), &["  "]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the question is empty\nhint: "), "{}", ran.stderr);
    assert_eq!(ask(folder.path(), &["git status", "--turns", "0"]).code, 2);
}

#[test]
fn a_failure_names_its_tool_once() {
    let folder = folder();
    let text = ask(folder.path(), &["read ../secret.txt"]).text();
    assert_eq!(text.matches("read_file failed").count(), 1, "{text}");
}

#[test]
fn selected_tools_are_those_of_the_configuration() {
    let folder = folder();
    let config = server("one", "\"plain\"", "");
    std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
    let ask = |arguments: &[&str]| ok_in(folder.path(), &[&["ask"], arguments].concat());
    let live = ask(&["live", "--use", "mcp:one"]);
    assert!(live.contains("one_live ran: called live"), "{live}");
    let listed = ask(&["list files", "--use", "builtin-files/list_files"]);
    assert!(
        listed.contains("builtin-files/list_files ran") && listed.contains("test.csv"),
        "{listed}"
    );
    let usual = ask(&["live"]);
    assert!(!usual.contains("one_live"), "without --use, the tools are the built-in ones: {usual}");
    let shown = ok_in(folder.path(), &["ledger", "show"]);
    assert!(shown.contains("call one_live ok"), "{shown}");
}
