//! `toolwright … | head`: a reader that closes the pipe ends a command without an error.

use std::process::{Command, Stdio};

use crate::run::{fixture, ok_in, write_words_prefab};

#[test]
fn a_closed_pipe_is_no_error_for_any_command_that_prints() {
    let folder = tempfile::tempdir().unwrap();
    let plan = r#"{"plan":"1","steps":{"list":{"tool":"list_files","args":{}}}}"#;
    let tool = r#"{"name":"t","parameters":{"type":"object","properties":{}}}"#;
    let tools = r#"[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}]"#;
    for (name, text) in [("plan.json", plan), ("tool.json", tool), ("tools.json", tools)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("batch.jsonl"), format!(r#"{{"tool":{tool},"args":{{}}}}"#))
        .unwrap();
    write_words_prefab(folder.path());
    ok_in(folder.path(), &["catalog", "add", "words"]);
    ok_in(folder.path(), &["call", "list_files"]);
    let run = ok_in(folder.path(), &["plan", "run", "plan.json", "--json"]);
    let run = run.split('"').find(|word| word.starts_with("plan_")).unwrap().to_owned();
    let prefab = fixture("catalog/file-processing-prefab");
    for line in [
        "--help",
        "call",
        "call --json",
        "call list_files",
        "call list_files --json",
        "ask hello",
        "ask hello --json",
        "args --tool tool.json --args {}",
        "args --batch batch.jsonl",
        &format!("catalog add {prefab}"),
        "catalog list",
        "catalog list --json",
        "catalog versions file-processing-prefab",
        "catalog search pdf",
        "catalog recommend pdf",
        "catalog functions file-processing-prefab",
        "catalog details file-processing-prefab parse_file",
        "catalog call words-prefab count",
        "catalog test words-prefab",
        "key alice --json",
        "ledger show",
        "ledger show --json",
        "ledger tail",
        "ledger sum",
        "ledger sum --json",
        "ledger export",
        "ledger export --format csv",
        "ledger verify",
        "mcp list",
        "mcp list --json",
        "plan schema",
        "plan check plan.json",
        "plan view plan.json",
        "plan run plan.json",
        "plan runs",
        "plan draw plan.json",
        &format!("plan show {run}"),
        "translate --from openai-chat --to anthropic --kind tools tools.json",
        "approvals list --all",
        "approvals",
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .current_dir(folder.path())
            .args(line.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        assert!(!stderr.contains("error") && !stderr.contains("ipe"), "{line}: {stderr}");
    }
}
