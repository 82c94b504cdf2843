//! `toolwright plan run` and the commands for its runs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use toolwright_core::Json;

use super::{folder, json, plan};
use crate::run::fixture;

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

/// Starts a run of `plan.json`, kills its process after `meanwhile`, and returns the run.
pub fn killed(folder: &Path, meanwhile: impl FnOnce()) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .current_dir(folder)
        .args(["plan", "run", "plan.json"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    meanwhile();
    child.kill().unwrap();
    child.wait().unwrap();
    line.trim().strip_prefix("run ").unwrap_or_else(|| panic!("{line}")).to_owned()
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
    let heading: Vec<&str> = listed.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heading, ["RUN", "ENGINE", "STATUS", "STARTED", "NAME"]);
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((row[1], row[2], row[4]), ("local", "succeeded", "抄写"), "{listed}");
    let entry = &runs(folder.path())[0];
    assert_eq!(text(entry, "engine"), "local");
    let id = text(entry, "run");
    assert_eq!(run.stderr.lines().next(), Some(format!("run {id}").as_str()), "{}", run.stderr);
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

#[test]
fn a_run_that_is_interrupted_has_named_itself() {
    let server = fixture("mcp/servers/stdio.py");
    let config =
        format!("[mcp.s]\ncommand = [\"python3\", \"{server}\", \"hang\", \"cancelled\"]\n");
    let steps = r#"{"plan":"1","steps":{"wait":{"tool":"s_hang"}}}"#;
    let folder = folder(&[("plan.json", steps), ("toolwright.toml", &config)]);
    let run = killed(folder.path(), || {});
    let report = json(&plan(folder.path(), &["show", &run, "--json"], ""));
    assert_eq!(text(&report, "status"), "interrupted");
}

#[test]
fn a_server_that_cannot_be_reached_hides_no_local_run() {
    let config = "[plans]\ntemporal = {address = \"127.0.0.1:1\", namespace = \"team\"}\n";
    let folder = folder(&[("plan.json", COPY), ("a.txt", "α"), ("toolwright.toml", config)]);
    let inputs = ["--inputs", r#"{"from":"a.txt"}"#];
    json(&plan(folder.path(), &[&["run", "plan.json", "--yes"], &inputs[..]].concat(), ""));
    let listed = plan(folder.path(), &["runs", "--json"], "");
    let runs = json(&listed);
    assert_eq!(runs.as_array().unwrap().len(), 1);
    let (warning, build) = if cfg!(feature = "temporal") {
        ("warning: no Temporal server answers at 127.0.0.1:1", "")
    } else {
        let build = "cargo install --path crates/toolwright-cli --features temporal";
        ("warning: this build does not have Temporal; its runs are not listed\n", build)
    };
    assert!(listed.stderr.starts_with(warning), "{}", listed.stderr);
    assert!(listed.stderr.contains(build), "{}", listed.stderr);
    // A run of this folder is found without the server, another one is looked for there.
    let id = text(&runs.as_array().unwrap()[0], "run");
    let shown = plan(folder.path(), &["show", &id], "");
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    for command in
        [&["show", "nobody"][..], &["cancel", "nobody"], &["answer", "nobody", "x", "--approve"]]
    {
        let failed = plan(folder.path(), command, "");
        assert_ne!(failed.code, 0);
        assert!(failed.stderr.contains(build), "{}", failed.stderr);
        assert!(!failed.stderr.contains("there is no run"), "{}", failed.stderr);
    }
    let wrong = config.replace("address", "adress");
    std::fs::write(folder.path().join("toolwright.toml"), wrong).unwrap();
    let refused = plan(folder.path(), &["runs"], "");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("plans.temporal.adress"), "{}", refused.stderr);
    assert!(refused.stderr.contains("address, namespace"), "{}", refused.stderr);
}
