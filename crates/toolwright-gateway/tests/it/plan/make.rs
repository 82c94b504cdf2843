//! `toolwright plan make`, and the confirmation of plans.

use std::fs;

use tempfile::TempDir;

use super::{folder, json, plan};
use crate::exchange::tools::{call, whole};
use crate::gateway::{Upstream, items_at, text_at};

const VALID: &str = r#"{"plan":"1","steps":{"read":{"tool":"read_file","args":{"path":"a.txt"}}},"outputs":{"text":{"$from":"read"}}}"#;

fn configured(upstream: &Upstream) -> TempDir {
    let config = format!(
        "[upstreams.up]\ndialect = \"openai-chat\"\nbase_url = \"{}\"\nkey = \"file:key\"\n",
        upstream.url()
    );
    folder(&[("toolwright.toml", &config), ("key", "k"), ("a.txt", "α")])
}

#[test]
fn a_model_writes_a_plan_and_corrects_its_errors() {
    let wrong = VALID.replace("read_file", "raed_file");
    let upstream = Upstream::start([
        whole("", &[call(0, "c1", "write_plan", &wrong)]),
        whole("", &[call(0, "c2", "write_plan", VALID)]),
    ]);
    let folder = configured(&upstream);
    let task = ["make", "read a.txt", "--model", "up/m", "-o", "plan.json"];
    let made = plan(folder.path(), &task, "");
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let ran = json(&plan(folder.path(), &["run", "plan.json"], ""));
    assert_eq!(ran.compact(), r#"{"text":"α"}"#);

    let received = upstream.received();
    let first = received[0].json();
    assert_eq!(text_at(&first, "/tool_choice/function/name"), "write_plan");
    assert!(text_at(&first, "/messages/0/content").contains("read_file"));
    let messages = items_at(&received[1].json(), "/messages");
    let outcome = text_at(messages.last().unwrap(), "/content");
    assert!(outcome.contains("did you mean 'read_file'?"), "{outcome}");
}

#[test]
fn an_invalid_plan_is_not_written_and_its_errors_are_shown() {
    let wrong = VALID.replace("read_file", "raed_file");
    let upstream = Upstream::start([whole("", &[call(0, "c1", "write_plan", &wrong)])]);
    let folder = configured(&upstream);
    let task = ["make", "x", "--model", "up/m", "--max-attempts", "1", "-o", "plan.json"];
    let made = plan(folder.path(), &task, "");
    assert_eq!(made.code, 1);
    assert!(made.stderr.contains("/steps/read/tool: there is no tool"), "{}", made.stderr);
    assert!(made.stderr.contains("nothing was written"), "{}", made.stderr);
    assert!(!folder.path().join("plan.json").exists());
    let unknown = plan(folder.path(), &["make", "x", "--model", "nobody/m"], "");
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}

#[test]
fn a_plan_of_a_model_runs_only_after_a_confirmation() {
    let reply = || whole("", &[call(0, "c1", "write_plan", VALID)]);
    let upstream = Upstream::start([reply(), reply()]);
    let folder = configured(&upstream);
    let refused = plan(folder.path(), &["make", "read", "--model", "up/m", "--run"], "");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("there is no terminal to ask"), "{}", refused.stderr);
    assert!(refused.stderr.contains("pass --yes"), "{}", refused.stderr);
    let run = plan(folder.path(), &["make", "read", "--model", "up/m", "--run", "--yes"], "");
    assert_eq!(json(&run).compact(), r#"{"text":"α"}"#);

    fs::write(folder.path().join("plan.json"), VALID).unwrap();
    let refused = plan(folder.path(), &["run", "plan.json", "--confirm"], "");
    assert_eq!(refused.code, 1);
    let row = refused.stderr.lines().find(|line| line.starts_with("read ")).unwrap();
    assert!(row.contains(r#"read_file  {"path":"a.txt"}"#), "{row}");
    // Only the run that was confirmed in advance.
    let runs = json(&plan(folder.path(), &["runs", "--json"], ""));
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
}
