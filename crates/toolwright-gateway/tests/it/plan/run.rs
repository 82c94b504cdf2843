//! `toolwright plan run` and the commands for its runs.

use std::path::Path;

use toolwright_core::Json;

use super::{folder, json, plan};

const COPY: &str = r#"{"plan":"1","name":"抄写","inputs":{"type":"object","required":["from"],"properties":{"from":{"type":"string"},"to":{"type":"string","default":"b.txt"}}},
    "steps":{"读取":{"tool":"read_file","args":{"path":{"$from":"inputs/from"}}},
             "write":{"tool":"write_file","args":{"path":{"$from":"inputs/to"},"content":{"$from":"读取"}}}},
    "outputs":{"text":{"$from":"读取"}}}"#;

fn runs(folder: &Path) -> Vec<Json> {
    json(&plan(folder, &["runs", "--json"], "")).as_array().unwrap().to_vec()
}

fn text(document: &Json, name: &str) -> String {
    document.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[test]
fn a_plan_runs_and_its_outputs_are_printed() {
    let folder = folder(&[("plan.json", COPY), ("a.txt", "α")]);
    let inputs = ["--inputs", r#"{"from":"a.txt"}"#];
    let run = plan(folder.path(), &[&["run", "plan.json", "--yes"], &inputs[..]].concat(), "");
    assert_eq!(json(&run).compact(), r#"{"text":"α"}"#);
    assert!(run.stderr.contains("✓ 读取 succeeded\n✓ write succeeded\n"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("b.txt")).unwrap(), "α");

    let listed = plan(folder.path(), &["runs"], "").text();
    assert!(listed.lines().next().unwrap().starts_with("RUN "), "{listed}");
    assert!(listed.contains("succeeded") && listed.contains("抄写"), "{listed}");
    let id = text(&runs(folder.path())[0], "run");
    let shown = plan(folder.path(), &["show", &id], "").text();
    assert!(shown.contains("读取") && shown.contains("write_file"), "{shown}");

    let draw =
        |more: &[&str]| plan(folder.path(), &[&["draw", "--run", &id], more].concat(), "").text();
    let (plain, timeline) =
        (plan(folder.path(), &["draw", "plan.json"], ""), draw(&["--timeline"]));
    let svg = draw(&[]);
    assert!(svg.contains("succeeded") && !plain.text().contains("succeeded"), "{svg}");
    assert!(timeline.starts_with("<svg") && timeline.contains("读取"), "{timeline}");
    assert_ne!(timeline, svg);
    assert!(draw(&["--format", "mermaid"]).contains("succeeded"));
    assert_eq!(plan(folder.path(), &["draw", "plan.json", "--timeline"], "").code, 2);

    let again = plan(folder.path(), &["resume", &id], "");
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("the run has ended: it succeeded"), "{}", again.stderr);
    assert_eq!(plan(folder.path(), &["delete", &id], "").code, 0);
    assert_eq!(runs(folder.path()).len(), 0);
    let gone = plan(folder.path(), &["show", &id], "");
    assert!(gone.stderr.contains("there is no run"), "{}", gone.stderr);
}

#[test]
fn without_a_terminal_a_run_waits_for_an_answer() {
    let folder = folder(&[("plan.json", COPY), ("a.txt", "α")]);
    let inputs = ["--inputs", r#"{"from":"a.txt","to":"c.txt"}"#];
    let waiting = plan(folder.path(), &[&["run", "plan.json"], &inputs[..]].concat(), "");
    assert_eq!(waiting.code, 1);
    assert!(waiting.stderr.contains("waits for: write"), "{}", waiting.stderr);
    let id = text(&runs(folder.path())[0], "run");
    assert!(!folder.path().join("c.txt").exists());
    assert_eq!(plan(folder.path(), &["answer", &id, "write"], "").code, 2);
    let done = plan(folder.path(), &["answer", &id, "write", "--approve", "--json"], "");
    assert_eq!(text(&json(&done), "status"), "succeeded");
    assert_eq!(std::fs::read_to_string(folder.path().join("c.txt")).unwrap(), "α");

    let args = r#"{"path":"d.txt","content":{"$from":"读取"}}"#;
    let forked = plan(folder.path(), &["fork", &id, "write", "--args", args, "--yes"], "");
    assert_eq!(json(&forked).compact(), r#"{"text":"α"}"#);
    assert_eq!(std::fs::read_to_string(folder.path().join("d.txt")).unwrap(), "α");
}

#[test]
fn tools_of_mcp_servers_do_not_wait_for_approval() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/stdio.py");
    let config = format!("[mcp.s]\ncommand = [\"python3\", \"{script}\", \"plain\"]\n");
    let steps = r#"{"plan":"1","steps":{"live":{"tool":"s_live"},
        "write":{"tool":"write_file","args":{"path":"b.txt","content":"β"}}}}"#;
    let folder = folder(&[("plan.json", steps), ("toolwright.toml", &config)]);
    let waiting = plan(folder.path(), &["run", "plan.json"], "");
    assert!(waiting.stderr.contains("✓ live succeeded"), "{}", waiting.stderr);
    assert!(waiting.stderr.contains("waits for: write\n"), "{}", waiting.stderr);
    let help = plan(folder.path(), &["run", "--help"], "").text();
    assert!(help.contains("calls of built-in tools that change something"), "{help}");
}

#[test]
fn a_broken_plan_or_input_runs_nothing() {
    let folder = folder(&[("plan.json", COPY), ("a.txt", "α")]);
    let wrong =
        plan(folder.path(), &["run", "plan.json", "--yes", "--inputs", r#"{"from":3}"#], "");
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("/inputs/from: must be a string"), "{}", wrong.stderr);
    assert_eq!(runs(folder.path()).len(), 0);
}
