//! `toolwright plan run` and `resume` where a step calls a published plan.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::run::killed;
use super::{folder, json, plan};
use crate::gateway::upstream::{Reply, Upstream};
use crate::plans::nested::{COPY, LOCAL, ORDER, calls, done, publish_order_in, publish_plans_in};

/// A folder with [`ORDER`] as `plan.json`, and a catalog that has what it calls.
fn order_folder(upstream: &Upstream) -> TempDir {
    let folder = folder(&[("plan.json", ORDER), ("toolwright.toml", LOCAL)]);
    publish_order_in(&folder.path().join(".toolwright"), upstream);
    folder
}

/// The commands of a run that wait for an answer say for which step, and how to give it.
fn assert_waits(folder: &Path, arguments: &[&str], step: &str) {
    let waiting = plan(folder, arguments, "");
    assert_eq!(waiting.code, 1, "{}", waiting.text());
    assert!(waiting.stderr.contains(&format!("waits for: {step}\n")), "{}", waiting.stderr);
    let hint = format!(" {step} --approve");
    assert!(waiting.stderr.contains(&hint), "{}", waiting.stderr);
}

#[test]
fn a_killed_run_repeats_no_call_within_a_published_plan_that_had_succeeded() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([done(), hanging, done()]);
    let folder = order_folder(&upstream);
    let run = killed(folder.path(), || upstream.until_received(2));
    let resumed = plan(folder.path(), &["resume", &run], "");
    assert_eq!(json(&resumed).compact(), r#"{"seen":true}"#);
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 2));
}

#[test]
fn an_effect_within_a_published_plan_that_was_killed_is_a_question_of_its_step() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done()]);
    let folder = order_folder(&upstream);
    let run = killed(folder.path(), || upstream.until_received(1));
    assert_waits(folder.path(), &["resume", &run], "order/pay");
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 0));
    let output = ["answer", &run, "order/pay", "--output", r#"{"paid":true}"#];
    assert_eq!(json(&plan(folder.path(), &output, "")).compact(), r#"{"seen":true}"#);
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 1));
}

#[test]
fn a_call_within_a_published_plan_that_needs_approval_is_a_question_of_its_step() {
    let outer =
        r#"{"plan":"1","steps":{"copy":{"tool":"order-prefab/copy","args":{"to":"b.txt"}}}}"#;
    let folder = folder(&[("plan.json", outer), ("a.txt", "α")]);
    publish_plans_in(&folder.path().join(".toolwright"), &[("copy", COPY.to_owned())]);
    assert_waits(folder.path(), &["run", "plan.json"], "copy/write");
    assert!(!folder.path().join("b.txt").exists());
    let runs = json(&plan(folder.path(), &["runs", "--json"], ""));
    let run = crate::gateway::text_at(&runs, "/0/run");
    json(&plan(folder.path(), &["answer", &run, "copy/write", "--approve"], ""));
    assert_eq!(fs::read_to_string(folder.path().join("b.txt")).unwrap(), "α");
}
